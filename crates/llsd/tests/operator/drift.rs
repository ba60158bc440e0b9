//! Objects stay as they were applied, whatever others do to them; what others add stays too, and
//! what a resource no longer says goes.

use kube::api::{Patch, PatchParams};
use llsd_testkit::{InUse, WhileUsed};
use serde_json::{Value, json};

use llsd_testbed::everything::{OBJECTS, prepare, spec};
use llsd_testbed::namespace::{Namespace, name_of};
use llsd_testbed::test_operator::TestOperator;

const RESOURCE: &str = "LlamaStackDistribution";

/// Secrets are not watched; here they are read again so soon that nobody has to wait.
async fn operator() -> Option<InUse<TestOperator>> {
    static SHARED: WhileUsed<TestOperator> = WhileUsed::new();
    SHARED.get(async || TestOperator::start(&["--secret-refresh", "2"]).await).await
}

/// One edit by a person, as a JSON patch.
async fn edit(namespace: &Namespace<'_>, kind: &str, name: &str, operations: &Value) {
    let patch = serde_json::from_value(operations.clone()).unwrap();
    let parameters = PatchParams { field_manager: Some("a-person".into()), ..Default::default() };
    let patch = Patch::<Value>::Json(patch);
    let edited = namespace.api(kind).patch(name, &parameters, &patch).await;
    edited.unwrap_or_else(|why| panic!("{kind} {operations}: {why}"));
}

async fn set(namespace: &Namespace<'_>, kind: &str, name: &str, pointer: &str, value: Value) {
    let operations = json!([{"op": "replace", "path": pointer, "value": value}]);
    edit(namespace, kind, name, &operations).await;
}

/// A field of ours in each kind, and what somebody sets it to.
fn edits() -> Vec<(&'static str, &'static str, &'static str, Value)> {
    let container = "/spec/template/spec/containers/0";
    let image = String::leak(format!("{container}/image"));
    let variable = String::leak(format!("{container}/env/0/value"));
    let mut edits = vec![
        ("ServiceAccount", "-sa", "/automountServiceAccountToken", json!(true)),
        ("NetworkPolicy", "-network-policy", "/spec/ingress/0/ports/0/port", json!(1)),
        ("Service", "-service", "/spec/ports/0/name", json!("other")),
        ("Deployment", "", image, json!("example.com/other")),
        ("Deployment", "", variable, json!("other")),
        ("PodDisruptionBudget", "-pdb", "/spec/maxUnavailable", json!(2)),
        ("HorizontalPodAutoscaler", "-hpa", "/spec/maxReplicas", json!(9)),
        ("Ingress", "-ingress", "/spec/rules/0/http/paths/0/path", json!("/other")),
    ];
    let labels = "/metadata/labels/app.kubernetes.io~1";
    for (kind, suffix) in OBJECTS.iter().map(|(kind, suffix)| (*kind, suffix.as_str())) {
        edits.push((kind, suffix, String::leak(format!("{labels}instance")), json!("other")));
        edits.push((kind, suffix, String::leak(format!("{labels}part-of")), Value::Null));
        // The operator may not touch a Secret without this label.
        if kind != "Secret" {
            let label = String::leak(format!("{labels}managed-by"));
            edits.push((kind, suffix, label, Value::Null));
            edits.push((kind, suffix, label, json!("somebody")));
        }
        if !matches!(kind, "PersistentVolumeClaim" | "Secret") {
            edits.push((kind, suffix, "/metadata/ownerReferences", Value::Null));
        }
    }
    edits
}

#[tokio::test]
async fn an_edit_of_what_the_operator_applied_is_put_right() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("edits").await;
    prepare(&namespace).await;
    namespace.distribution("llama", spec()).await;
    namespace.until_ready("llama").await;
    for (kind, suffix, pointer, value) in edits() {
        let before = namespace.find(kind, &format!("llama{suffix}")).await.unwrap();
        let name = name_of(&before).to_owned();
        assert!(before.pointer(pointer).is_some(), "{kind} {pointer}: {before}");
        let operation = if value.is_null() { "remove" } else { "replace" };
        let operations = json!([{"op": operation, "path": pointer, "value": value}]);
        edit(&namespace, kind, &name, &operations).await;
        let what = format!("{pointer} is put right after {value}");
        let mended = namespace
            .until(kind, &name, &what, |now| now.pointer(pointer) == before.pointer(pointer))
            .await;
        assert_eq!(mended["metadata"]["uid"], before["metadata"]["uid"], "{kind}");
    }
    namespace.until_ready("llama").await;
}

#[tokio::test]
async fn an_object_that_somebody_deletes_comes_back() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("deletions").await;
    prepare(&namespace).await;
    namespace.distribution("llama", spec()).await;
    let ready = namespace.until_ready("llama").await;
    let config = ready["status"]["configGeneration"]["configMapName"].as_str().unwrap();
    let objects = OBJECTS.iter().map(|(kind, suffix)| (*kind, format!("llama{suffix}")));
    let objects = objects.chain([("ConfigMap", config.to_owned())]);
    // A claim is not gone before its pods are.
    for (kind, name) in objects.filter(|(kind, _)| *kind != "PersistentVolumeClaim") {
        let before = namespace.find(kind, &name).await.unwrap();
        let name = name_of(&before);
        namespace.delete(kind, name).await;
        namespace
            .until(kind, name, "is back", |now| now["metadata"]["uid"] != before["metadata"]["uid"])
            .await;
    }
    namespace.until_ready("llama").await;
}

#[tokio::test]
async fn what_others_add_stays() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("additions").await;
    let mut asked = json!({
        "distribution": {"name": "starter"},
        "networking": {"expose": {"annotations": {"ours": "1"}}},
    });
    namespace.distribution("llama", asked.clone()).await;
    namespace.until_ready("llama").await;
    let theirs = json!({"metadata": {"annotations": {"theirs": "1"}}});
    namespace.patch("Ingress", "llama-ingress", &theirs).await;
    namespace.patch("Deployment", "llama", &theirs).await;
    let restart = ["rollout", "restart", "deployment/llama", "-n", &namespace.name];
    operator.cluster.kubectl(&restart, None).await.unwrap().expect_success();
    namespace.until_ready("llama").await;
    // The next change is applied around them.
    asked["networking"]["expose"]["annotations"] = json!({"ours": "2"});
    asked["workload"] = json!({"overrides": {"env": [{"name": "NEW", "value": "1"}]}});
    namespace.distribution("llama", asked).await;
    namespace.until_ready("llama").await;
    let ingress = namespace.get("Ingress", "llama-ingress").await.unwrap();
    let annotations = &ingress["metadata"]["annotations"];
    assert_eq!((&annotations["ours"], &annotations["theirs"]), (&json!("2"), &json!("1")));
    let deployment = namespace.get("Deployment", "llama").await.unwrap();
    assert_eq!(deployment["metadata"]["annotations"]["theirs"], "1");
    let pod = &deployment["spec"]["template"]["metadata"]["annotations"];
    assert!(pod["kubectl.kubernetes.io/restartedAt"].is_string(), "{deployment}");
    assert!(deployment.to_string().contains(r#""name":"NEW""#), "{deployment}");
}

/// Everything that can be said and taken back.
fn saying_much() -> Value {
    json!({
        "distribution": {"name": "starter"},
        "networking": {
            "expose": {
                "hostname": "llama.example.com", "className": "nginx", "tlsSecretName": "certificate",
                "annotations": {"example.com/a": "1", "example.com/b": "1"},
            },
            "allowedFrom": {"namespaces": ["friends", "family"], "labels": ["team"]},
        },
        "workload": {
            "autoscaling": {
                "maxReplicas": 3, "targetCPUUtilization": 70, "targetMemoryUtilization": 60,
            },
            "podDisruptionBudget": {"minAvailable": 1},
            "resources": {"requests": {"cpu": "100m"}, "limits": {"memory": "2Gi"}},
            "overrides": {
                "env": [{"name": "FIRST", "value": "1"}, {"name": "SECOND", "value": "2"}],
                "podLabels": {"example.com/label": "1"},
                "podAnnotations": {"example.com/annotation": "1"},
                "nodeSelector": {"example.com/node": "1"},
                "tolerations": [{"key": "example.com/taint", "operator": "Exists"}],
                "volumes": [{"name": "extra", "emptyDir": {}}],
                "volumeMounts": [{"name": "extra", "mountPath": "/extra"}],
                "terminationGracePeriodSeconds": 7,
            },
        },
    })
}

fn saying_less() -> Value {
    json!({
        "distribution": {"name": "starter"},
        "networking": {
            "expose": {"annotations": {"example.com/b": "1"}},
            "allowedFrom": {"namespaces": ["family"]},
        },
        "workload": {
            "autoscaling": {"maxReplicas": 3, "targetMemoryUtilization": 60},
            "podDisruptionBudget": {"maxUnavailable": 1},
            "resources": {"requests": {"cpu": "100m"}},
            "overrides": {"env": [{"name": "SECOND", "value": "2"}]},
        },
    })
}

#[tokio::test]
async fn what_a_resource_no_longer_says_goes_from_its_objects() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("removals").await;
    let of_deployment = [
        "FIRST",
        "SECOND",
        "example.com/label",
        "example.com/annotation",
        "example.com/node",
        "example.com/taint",
        "\"extra\"",
        "/extra",
        "2Gi",
        "terminationGracePeriodSeconds\":7",
    ];
    let of_ingress =
        ["llama.example.com", "\"nginx\"", "certificate", "example.com/a", "example.com/b"];
    let of_policy = ["friends", "family", "team"];
    // What is not owned by us would stay. The whole object tells, but not who wrote what.
    let text = async |kind: &str, name: &str| {
        let mut object = namespace.get(kind, name).await.unwrap();
        object["metadata"].as_object_mut().unwrap().remove("managedFields");
        object.to_string()
    };
    for (asked, fewer) in [(saying_much(), false), (saying_less(), true), (saying_much(), false)] {
        namespace.distribution("llama", asked).await;
        namespace.until_ready("llama").await;
        for (kind, name, words, kept) in [
            ("Deployment", "llama", &of_deployment[..], "SECOND"),
            ("Ingress", "llama-ingress", &of_ingress[..], "example.com/b"),
            ("NetworkPolicy", "llama-network-policy", &of_policy[..], "family"),
        ] {
            let text = text(kind, name).await;
            for word in words {
                assert_eq!(text.contains(word), !fewer || *word == kept, "{word}: {text}");
            }
        }
        let scaler = namespace.get("HorizontalPodAutoscaler", "llama-hpa").await.unwrap();
        let metrics = scaler["spec"]["metrics"].as_array().unwrap();
        assert_eq!(metrics.len(), if fewer { 1 } else { 2 }, "{scaler}");
        assert_eq!(metrics.last().unwrap()["resource"]["name"], "memory");
        let budget = namespace.get("PodDisruptionBudget", "llama-pdb").await.unwrap();
        assert_eq!(budget["spec"].get("minAvailable").is_some(), !fewer, "{budget}");
        assert_eq!(budget["spec"].get("maxUnavailable").is_some(), fewer, "{budget}");
    }
    // And everything that is no longer asked for at all.
    namespace.distribution("llama", json!({"distribution": {"name": "starter"}})).await;
    for (kind, name) in [
        ("Ingress", "llama-ingress"),
        ("NetworkPolicy", "llama-network-policy"),
        ("HorizontalPodAutoscaler", "llama-hpa"),
        ("PodDisruptionBudget", "llama-pdb"),
    ] {
        namespace.until_gone(kind, name).await;
    }
    namespace.until_ready("llama").await;
}

#[tokio::test]
async fn somebody_who_only_scales_the_deployment_is_overruled() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("scaled").await;
    let spec = json!({"distribution": {"name": "starter"}, "workload": {"replicas": 1}});
    namespace.distribution("llama", spec).await;
    namespace.until_ready("llama").await;
    set(&namespace, "Deployment", "llama", "/spec/replicas", json!(4)).await;
    namespace
        .until("Deployment", "llama", "has one pod again", |now| now["spec"]["replicas"] == 1)
        .await;
    assert_eq!(namespace.get(RESOURCE, "llama").await.unwrap()["metadata"]["generation"], 1);
}
