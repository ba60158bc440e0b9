//! An operator of one namespace, with rights there alone: it does all of its work, and looks nowhere
//! else.

use std::collections::BTreeSet;

use llsd_testkit::{ControlPlane, PodState};
use serde_json::json;

use llsd_testbed::access::eventually;
use llsd_testbed::everything::{OBJECTS, prepare, spec};
use llsd_testbed::install::install_namespaced;
use llsd_testbed::namespace::Namespace;
use llsd_testbed::operator::Operator;

#[tokio::test]
async fn an_operator_of_one_namespace_works_there_and_looks_nowhere_else() {
    let builder = ControlPlane::builder().with_controller_manager();
    let Some(cluster) = builder.start_or_skip().await else { return };
    let _kubelet = cluster.kubelet(|_| PodState::Ready).await.unwrap();
    let home = Namespace { cluster: &cluster, name: cluster.namespace("home").await.unwrap() };
    let other = Namespace { cluster: &cluster, name: cluster.namespace("other").await.unwrap() };
    let user = install_namespaced(&cluster, &home.name).await;
    other.distribution("llama", json!({"distribution": {"name": "starter"}})).await;
    // What was asked in the user's name before came from the installation.
    let installed = cluster.audit().mark().await.unwrap();
    let arguments = ["--watch-namespace", &home.name];
    let mut operator = Operator::start(&cluster, &user, &home.name, &arguments);

    prepare(&home).await;
    home.distribution("llama", spec()).await;
    let ready = home.until_ready("llama").await;
    for (kind, suffix) in &*OBJECTS {
        assert!(home.find(kind, &format!("llama{suffix}")).await.is_some(), "{kind}");
    }
    // A change, drift, and the end.
    let more = json!({"spec": {"networking": {"expose": false}}});
    home.patch("LlamaStackDistribution", "llama", &more).await;
    home.until_gone("Ingress", "llama-ingress").await;
    home.delete("Service", "llama-service").await;
    home.until("Service", "llama-service", "is back", |_| true).await;
    let about_it =
        |event: &serde_json::Value| event["regarding"]["uid"] == ready["metadata"]["uid"];
    eventually("it is told of in an event", async || home.list("Event").await.iter().any(about_it))
        .await;
    home.delete("LlamaStackDistribution", "llama").await;
    home.until_gone("LlamaStackDistribution", "llama").await;

    let ignored = other.get("LlamaStackDistribution", "llama").await.unwrap();
    assert_eq!(ignored.get("status"), None, "{ignored}");
    assert!(other.list("Deployment").await.is_empty());
    assert!(operator.stop().success(), "{}", operator.log());
    let requests = cluster.audit().requests_of(&user).await.unwrap().since(installed);
    assert!(requests.len() > 20, "{}", requests.len());
    let refused = requests.only(|request| request.code == 403);
    assert!(refused.is_empty(), "{refused:#?}");
    let of_objects = requests.only(|request| !request.resource.is_empty());
    let namespaces: BTreeSet<&str> =
        of_objects.iter().map(|request| request.namespace.as_str()).collect();
    assert_eq!(namespaces, [home.name.as_str()].into());
}
