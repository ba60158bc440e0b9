//! Many new resources at once: while some wait for their servers, nothing is written that could come
//! later. What is told then lacks nothing.

use llsd_install::names;
use llsd_testkit::{ControlPlane, Requests};
use serde_json::{Value, json};

use llsd_testbed::access::eventually;
use llsd_testbed::install::install;
use llsd_testbed::namespace::Namespace;
use llsd_testbed::operator::Operator;

const RESOURCES: usize = 24;
const AT_ONCE: usize = 2;

/// How many answers of `first` came before the last one of `second`.
fn before_the_last(writes: &Requests, first: &str, second: &str) -> usize {
    let last = writes.iter().rposition(|write| write.resource == second).unwrap();
    writes.iter().take(last).filter(|write| write.resource == first).count()
}

#[tokio::test]
async fn all_servers_are_made_before_their_statuses_are_written() {
    let Some(cluster) = ControlPlane::builder().start_or_skip().await else { return };
    let user = install(&cluster).await;
    let namespace = Namespace { cluster: &cluster, name: cluster.namespace("many").await.unwrap() };
    let resource = |number| {
        json!({
            "apiVersion": "llamastack.io/v1alpha2",
            "kind": "LlamaStackDistribution",
            "metadata": {"name": format!("server-{number}")},
            "spec": {"distribution": {"name": "starter"}},
        })
    };
    let resources: Vec<Value> = (0..RESOURCES).map(resource).collect();
    let list = json!({"apiVersion": "v1", "kind": "List", "items": resources});
    namespace.apply(&list.to_string()).await;
    let at_once = format!("--concurrency={AT_ONCE}");
    let _operator = Operator::start(&cluster, &user, names::NAMESPACE, &[&at_once]);

    eventually("every resource has a status and the event of its Deployment", async || {
        let resources = namespace.list("LlamaStackDistribution").await;
        let told = resources.iter().filter(|resource| resource["status"]["phase"].is_string());
        let events = namespace.list("Event").await;
        let written = events.iter().filter(|event| event["reason"] == "DeploymentUpdated");
        told.count() == RESOURCES && written.count() == RESOURCES
    })
    .await;
    let writes = cluster.audit().requests_of(&user).await.unwrap().writes();
    let early = before_the_last(&writes, "llamastackdistributions/status", "deployments");
    assert!(early <= AT_ONCE, "{early} statuses did not wait");
    let statuses = writes.only(|write| write.resource == "llamastackdistributions/status");
    assert_eq!(statuses.len(), RESOURCES, "each is written once");
}
