//! Programs that others wrote: a provider of OpenID Connect, and the OpenAI client.

use std::process::Command;

use llsd_plan::server::paths::TRUST_FILE;
use llsd_testkit::{OidcProvider, OpenAiStub, Release};
use serde_json::json;

use super::{PATIENCE, releases};
use crate::pod::{Pod, Secrets};

/// Lists models and chats; what refuses it is printed by its status.
const CLIENT: &str = r#"
import sys
from openai import APIStatusError, OpenAI

client = OpenAI(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)
try:
    names = [model.id for model in client.models.list()]
    message = {"role": "user", "content": "hello"}
    answer = client.chat.completions.create(model="vllm/llama", messages=[message])
    print("vllm/llama" in names, bool(answer.choices[0].message.content))
except APIStatusError as error:
    print(error.status_code)
"#;

#[tokio::test(flavor = "multi_thread")]
async fn the_openai_client_is_answered_with_a_token_of_a_published_provider() {
    let users = ["alice", "mallory"].map(|name| json!({"sub": name}));
    for release in releases() {
        if !release.install_or_skip() {
            return;
        }
        let Some(provider) = OidcProvider::start_or_skip(&users).await else { return };
        let stub = OpenAiStub::start(&["llama"]).await.unwrap();
        let spec = json!({
            "providers": {"inference": {"provider": "vllm", "endpoint": stub.url()}},
            "resources": {"models": ["llama"]},
            "access": {
                "authentication": {"oidc": {"issuer": provider.issuer(), "audience": "stack"}},
                "rules": [{
                    "permit": {"actions": ["read"], "resource": "model::*"},
                    "when": "user with alice in roles",
                }],
            },
        });
        let pod = Pod::planned(release, spec, &Secrets::new());
        // The provider speaks plain HTTP; the server reads its authorities all the same.
        let authority = tempfile::NamedTempFile::new().unwrap();
        let certified = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
        std::fs::write(&authority, certified.cert.pem()).unwrap();
        let trust = authority.path().display().to_string();
        let mut server = release.boot(pod.boot(pod.config().replace(TRUST_FILE, &trust))).unwrap();
        server.wait_healthy(PATIENCE).await.unwrap();

        let python = release.install().unwrap().python();
        // In 0.3 the list of models has another form under /v1.
        let path = if release > Release::V0_3_5 { "v1" } else { "v1/openai/v1" };
        let url = format!("http://127.0.0.1:{}/{path}", pod.port);
        let client = |token: &str| {
            let done = Command::new(&python).args(["-c", CLIENT, &url, token]).output().unwrap();
            let said = String::from_utf8_lossy(&done.stdout).trim().to_owned();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
            said
        };
        let token = async |who, audience| provider.id_token(who, audience).await.unwrap();
        let answered = client(&token("alice", "stack").await);
        assert_eq!(answered, "True True", "{release}: {}", server.log());
        assert_eq!(client(&token("mallory", "stack").await), "404", "{release}");
        assert_eq!(client(&token("alice", "another").await), "401", "{release}");
        assert_eq!(client("no-token"), "401", "{release}");
    }
}
