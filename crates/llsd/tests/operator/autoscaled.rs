//! The number of pods belongs to whoever was asked to decide it: the resource, or an autoscaler from
//! the moment that it is asked for until the moment that it is not.

use std::sync::{Arc, Mutex};

use futures::StreamExt;
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher::{self, Event, watcher};
use serde_json::{Value, json};

use llsd_testbed::namespace::Namespace;
use llsd_testbed::test_operator::TestOperator;

const RESOURCE: &str = "LlamaStackDistribution";

/// Every number of pods that the Deployment was ever set to, as a watch sees it.
#[derive(Clone, Default)]
struct Seen(Arc<Mutex<Vec<i64>>>);

impl Seen {
    fn start(namespace: &Namespace<'_>) -> Self {
        let seen = Self::default();
        let (api, numbers) = (namespace.api("Deployment"), Arc::clone(&seen.0));
        tokio::spawn(async move {
            let mut events = std::pin::pin!(watcher(api, watcher::Config::default()));
            while let Some(event) = events.next().await {
                if let Ok(Event::Apply(object) | Event::InitApply(object)) = event {
                    let number = object.data["spec"]["replicas"].as_i64().unwrap();
                    let mut numbers = numbers.lock().unwrap();
                    if numbers.last() != Some(&number) {
                        numbers.push(number);
                    }
                }
            }
        });
        seen
    }

    fn all(&self) -> Vec<i64> {
        self.0.lock().unwrap().clone()
    }
}

async fn workload(namespace: &Namespace<'_>, workload: Value) -> Value {
    let spec = json!({"distribution": {"name": "starter"}, "workload": workload});
    namespace.distribution("llama", spec).await;
    namespace.until_ready("llama").await
}

async fn scale(namespace: &Namespace<'_>, replicas: i64) {
    let parameters =
        PatchParams { field_manager: Some("an-autoscaler".into()), ..Default::default() };
    let patch = json!({"spec": {"replicas": replicas}});
    namespace
        .api("Deployment")
        .patch_scale("llama", &parameters, &Patch::Merge(&patch))
        .await
        .unwrap();
}

async fn replicas(namespace: &Namespace<'_>) -> Value {
    namespace.get("Deployment", "llama").await.unwrap()["spec"]["replicas"].clone()
}

#[tokio::test]
async fn switching_an_autoscaler_on_and_off_never_drops_pods_in_between() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("autoscaler").await;
    workload(&namespace, json!({"replicas": 3})).await;
    let seen = Seen::start(&namespace);
    let scaled = json!({"replicas": 3, "autoscaling": {"minReplicas": 1, "maxReplicas": 9}});
    workload(&namespace, scaled.clone()).await;
    namespace.until("HorizontalPodAutoscaler", "llama-hpa", "is there", |_| true).await;
    assert_eq!(replicas(&namespace).await, 3);

    scale(&namespace, 5).await;
    let mut changed = scaled.clone();
    changed["overrides"] = json!({"env": [{"name": "NEW", "value": "1"}]});
    workload(&namespace, changed).await;
    assert_eq!(replicas(&namespace).await, 5, "the autoscaler's number");

    workload(&namespace, json!({"replicas": 2})).await;
    namespace.until_gone("HorizontalPodAutoscaler", "llama-hpa").await;
    assert_eq!(replicas(&namespace).await, 2, "the resource's number");

    workload(&namespace, scaled).await;
    assert_eq!(replicas(&namespace).await, 2, "and it stays where it is once more");
    assert_eq!(seen.all(), [3, 5, 2]);
    let resource = namespace.get(RESOURCE, "llama").await.unwrap();
    assert_eq!(resource["status"]["phase"], "Ready");
}

#[tokio::test]
async fn a_number_that_the_resource_leaves_out_is_whoever_s_scales_the_deployment() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("unowned").await;
    workload(&namespace, json!({"replicas": 3})).await;
    let seen = Seen::start(&namespace);
    workload(&namespace, json!({"workers": 1})).await;
    assert_eq!(replicas(&namespace).await, 3, "nobody owns it, and nobody changes it");
    scale(&namespace, 4).await;
    let changed = json!({"overrides": {"env": [{"name": "NEW", "value": "1"}]}});
    workload(&namespace, changed).await;
    assert_eq!(replicas(&namespace).await, 4, "somebody else's number");
    assert_eq!(seen.all(), [3, 4]);

    let other = operator.namespace("unowned").await;
    workload(&other, json!({})).await;
    assert_eq!(replicas(&other).await, 1, "the API server's own");
}

#[tokio::test]
async fn kubectl_scales_the_resource_itself() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("scale").await;
    workload(&namespace, json!({"replicas": 1})).await;
    let args = ["scale", "llsd/llama", "--replicas=2", "-n", &namespace.name];
    operator.cluster.kubectl(&args, None).await.unwrap().expect_success();
    let ready = namespace
        .until(RESOURCE, "llama", "has two pods", |now| now["status"]["replicas"] == 2)
        .await;
    assert_eq!(ready["spec"]["workload"]["replicas"], 2);
    assert_eq!(replicas(&namespace).await, 2);
    let scale = namespace.api(RESOURCE).get_scale("llama").await.unwrap();
    let status = scale.status.unwrap();
    assert_eq!(status.replicas, 2);
    let selector = "app=llama-stack,app.kubernetes.io/instance=llama";
    assert_eq!(status.selector.as_deref(), Some(selector));
}
