//! Objects that v0.9 made are taken over whole: what it wrote and we do not apply goes, and
//! everybody else's stays.

use http::Request;
use kube::Client;
use llsd_cases::objects::ObjectCase;
use llsd_plan::fingerprint::{FIELD_MANAGER, of_desired};
use llsd_plan::live::takeover::taken_over;
use serde_json::{Value, json};

use super::{CLUSTER, live, live_fingerprint, patch_as, recognise, within};
use crate::planned::{api_of, apply, apply_as};

/// The Deployment of a case, which are those of a resource `llama`.
fn deployment(file: &str) -> Value {
    let (_, case) =
        ObjectCase::all().into_iter().find(|(path, _)| path.ends_with(file)).expect("a case");
    let mut objects = case.objects().0.manifests().into_iter();
    objects.find(|object| object["kind"] == "Deployment").expect("every server has one")
}

/// As v0.9 writes one for a server without a volume.
fn old_deployment() -> Value {
    let labels = json!({"app": "llama-stack", "app.kubernetes.io/instance": "llama"});
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "llama", "labels": {"app.kubernetes.io/part-of": "llama-stack"}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels},
                "spec": {
                    "serviceAccountName": "llama-sa",
                    "volumes": [
                        {"name": "lls-storage", "emptyDir": {}},
                        {"name": "old", "emptyDir": {}},
                    ],
                    "containers": [{
                        "name": "llama-stack",
                        "image": "example.com/old",
                        "env": [
                            {"name": "HF_HOME", "value": "/.llama"},
                            {"name": "OLD", "value": "x"},
                        ],
                        "ports": [{"containerPort": 8321}],
                        "startupProbe": {
                            "httpGet": {"path": "/v1/health", "port": 8321},
                            "initialDelaySeconds": 15,
                            "timeoutSeconds": 30,
                        },
                        "volumeMounts": [
                            {"name": "lls-storage", "mountPath": "/.llama"},
                            {"name": "old", "mountPath": "/old"},
                        ],
                    }],
                },
            },
        },
    })
}

/// Creates an object as a program called `manager` does.
async fn create(client: &Client, object: &Value) {
    let url = api_of(client, object).resource_url().to_owned();
    let request = Request::post(format!("{url}?fieldManager=manager"))
        .header("Content-Type", "application/json")
        .body(serde_json::to_vec(object).unwrap())
        .unwrap();
    client.request::<Value>(request).await.unwrap();
}

/// As the operator does it: refused where the object was written to in between.
async fn take_over(client: &Client, object: &Value) {
    let metadata = &live(client, object).await["metadata"];
    let managed_fields = taken_over(&metadata["managedFields"], "llama").expect("v0.9's shares");
    let version = &metadata["resourceVersion"];
    let operations = json!([
        {"op": "test", "path": "/metadata/resourceVersion", "value": version},
        {"op": "replace", "path": "/metadata/managedFields", "value": managed_fields},
    ]);
    patch_as(client, FIELD_MANAGER, object, &operations).await;
}

/// Managers of the object itself, with what they did.
fn managers(live: &Value) -> Vec<String> {
    let entries = live["metadata"]["managedFields"].as_array().unwrap();
    let whole = entries.iter().filter(|entry| entry.get("subresource").is_none());
    let mut managers: Vec<String> = whole
        .map(|entry| format!("{} {}", entry["manager"], entry["operation"]).replace('"', ""))
        .collect();
    managers.sort();
    managers
}

fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn what_the_old_operator_wrote_and_we_do_not_goes() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let client = cluster.client();
    let namespace = cluster.namespace("takeover").await.unwrap();
    let ours = within(&namespace, deployment("volume.yaml"));
    let mut old = within(&namespace, old_deployment());
    create(&client, &old).await;
    let env = "/spec/template/spec/containers/0/env";
    let applied_later = json!({"name": "OLD_AS_WELL", "value": "x"});
    old.pointer_mut(env).unwrap().as_array_mut().unwrap().push(applied_later);
    apply_as(&client, "llama", &old).await.unwrap();
    let theirs = json!([
        {"op": "add", "path": format!("{env}/-"), "value": {"name": "THEIRS", "value": "x"}},
        {"op": "add", "path": "/metadata/annotations", "value": {"theirs": "x"}},
    ]);
    patch_as(&client, "kubectl-edit", &old, &theirs).await;
    assert_eq!(live_fingerprint(&client, &ours).await, None);
    // The rolling update that v0.9's Deployment has by default is in the way.
    let refused = apply(&client, &ours).await.unwrap_err();
    assert!(refused.to_string().contains("rollingUpdate"), "{refused}");

    take_over(&client, &ours).await;
    let taken = live(&client, &ours).await;
    let expected = ["kubectl-edit Update".to_owned(), format!("{FIELD_MANAGER} Apply")];
    assert_eq!(managers(&taken), expected);
    assert_eq!(taken_over(&taken["metadata"]["managedFields"], "llama"), None);
    assert_ne!(live_fingerprint(&client, &ours).await, Some(of_desired(&ours)));

    recognise(&client, "after taking over", &ours).await;
    let live = live(&client, &ours).await;
    assert_eq!(managers(&live), expected);
    assert_eq!(live["spec"]["strategy"], json!({"type": "Recreate"}));
    let pod = &live["spec"]["template"]["spec"];
    let container = &pod["containers"][0];
    let variables = names(&container["env"]);
    assert!(!variables.iter().any(|name| name.starts_with("OLD")), "{variables:?}");
    assert!(variables.contains(&"THEIRS") && variables.contains(&"HF_HOME"), "{variables:?}");
    assert_eq!(live["metadata"]["annotations"]["theirs"], "x");
    assert!(!names(&pod["volumes"]).contains(&"old"), "{pod}");
    assert!(!names(&container["volumeMounts"]).contains(&"old"), "{pod}");
    assert_eq!(container["startupProbe"].get("initialDelaySeconds"), None);
    assert_eq!(live["metadata"]["labels"], ours["metadata"]["labels"]);
}

#[tokio::test]
async fn a_share_in_the_status_stays_with_its_manager() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let client = cluster.client();
    let namespace = cluster.namespace("status").await.unwrap();
    let ours = within(&namespace, deployment("default-config.yaml"));
    create(&client, &within(&namespace, old_deployment())).await;
    let url =
        format!("{}/llama/status?fieldManager=manager", api_of(&client, &ours).resource_url());
    let request = Request::patch(url)
        .header("Content-Type", "application/merge-patch+json")
        .body(serde_json::to_vec(&json!({"status": {"observedGeneration": 1}})).unwrap())
        .unwrap();
    client.request::<Value>(request).await.unwrap();
    take_over(&client, &ours).await;
    recognise(&client, "after taking over", &ours).await;
    let live = live(&client, &ours).await;
    assert_eq!(managers(&live), [format!("{FIELD_MANAGER} Apply")]);
    let entries = live["metadata"]["managedFields"].as_array().unwrap();
    let status = entries.iter().find(|entry| entry["subresource"] == "status").unwrap();
    assert_eq!(status["manager"], "manager");
    assert_eq!(live["status"]["observedGeneration"], 1);
}

#[tokio::test]
async fn shares_of_another_version_of_the_api_are_taken_over_too() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let client = cluster.client();
    let namespace = cluster.namespace("versions").await.unwrap();
    let target = json!({"apiVersion": "apps/v1", "kind": "Deployment", "name": "llama"});
    let autoscaler = |version: &str, spec: Value| {
        json!({
            "apiVersion": format!("autoscaling/{version}"),
            "kind": "HorizontalPodAutoscaler",
            "metadata": {"name": "llama-hpa", "namespace": namespace},
            "spec": spec,
        })
    };
    let old = json!({
        "scaleTargetRef": target, "minReplicas": 2, "maxReplicas": 3,
        "targetCPUUtilizationPercentage": 50,
    });
    create(&client, &autoscaler("v1", old)).await;
    let newer = json!({
        "scaleTargetRef": target, "maxReplicas": 4,
        "behavior": {"scaleDown": {"stabilizationWindowSeconds": 1}},
    });
    apply_as(&client, "llama", &autoscaler("v2", newer)).await.unwrap();
    let metrics = json!([{
        "type": "Resource",
        "resource": {"name": "memory", "target": {"type": "Utilization", "averageUtilization": 80}},
    }]);
    let spec = json!({"scaleTargetRef": target, "maxReplicas": 5, "metrics": metrics});
    let ours = autoscaler("v2", spec);
    take_over(&client, &ours).await;
    recognise(&client, "after taking over", &ours).await;
    let live = live(&client, &ours).await;
    assert_eq!(managers(&live), [format!("{FIELD_MANAGER} Apply")]);
    // The default again.
    assert_eq!(live["spec"]["minReplicas"], 1);
    assert_eq!(live["spec"]["metrics"], metrics);
    assert_eq!(live["spec"].get("behavior"), None);
}
