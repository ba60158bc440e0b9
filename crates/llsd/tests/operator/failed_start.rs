//! A real server that does not start: its container ends with an error, the resource's status says
//! why without a word that may be a secret, and a resource that is mended becomes Ready.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd_kubelet::RunningKubelet;
use llsd_testkit::Release;
use serde_json::{Value, json};

use super::real_site::{RealSite, until};
use llsd_testbed::namespace::{Namespace, condition};

const RELEASE: Release = Release::OGX_1_5_0;
/// A distribution without packages beyond the server's own.
const BASE: &str = include_str!("../servers/pod/bases/ogx.yaml");
/// A server that starts on a busy machine reads a lot of Python, and a crash loop does so twice.
const PATIENCE: Duration = Duration::from_mins(5);
const PASSWORD: &str = "pw-3be5a90c7d14f268";

#[tokio::test(flavor = "multi_thread")]
async fn why_ogx_does_not_start_is_in_the_status_until_the_resource_is_mended() {
    let labels = [
        ("com.ogx.distribution.default-config", "config.yaml".to_owned()),
        ("com.ogx.config.config.yaml", BASE64_STANDARD.encode(BASE)),
    ];
    let Some(site) = RealSite::start_or_skip(RELEASE, labels).await else { return };
    let operator = site.operator(&[]);
    let world = World { namespace: site.namespace("failed-start").await, kubelet: &site.kubelet };
    let database = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "database"},
        "stringData": {"url": format!("postgresql://stack:{PASSWORD}@127.0.0.1:9/stack")},
    });
    world.namespace.apply(&database.to_string()).await;
    let vllm = json!({"id": "vllm", "provider": "vllm", "endpoint": "http://vllm:8000"});
    let mut spec = json!({
        "distribution": {"image": site.image},
        "providers": {"inference": [vllm, {"id": "local", "provider": "sentence-transformers"}]},
    });

    // A provider whose package is not in the image.
    world.namespace.distribution("real", spec.clone()).await;
    let failing = world.failing(1, "ModuleNotFoundError: No module named 'torch'").await;
    assert_eq!(failing["status"]["phase"], "Failed");
    assert_eq!(condition(&failing, "DeploymentReady")["reason"], "DeploymentFailed");
    assert_eq!(condition(&failing, "Available")["reason"], "NoReplicasAvailable");

    // A database that refuses.
    spec["providers"]["inference"] = vllm.clone();
    spec["storage"] = json!({"sql": {
        "type": "postgres", "connectionString": {"name": "database", "key": "url"},
    }});
    world.namespace.distribution("real", spec.clone()).await;
    world.failing(2, "ConnectionRefusedError").await;

    spec.as_object_mut().unwrap().remove("storage");
    world.namespace.distribution("real", spec).await;
    let ready = world.until(3, |object| condition(object, "Ready")["status"] == "True").await;
    let told = |object: &Value| object["status"]["version"]["llamaStackServerVersion"] == "1.5.0";
    let ready = if told(&ready) { ready } else { world.until(3, told).await };
    assert_eq!(ready["status"]["phase"], "Ready");
    assert!(!condition(&ready, "Available")["message"].to_string().contains("exit code"));
    for kind in ["LlamaStackDistribution", "Event", "Deployment", "ConfigMap"] {
        let all = json!(world.namespace.list(kind).await).to_string();
        assert!(!all.contains(PASSWORD), "the password stands in a {kind}");
    }
    assert!(!operator.log().contains(PASSWORD));
}

struct World<'a> {
    namespace: Namespace<'a>,
    kubelet: &'a RunningKubelet,
}

impl World<'_> {
    /// Waits until the status tells of a server that ended for this reason, and a pod does so too.
    async fn failing(&self, generation: i64, reason: &str) -> Value {
        let told = format!("CrashLoopBackOff (llama-stack): exit code 3: {reason} (kubectl logs");
        let failing = self
            .until(generation, |object| {
                let ready = condition(object, "Ready");
                ready["reason"] == "ServerFailing"
                    && ready["message"].as_str().is_some_and(|message| message.contains(&told))
            })
            .await;
        let pods = self.namespace.list("Pod").await;
        let ended = |pod: &Value| {
            pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 3
        };
        assert!(pods.iter().any(ended), "{pods:#?}");
        failing
    }

    /// Waits until the status speaks of this generation, and as it should.
    async fn until(&self, generation: i64, holds: impl Fn(&Value) -> bool) -> Value {
        until(&self.namespace, self.kubelet, PATIENCE, async |now| {
            condition(now, "Ready")["observedGeneration"] == generation && holds(now)
        })
        .await
    }
}
