//! Real llama-stack servers check configurations and run them.

use std::{fs, time::Duration};

use llsd_testkit::{Answer, Boot, Candidate, LlamaStackServer, OpenAiStub, Release, StubRequest};
use serde_json::json;

/// Ten times what an idle machine needs.
const PATIENCE: Duration = Duration::from_secs(90);

const GOOD: &str = r"
version: 2
distro_name: test
apis: [inference]
providers:
  inference:
  - provider_id: vllm
    provider_type: remote::vllm
    config:
      base_url: ${env.VLLM_URL}
      api_token: ${env.VLLM_TOKEN:=}
registered_resources:
  models:
  - {model_id: llama3.2-8b, provider_id: vllm}
";

fn candidate(name: &str, from: &str, to: &str) -> Candidate {
    assert!(GOOD.contains(from), "{from}");
    Candidate::new(name, GOOD.replace(from, to)).with_env("VLLM_URL", "http://vllm:8000/v1")
}

#[test]
fn a_release_says_what_it_refuses_and_what_it_ignores() {
    if !Release::V0_7_3.install_or_skip() {
        return;
    }
    let tool_groups = "  tool_groups:\n  - {toolgroup_id: mcp::x, provider_id: vllm}\n";
    let cases = [
        (candidate("good", "", ""), None, None),
        (
            candidate("misspelt key", "base_url:", "base_ulr:"),
            None,
            Some("providers.inference[0].config.base_ulr"),
        ),
        (
            candidate("a key of another release", "  models:", &format!("{tool_groups}  models:")),
            None,
            Some("registered_resources.tool_groups[0]"),
        ),
        (
            candidate("resource of no provider", ", provider_id: vllm", ""),
            None,
            Some("registered_resources.models[0]"),
        ),
        (
            candidate("wrong provider type", "remote::vllm", "remote::vlllm"),
            Some("providers.inference[0].provider_type: Provider `remote::vlllm` is not available"),
            None,
        ),
        (
            candidate("wrong provider configuration", "${env.VLLM_TOKEN:=}", "[1]"),
            Some("providers.inference[0].config.api_token: "),
            None,
        ),
        (
            candidate("wrong type in the schema", "version: 2", "version: two"),
            Some("version: Input should be a valid integer"),
            None,
        ),
        (
            candidate("unset variable", "VLLM_URL", "VLLM_URI"),
            Some("providers.inference[0].config.base_url: Environment variable 'VLLM_URI' not set"),
            None,
        ),
        (
            candidate("unknown provider of a model", "provider_id: vllm}", "provider_id: nope}"),
            Some("registered_resources.models[0].provider_id: inference has no provider 'nope'"),
            None,
        ),
        (
            candidate("unknown API", "[inference]", "[inference, telemetry]"),
            Some("apis[1]: "),
            None,
        ),
        (
            candidate("API without a provider", "[inference]", "[inference, files]"),
            Some("apis[1]: files has no provider"),
            None,
        ),
    ];
    let candidates: Vec<Candidate> = cases.iter().map(|(case, ..)| case.clone()).collect();
    let results = Release::V0_7_3.check(&candidates).unwrap();
    for ((case, error, dropped), result) in cases.iter().zip(&results) {
        assert_eq!(case.name, result.name);
        match error {
            None => assert!(result.errors.is_empty(), "{result}"),
            Some(start) => {
                assert_eq!(result.errors.len(), 1, "{result}");
                assert!(result.errors[0].starts_with(start), "{result}");
            }
        }
        let dropped: Vec<&str> = dropped.iter().copied().collect();
        assert_eq!(result.dropped, dropped, "{result}");
        assert!(result.unchecked.is_empty(), "{result}");
    }
    assert!(results[0].is_clean() && results[0].deprecated.is_empty(), "{}", results[0]);
    assert!(results[2].deprecated[0].contains("tool_groups"), "{}", results[2]);
}

#[test]
fn yaml_is_read_as_the_server_reads_it() {
    if !Release::V0_7_3.install_or_skip() {
        return;
    }
    let texts = ["a: [yes, 0o7, 1e3, 010]", "2026-01-01", "{1: x}", ".nan", "a: [", "'2026-01-01'"];
    let read = Release::V0_7_3.read_yaml(&texts).unwrap();
    // The rules of YAML 1.1, by which `yes` is true, and `1e3` is not a number.
    assert_eq!(read[0], Ok(json!({ "a": [true, "0o7", "1e3", 8] })));
    assert_eq!(read[1], Ok(json!({ "!date": "2026-01-01" })));
    assert_eq!(read[2], Ok(json!({ "!dict": [[1, "x"]] })));
    assert_eq!(read[3], Ok(json!({ "!float": "nan" })));
    assert!(read[4].as_ref().unwrap_err().contains("expected the node content"));
    assert_eq!(read[5], Ok(json!("2026-01-01")));
}

async fn ask(server: &LlamaStackServer) -> Answer {
    let question = json!({
        "model": "vllm/llama3.2-8b",
        "messages": [{ "role": "user", "content": "hello" }],
    });
    server.post_json("/v1/chat/completions", &question).await.unwrap()
}

fn boot(stub: &OpenAiStub, key: &str) -> Boot {
    let boot = Boot::new(GOOD).unwrap().with_env("VLLM_URL", format!("{}/v1", stub.url()));
    boot.with_env("VLLM_TOKEN", key)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_booted_server_uses_its_model_server_with_the_key_that_it_was_given() {
    if !Release::V0_7_3.install_or_skip() {
        return;
    }
    let stub = OpenAiStub::start_with_key(&["llama3.2-8b"], "right").await.unwrap();
    let mut server = Release::V0_7_3.boot(boot(&stub, "right")).unwrap();
    // Beside the other, with a command of the test's own: https, on addresses that the world could
    // reach.
    let wrong = boot(&stub, "wrong");
    let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    fs::write(wrong.home().join("tls.crt"), certified.cert.pem()).unwrap();
    fs::write(wrong.home().join("tls.key"), certified.signing_key.serialize_pem()).unwrap();
    let start = format!(
        "exec python3 -m uvicorn llama_stack.core.server.server:create_app --factory \
         --host 0.0.0.0 --port {} --ssl-certfile tls.crt --ssl-keyfile tls.key",
        wrong.port()
    );
    let wrong = wrong.with_command(["sh", "-c", &start]).with_https(certified.cert.pem());
    let mut wrong = Release::V0_7_3.boot(wrong).unwrap();
    server.wait_healthy(PATIENCE).await.unwrap();
    wrong.wait_healthy(PATIENCE).await.unwrap();

    let version = server.get_json("/v1/version").await.unwrap();
    assert_eq!((version.status, version.body), (200, json!({ "version": "0.7.3" })));
    let answer = ask(&server).await;
    assert_eq!(answer.status, 200, "{answer:?}");
    assert_eq!(answer.body["choices"][0]["message"]["content"], "stub reply");
    let was_asked = |authorised: bool| {
        let is_it = |request: &StubRequest| {
            request.path == "/v1/chat/completions" && request.authorised == authorised
        };
        stub.requests().iter().any(is_it)
    };
    assert!(was_asked(true), "{:?}", stub.requests());

    let refused = ask(&wrong).await;
    assert_eq!(refused.status, 401, "{refused:?}");
    assert!(was_asked(false), "{:?}", stub.requests());

    for server in [&server, &wrong] {
        let port = server.url().rsplit(':').next().unwrap().parse().unwrap();
        assert_eq!(listening_addresses(port), ["0100007F"], "not on 127.0.0.1 alone");
    }
    assert!(server.exit_status().unwrap().is_none());
    let ended = server.stop().unwrap();
    assert_eq!(server.exit_status().unwrap(), Some(ended));
    assert!(server.log().contains("Uvicorn running on"), "{}", server.log());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_refuses_its_configuration_says_why() {
    if !Release::V0_7_3.install_or_skip() {
        return;
    }
    let config = GOOD.replace("remote::vllm", "remote::vlllm");
    let boot = Boot::new(config).unwrap().with_env("VLLM_URL", "http://127.0.0.1:9/v1");
    let mut server = Release::V0_7_3.boot(boot).unwrap();
    let ended = server.wait_exit(PATIENCE).await.unwrap();
    assert!(!ended.success());
    assert!(server.log().contains("`remote::vlllm` is not available"), "{}", server.log());
    let why = server.wait_healthy(PATIENCE).await.unwrap_err().to_string();
    assert!(why.contains("llama-stack ended with exit status: 1"), "{why}");
}

/// The local IPv4 addresses, as the kernel writes them, that somebody listens on at `port`.
fn listening_addresses(port: u16) -> Vec<String> {
    const LISTEN: &str = "0A";
    let table = fs::read_to_string("/proc/net/tcp").unwrap();
    let socket = |line: &str| {
        let fields: Vec<&str> = line.split_whitespace().collect();
        let (address, local) = fields[1].split_once(':')?;
        let ours = u16::from_str_radix(local, 16) == Ok(port) && fields[3] == LISTEN;
        ours.then(|| address.to_owned())
    };
    table.lines().skip(1).filter_map(socket).collect()
}

/// The successor's models are asked by the same program.
#[test]
fn the_successor_checks_by_its_own_models() {
    let kvstore = "  batches:\n  - {provider_id: b, provider_type: inline::reference, config: {kvstore: {namespace: b, backend: kv_default}}}\nregistered";
    let cases = [
        (candidate("good", "", ""), None),
        (
            candidate("an API that is gone", "[inference]", "[inference, safety]"),
            Some("apis[1]: API 'safety' does not exist"),
        ),
        (
            candidate("a store of before", "registered", kvstore),
            Some("providers.batches[0].config.sqlstore: Field required"),
        ),
    ];
    let candidates: Vec<Candidate> = cases.iter().map(|(case, _)| case.clone()).collect();
    for release in Release::under_test().unwrap().into_iter().filter(|release| release.is_ogx()) {
        if !release.install_or_skip() {
            return;
        }
        let results = release.check(&candidates).unwrap();
        for ((_, error), result) in cases.iter().zip(&results) {
            match error {
                None => assert!(result.is_clean(), "{release}: {result}"),
                Some(start) => {
                    let starts = |said: &String| said.starts_with(start);
                    assert!(result.errors.iter().any(starts), "{release}: {result}");
                }
            }
        }
    }
}
