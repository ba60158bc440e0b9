//! Real llama-stack servers judge configurations and run them.

use llsd_testkit::{Candidate, Release};
use serde_json::json;

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
    if !Release::V0_7_3.install_or_skip("a_release_says_what_it_refuses_and_what_it_ignores") {
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
            Some("Environment variable 'VLLM_URI' not set or empty"),
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
    let judgements = Release::V0_7_3.check(&candidates).unwrap();
    for ((case, error, dropped), judgement) in cases.iter().zip(&judgements) {
        assert_eq!(case.name, judgement.name);
        match error {
            None => assert!(judgement.errors.is_empty(), "{judgement}"),
            Some(start) => {
                assert_eq!(judgement.errors.len(), 1, "{judgement}");
                assert!(judgement.errors[0].starts_with(start), "{judgement}");
            }
        }
        let dropped: Vec<&str> = dropped.iter().copied().collect();
        assert_eq!(judgement.dropped, dropped, "{judgement}");
        assert!(judgement.unjudged.is_empty(), "{judgement}");
    }
    assert!(judgements[0].is_clean() && judgements[0].deprecated.is_empty(), "{}", judgements[0]);
    assert!(judgements[2].deprecated[0].contains("tool_groups"), "{}", judgements[2]);
}

#[test]
fn yaml_is_read_as_the_server_reads_it() {
    if !Release::V0_7_3.install_or_skip("yaml_is_read_as_the_server_reads_it") {
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
