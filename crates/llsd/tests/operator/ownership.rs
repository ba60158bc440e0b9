//! What belongs to somebody else is never touched, whatever its name; and what belonged to a
//! resource of the same name that is gone is waited for.

use std::time::{Duration, Instant};

use futures::future::join_all;
use kube::api::{DeleteParams, PostParams};
use serde_json::{Value, json};

use llsd_testbed::everything::{OBJECTS, prepare, spec};
use llsd_testbed::namespace::{Namespace, condition, name_of};
use llsd_testbed::test_operator::TestOperator;

const RESOURCE: &str = "LlamaStackDistribution";

/// Somebody's object of this kind and name.
fn theirs(kind: &str, name: &str) -> Value {
    let labels = json!({"app": "theirs"});
    let pods = json!({"matchLabels": labels});
    let (version, content) = match kind {
        "ServiceAccount" => ("v1", json!({"automountServiceAccountToken": true})),
        "PersistentVolumeClaim" => (
            "v1",
            json!({"spec": {
                "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "3Gi"}},
            }}),
        ),
        "Secret" => ("v1", json!({"stringData": {"host": "theirs"}})),
        "ConfigMap" => ("v1", json!({"data": {"ca-bundle.crt": "theirs"}})),
        "NetworkPolicy" => ("networking.k8s.io/v1", json!({"spec": {"podSelector": pods}})),
        "Service" => ("v1", json!({"spec": {"selector": labels, "ports": [{"port": 1}]}})),
        "Deployment" => {
            let containers = json!([{"name": "theirs", "image": "example.com/theirs"}]);
            let template =
                json!({"metadata": {"labels": labels}, "spec": {"containers": containers}});
            ("apps/v1", json!({"spec": {"replicas": 0, "selector": pods, "template": template}}))
        }
        "PodDisruptionBudget" => {
            ("policy/v1", json!({"spec": {"minAvailable": 1, "selector": pods}}))
        }
        "HorizontalPodAutoscaler" => {
            let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "theirs"});
            ("autoscaling/v2", json!({"spec": {"scaleTargetRef": target, "maxReplicas": 1}}))
        }
        "Ingress" => {
            let service = json!({"name": "theirs", "port": {"number": 1}});
            let backend = json!({"defaultBackend": {"service": service}});
            ("networking.k8s.io/v1", json!({"spec": backend}))
        }
        other => panic!("say what an object of kind {other} holds that is not ours"),
    };
    let mut object = content;
    object["apiVersion"] = json!(version);
    object["kind"] = json!(kind);
    object["metadata"] = json!({"name": name, "labels": {"app": "theirs"}});
    object
}

/// All of an object that Kubernetes' own controllers do not write.
fn written(mut object: Value) -> Value {
    object.as_object_mut().unwrap().remove("status");
    let metadata = object["metadata"].as_object_mut().unwrap();
    metadata.remove("resourceVersion");
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.remove("deployment.kubernetes.io/revision");
    }
    metadata.retain(|_, value| value.as_object().is_none_or(|map| !map.is_empty()));
    let managers = metadata["managedFields"].as_array_mut().unwrap();
    managers.retain(|entry| entry.get("subresource").is_none());
    object
}

/// The name that an object gets for its content: it is made once, and goes again.
async fn name_for_this_content(
    namespace: &Namespace<'_>,
    resource: &str,
    kind: &str,
    start: &str,
) -> String {
    namespace.distribution(resource, spec()).await;
    namespace.until_ready(resource).await;
    let object = namespace.find(kind, start).await.unwrap();
    let name = name_of(&object).to_owned();
    namespace.delete(RESOURCE, resource).await;
    for (kind, suffix) in &*OBJECTS {
        if *kind != "PersistentVolumeClaim" && !suffix.ends_with('-') {
            namespace.until_gone(kind, &format!("{resource}{suffix}")).await;
        }
    }
    namespace.until_gone(kind, &name).await;
    name
}

/// One resource, with one of its objects taken by somebody else.
async fn is_left_alone(operator: &TestOperator, namespace: &Namespace<'_>, index: usize) {
    let (kind, suffix) = &OBJECTS[index];
    let resource = format!("{}-in-the-way", kind.to_lowercase());
    let mut name = format!("{resource}{suffix}");
    if name.ends_with('-') {
        name = name_for_this_content(namespace, &resource, kind, &name).await;
    }
    let mark = operator.cluster.audit().mark().await.unwrap();
    let parameters = PostParams { field_manager: Some("somebody".into()), ..Default::default() };
    let object = serde_json::from_value(theirs(kind, &name)).unwrap();
    let created = namespace.api(kind).create(&parameters, &object).await.unwrap();
    let before = written(serde_json::to_value(created).unwrap());
    namespace.distribution(&resource, spec()).await;
    let refused = namespace.until_condition(&resource, "Ready", "False", "ObjectNotOurs").await;
    let said = condition(&refused, "Ready")["message"].as_str().unwrap();
    assert!(said.starts_with(&format!("{kind} {name}: ")), "{said}");
    assert_eq!(condition(&refused, "Stalled")["status"], "True", "{refused}");
    // The operator tries again meanwhile.
    tokio::time::sleep(Duration::from_secs(1)).await;
    let now = namespace.get(kind, &name).await.unwrap();
    assert_eq!(written(now), before);
    // What the Deployment needs comes before it; what comes after it needs nothing else.
    let deployment = OBJECTS.iter().position(|(kind, _)| *kind == "Deployment").unwrap();
    for (later, suffix) in &OBJECTS[index + 1..] {
        let applied = namespace.find(later, &format!("{resource}{suffix}")).await;
        assert_eq!(applied.is_some(), index > deployment, "{kind} is in the way of {later}");
    }
    let requests = operator.cluster.audit().requests_of(&operator.user).await.unwrap().since(mark);
    let writes = requests.writes().only(|request| {
        request.namespace == namespace.name && request.name == name && request.code < 300
    });
    // A Route or Deployment of that name would count too, and there is none.
    let writes = writes.only(|request| request.resource != "llamastackdistributions/status");
    assert!(writes.is_empty(), "{:?}", writes.by_verb_and_resource());

    namespace.delete(kind, &name).await;
    let begun = Instant::now();
    namespace.until_ready(&resource).await;
    assert!(begun.elapsed() < Duration::from_secs(30), "{kind}: {:?}", begun.elapsed());
}

#[tokio::test]
async fn an_object_of_somebody_else_is_left_alone_and_named_until_it_is_gone() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("somebody").await;
    prepare(&namespace).await;
    join_all((0..OBJECTS.len()).map(|index| is_left_alone(operator, &namespace, index))).await;
}

#[tokio::test]
async fn an_object_that_another_controller_owns_is_not_ours_though_it_is_labelled_so() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("controlled").await;
    let owner = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "owner"},
    });
    namespace.apply(&owner.to_string()).await;
    let owner = namespace.get("ConfigMap", "owner").await.unwrap();
    let mut service = theirs("Service", "llama-service");
    service["metadata"]["labels"] = json!({
        "app.kubernetes.io/managed-by": "llama-stack-operator",
        "app.kubernetes.io/instance": "llama",
    });
    service["metadata"]["ownerReferences"] = json!([{
        "apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner["metadata"]["uid"],
        "controller": true,
    }]);
    namespace.apply(&service.to_string()).await;
    let before = namespace.get("Service", "llama-service").await.unwrap();
    namespace.distribution("llama", json!({"distribution": {"name": "starter"}})).await;
    namespace.until_condition("llama", "Ready", "False", "ObjectNotOurs").await;
    assert_eq!(namespace.get("Service", "llama-service").await.unwrap(), before);
    namespace.delete("Service", "llama-service").await;
    namespace.until_ready("llama").await;
}

#[tokio::test]
async fn a_resource_that_is_deleted_and_made_again_at_once_becomes_ready() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("again").await;
    prepare(&namespace).await;
    namespace.distribution("llama", spec()).await;
    let first = namespace.until_ready("llama").await;
    let claim = namespace.get("PersistentVolumeClaim", "llama-pvc").await.unwrap();
    for parameters in [DeleteParams::background(), DeleteParams::foreground()] {
        namespace.api(RESOURCE).delete("llama", &parameters).await.unwrap();
        let going = namespace.get(RESOURCE, "llama").await;
        if going.is_some_and(|going| going["metadata"]["deletionTimestamp"].is_string()) {
            namespace.until_gone(RESOURCE, "llama").await;
        }
        namespace.distribution("llama", spec()).await;
        let again = namespace.until_ready("llama").await;
        let uid = &again["metadata"]["uid"];
        assert_ne!(*uid, first["metadata"]["uid"]);
        for (kind, suffix) in &*OBJECTS {
            let object = namespace.find(kind, &format!("llama{suffix}")).await.unwrap();
            let owners = &object["metadata"]["ownerReferences"];
            if *kind == "PersistentVolumeClaim" {
                assert_eq!(object["metadata"]["uid"], claim["metadata"]["uid"]);
                assert!(owners.is_null(), "{object}");
            } else {
                assert_eq!(owners.as_array().unwrap().len(), 1, "{object}");
                assert_eq!(owners[0]["uid"], *uid, "{object}");
                assert!(object["metadata"].get("deletionTimestamp").is_none(), "{object}");
            }
        }
    }
}
