//! What a real server would not start with never reaches the running one: its own words arrive in the status,
//! with the field of the resource that they come from. The stand-in for the kubelet runs the Job's pod.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd_testkit::Release;
use serde_json::{Value, json};

use super::real_site::{RealSite, serving, until};
use llsd_testbed::namespace::condition;

const BASE: &str = include_str!("../servers/pod/bases/0.5-to-0.7.yaml");
const BASE_OF_OGX: &str = include_str!("../servers/pod/bases/ogx.yaml");
/// Each preflight reads a lot of Python, on a machine that may be busy.
const PATIENCE: Duration = Duration::from_mins(5);
/// A secret that nobody may see.
const KEY: &str = "sk-never-shown";

/// A change, and what is said of it: the field, and words of the server.
struct Mistake {
    spec: Value,
    field: &'static str,
    words: &'static [&'static str],
}

fn spec(image: &str, settings: &Value) -> Value {
    json!({
        "distribution": {"image": image},
        "providers": {"inference": [{
            "id": "first", "provider": "vllm", "endpoint": "http://vllm:8000",
            "apiKey": {"secretKeyRef": {"name": "creds", "key": "token"}},
            "settings": settings,
        }]},
    })
}

fn own_file(image: &str, config_map: &str) -> Value {
    json!({"distribution": {"image": image}, "overrideConfig": {"configMapName": config_map}})
}

/// The base with other providers, by API.
fn file_with(base: &str, providers: &[(&str, &str)]) -> String {
    let mut file: Value = llsd_yaml::document::read(base).unwrap();
    for (api, kind) in providers {
        let entry = json!({"provider_id": "odd", "provider_type": kind, "config": {}});
        file["providers"][api] = json!([entry]);
        let apis = file["apis"].as_array_mut().unwrap();
        apis.retain(|known| known != api);
        apis.push(json!(api));
    }
    file.to_string()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_real_server_refuses_never_reaches_the_running_one() {
    refused_by(Release::V0_7_3, BASE).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_ogx_refuses_never_reaches_the_running_one() {
    refused_by(Release::OGX_1_5_0, BASE_OF_OGX).await;
}

/// With two replicas of the operator, whose leader ends while the first preflight runs.
async fn refused_by(release: Release, base: &str) {
    let labels = [("io.llamastack.config.base64", BASE64_STANDARD.encode(base))];
    let Some(site) = RealSite::start_or_skip(release, labels).await else { return };
    let (image, kubelet) = (&site.image, &site.kubelet);
    let mut leader = site.operator(&[]);
    let namespace = site.namespace("preflight").await;
    namespace.secret("creds", json!({"token": KEY})).await;
    // A provider that nobody knows and an API of another release, which are told at once; and one whose
    // package the image lacks.
    let broken = file_with(
        base,
        &[("inference", "remote::nowhere"), ("telemetry", "inline::meta-reference")],
    );
    namespace.config_map("broken", json!({"config.yaml": broken})).await;
    let lacking = file_with(base, &[("inference", "remote::oci")]);
    namespace.config_map("lacking", json!({"config.yaml": lacking})).await;

    let good = json!({"max_tokens": 100});
    namespace.distribution("real", spec(image, &good)).await;
    until(&namespace, kubelet, PATIENCE, async |now| condition(now, "Ready")["status"] == "True")
        .await;
    let pods = serving(&namespace).await;
    let follower = site.operator(&[]);
    let mistakes = [
        Mistake {
            spec: spec(image, &json!({"max_tokens": "many"})),
            field: "spec.providers.inference[0].settings.max_tokens",
            words: &["valid integer"],
        },
        Mistake {
            spec: own_file(image, "broken"),
            field: "spec.overrideConfig",
            words: &["remote::nowhere", "telemetry"],
        },
        Mistake {
            spec: own_file(image, "lacking"),
            field: "spec.overrideConfig",
            words: &["No module named 'oci'"],
        },
    ];
    for (number, Mistake { spec, field, words }) in mistakes.into_iter().enumerate() {
        namespace.distribution("real", spec).await;
        let generation = i64::try_from(number).unwrap() + 2;
        if number == 0 {
            until(&namespace, kubelet, PATIENCE, async |now| {
                condition(now, "Preflight")["status"] == "Unknown"
            })
            .await;
            leader.kill();
        }
        let refused = until(&namespace, kubelet, PATIENCE, async |now| {
            let checked = condition(now, "Preflight");
            checked["status"] != "Unknown" && checked["observedGeneration"] == generation
        })
        .await;
        let checked = condition(&refused, "Preflight");
        let message = checked["message"].as_str().unwrap();
        assert_eq!(checked["reason"], "PreflightFailed", "{field}: {message}");
        assert!(message.contains(&release.to_string()), "{message}");
        assert!(message.contains(&format!("{field}: ")), "{message}");
        assert!(words.iter().all(|words| message.contains(words)), "{message}");
        assert_eq!(condition(&refused, "Stalled")["status"], "True", "{refused}");
        assert_eq!(serving(&namespace).await, pods, "the running pod is touched");
    }
    let url = format!("{}/{}/real-service/v1/health", kubelet.proxy_url(), namespace.name);
    assert!(reqwest::get(url).await.unwrap().status().is_success());
    let logs = leader.log() + &follower.log();
    assert!(!logs.contains(KEY) && !kubelet.logs(&namespace.name).contains(KEY));

    // What the server takes is rolled out.
    namespace.distribution("real", spec(image, &json!({"max_tokens": 200}))).await;
    until(&namespace, kubelet, PATIENCE, async |now| {
        condition(now, "Preflight")["status"] == "True"
            && condition(now, "Ready")["status"] == "True"
    })
    .await;
    assert_ne!(serving(&namespace).await, pods);
}
