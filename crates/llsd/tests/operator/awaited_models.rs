//! A real server whose model is not there yet: its pod waits, the status says for what and what to do,
//! and the server comes up as soon as the model is there, without a crash. A model that is added later and
//! is not there takes nothing down.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd_kubelet::RunningKubelet;
use llsd_testkit::{OllamaStub, Release, free_port};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::real_site::{RealSite, until};
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition};

const RELEASE: Release = Release::V0_7_3;
/// A distribution without packages beyond the server's own.
const BASE: &str = include_str!("../servers/pod/bases/0.5-to-0.7.yaml");
const MODEL: &str = "llama3.2:1b";
const ADDED: &str = "llama3.2:3b";
/// A server that starts on a busy machine reads a lot of Python.
const PATIENCE: Duration = Duration::from_mins(4);

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_is_not_there_yet_is_waited_for_and_named_in_the_status() {
    let labels = [("io.llamastack.config.base64", BASE64_STANDARD.encode(BASE))];
    let Some(site) = RealSite::start_or_skip(RELEASE, labels).await else { return };
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, free_port().unwrap()));
    site.kubelet.let_pods_reach("ollama", 11434, address).unwrap();
    let mut leader = site.operator(&[]);
    let world = World { namespace: site.namespace("awaited").await, kubelet: &site.kubelet };
    let spec = json!({
        "distribution": {"image": site.image},
        "providers": {"inference": {"provider": "ollama", "endpoint": "http://ollama:11434"}},
        "resources": {"models": [MODEL]},
        // The old pod would go before the new one comes.
        "workload": {"storage": {"size": "1Gi"}},
    });
    world.namespace.distribution("real", spec).await;

    let down = world.awaits("http://ollama:11434 does not answer; start it there").await;
    assert_eq!(down["status"]["phase"], "Initializing");
    let ready = condition(&down, "Ready");
    assert_eq!(ready["reason"], "WaitingForModels");
    // Another replica leads from here on.
    let _follower = site.operator(&[]);
    leader.kill();
    let stub = OllamaStub::start(address).await.unwrap();
    world.awaits(&format!("does not have it; ollama pull {MODEL}")).await;

    stub.pull(MODEL);
    let pulled = Instant::now();
    let ready = world.until(|object| condition(object, "Ready")["status"] == "True").await;
    eprintln!("Ready {} s after the model was there", pulled.elapsed().as_secs());
    assert!(condition(&ready, "ModelsAvailable").is_null());
    let pods = world.namespace.list("Pod").await;
    assert_eq!(pods.len(), 1, "{pods:#?}");
    assert_eq!(pods[0]["status"]["containerStatuses"][0]["restartCount"], 0, "{pods:#?}");
    // Once for each thing that it had to say.
    assert_eq!(pods[0]["status"]["initContainerStatuses"][0]["restartCount"], 2, "{pods:#?}");
    world.serves_on_while_another_model_is_not_there(&stub).await;
}

struct World<'a> {
    namespace: Namespace<'a>,
    kubelet: &'a RunningKubelet,
}

impl World<'_> {
    async fn serves_on_while_another_model_is_not_there(&self, stub: &OllamaStub) {
        let more = json!({"spec": {"resources": {"models": [MODEL, ADDED]}}});
        self.namespace.patch(DISTRIBUTION, "real", &more).await;
        let refused = self.until(|now| condition(now, "Preflight")["status"] == "False").await;
        let message = condition(&refused, "Preflight")["message"].as_str().unwrap();
        assert!(message.contains("spec.resources.models[1]"), "{message}");
        assert!(message.contains(&format!("ollama pull {ADDED}")), "{message}");
        let service = format!("{}/{}/real-service", self.kubelet.proxy_url(), self.namespace.name);
        let health = reqwest::get(format!("{service}/v1/health")).await.unwrap();
        assert!(health.status().is_success(), "{health:?}");

        stub.pull(ADDED);
        let again = json!({"metadata": {"annotations": {"llamastack.io/retry": "1"}}});
        self.namespace.patch(DISTRIBUTION, "real", &again).await;
        self.until(|now| {
            condition(now, "Preflight")["status"] == "True"
                && condition(now, "Ready")["status"] == "True"
        })
        .await;
        let models = reqwest::get(format!("{service}/v1/models")).await.unwrap();
        let models = models.text().await.unwrap();
        assert!(models.contains(MODEL) && models.contains(ADDED), "{models}");
    }

    /// Waits until the status names the model and ends as given.
    async fn awaits(&self, words: &str) -> Value {
        let told = format!("Waiting for model {MODEL} of provider ollama: ");
        self.until(|object| {
            let awaited = condition(object, "ModelsAvailable");
            let message = awaited["message"].as_str().unwrap_or_default();
            awaited["status"] == "False" && message.starts_with(&told) && message.contains(words)
        })
        .await
    }

    async fn until(&self, holds: impl Fn(&Value) -> bool) -> Value {
        until(&self.namespace, self.kubelet, PATIENCE, async |now| holds(now)).await
    }
}
