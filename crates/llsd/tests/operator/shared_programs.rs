//! The servers of a namespace share one copy of the programs that start them. It is verified before it is
//! used, no server's end takes it from another, and it goes with the last one.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::future::join;
use kube::api::{Patch, PatchParams, PostParams};
use llsd_plan::fingerprint::{self, FIELD_MANAGER};
use llsd_plan::objects::{ObjectKind, labels, start_program};
use serde_json::{Value, json};

use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition, name_of};
use llsd_testbed::test_operator::TestOperator;

fn spec() -> Value {
    json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": {"provider": "vllm", "endpoint": "http://vllm:8000"}},
        "resources": {"models": ["llama3.2-8b"]},
    })
}

async fn copies(namespace: &Namespace<'_>) -> Vec<Value> {
    let mut listed = namespace.list("ConfigMap").await;
    listed.retain(|config_map| start_program::is_copy(name_of(config_map)));
    listed
}

/// A copy may be deleted soon after it was made: resources are looked at often.
const SOON: [&str; 2] = ["--resync", "5"];

/// Applies an object as an operator would.
async fn apply(namespace: &Namespace<'_>, object: &Value) {
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    let api = namespace.api("ConfigMap");
    api.patch(name_of(object), &parameters, &Patch::Apply(object)).await.unwrap();
}

/// Holds a server on the programs of an earlier operator, and gives their copy. The operator is away meanwhile.
async fn held_on_an_earlier_copy(namespace: &Namespace<'_>, server: &str) -> Value {
    let copy = of_another_operator("earlier");
    apply(namespace, &copy).await;
    let live = namespace.get("Deployment", server).await.unwrap();
    let mut deployment = fingerprint::owned(&live).unwrap();
    let template = &mut deployment["spec"]["template"];
    for volume in template["spec"]["volumes"].as_array_mut().unwrap() {
        if volume["name"] == "start-program" {
            volume["configMap"]["name"] = json!(name_of(&copy));
        }
    }
    let hash = fingerprint::of_template(template).to_string();
    deployment["metadata"]["annotations"][labels::TEMPLATE_HASH] = json!(hash);
    let parameters = PatchParams::apply(FIELD_MANAGER).force();
    let api = namespace.api("Deployment");
    api.patch(server, &parameters, &Patch::Apply(&deployment)).await.unwrap();
    copy
}

async fn create(namespace: &Namespace<'_>, kind: &str, object: Value) {
    let parameters = PostParams { field_manager: Some("somebody".into()), ..Default::default() };
    let object = serde_json::from_value(object).unwrap();
    namespace.api(kind).create(&parameters, &object).await.unwrap();
}

/// A copy of other programs, as another operator would have made it.
fn of_another_operator(text: &str) -> Value {
    let data = BTreeMap::from([("launch.py", text)]);
    let labels = json!({
        labels::MANAGED_BY: labels::OPERATOR, labels::COMPONENT: labels::START_PROGRAM,
    });
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "immutable": true, "data": data,
        "metadata": {"name": start_program::name_for(&data), "labels": labels},
    })
}

#[tokio::test]
async fn one_copy_serves_all_and_goes_with_the_last() {
    let Some(operator) = TestOperator::start(&SOON).await else { return };
    let namespace = operator.namespace("shared-programs").await;
    // At once: each finds it missing.
    join(namespace.distribution("a", spec()), namespace.distribution("b", spec())).await;
    join(namespace.until_ready("a"), namespace.until_ready("b")).await;
    let before = copies(&namespace).await;
    let [copy] = before.as_slice() else { panic!("{} copies", before.len()) };
    assert!(copy["metadata"].get("ownerReferences").is_none(), "{}", copy["metadata"]);
    assert_eq!(name_of(copy), start_program::name());
    for server in ["a", "b"] {
        let deployment = namespace.get("Deployment", server).await.unwrap();
        let template = &deployment["spec"]["template"];
        assert_eq!(start_program::mounted(template).collect::<Vec<_>>(), [name_of(copy)]);
    }

    namespace.delete(DISTRIBUTION, "a").await;
    namespace.until_gone("Deployment", "a").await;
    namespace.quiet(&operator.user).await;
    let now = copies(&namespace).await;
    assert_eq!(now.len(), 1, "b still runs with it");
    assert_eq!(now[0]["metadata"]["uid"], copy["metadata"]["uid"]);
    namespace.until_ready("b").await;

    namespace.delete(DISTRIBUTION, "b").await;
    namespace.until_gone("ConfigMap", start_program::name()).await;
}

#[tokio::test]
async fn a_copy_that_somebody_deletes_or_relabels_is_put_right() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("shared-drift").await;
    namespace.distribution("llama", spec()).await;
    namespace.until_ready("llama").await;
    let name = start_program::name();
    let before = namespace.get("ConfigMap", name).await.unwrap();
    namespace.delete("ConfigMap", name).await;
    let is_new = |now: &Value| now["metadata"]["uid"] != before["metadata"]["uid"];
    let made = namespace.until("ConfigMap", name, "is made again", is_new).await;
    assert_eq!(made["data"], before["data"]);
    for label in [labels::MANAGED_BY, labels::COMPONENT, labels::PART_OF] {
        let edit = json!({"metadata": {"labels": {label: null}}});
        namespace.patch("ConfigMap", name, &edit).await;
        let is_labelled = |now: &Value| now["metadata"]["labels"] == before["metadata"]["labels"];
        let now = namespace.until("ConfigMap", name, "has its labels", is_labelled).await;
        assert_eq!(now["metadata"]["uid"], made["metadata"]["uid"]);
    }
}

#[tokio::test]
async fn a_copy_with_another_content_is_never_run_and_named_until_it_is_gone() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("shared-foreign").await;
    let name = start_program::name();
    // All of ours, and a module that Python would import before its own.
    let mut data: Value = start_program::FILES.into_iter().collect();
    data["json.py"] = json!("print('theirs')");
    let theirs = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data,
        "immutable": true,
    });
    create(&namespace, "ConfigMap", theirs).await;
    let before = namespace.get("ConfigMap", name).await.unwrap();
    namespace.distribution("llama", spec()).await;
    let refused = namespace.until_condition("llama", "Ready", "False", "ObjectNotOurs").await;
    let said = condition(&refused, "Ready")["message"].as_str().unwrap();
    assert!(said.starts_with(&format!("ConfigMap {name}: ")), "{said}");
    assert!(said.contains("Delete it, and the operator creates its own"), "{said}");
    assert!(namespace.get("Deployment", "llama").await.is_none());
    // Labelled as ours it is no more ours than before.
    let label = json!({"metadata": {"labels": {labels::MANAGED_BY: labels::OPERATOR}}});
    namespace.patch("ConfigMap", name, &label).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(namespace.get("Deployment", "llama").await.is_none());
    let now = namespace.get("ConfigMap", name).await.unwrap();
    assert_eq!(
        (&now["metadata"]["uid"], &now["data"]),
        (&before["metadata"]["uid"], &before["data"])
    );

    namespace.delete("ConfigMap", name).await;
    namespace.until_ready("llama").await;
    let ours = namespace.get("ConfigMap", name).await.unwrap();
    assert!(ours["data"].get("json.py").is_none());
}

#[tokio::test]
async fn a_copy_of_another_operator_stays_as_long_as_a_template_mounts_it() {
    let Some(operator) = TestOperator::start(&SOON).await else { return };
    let namespace = operator.namespace("shared-surplus").await;
    namespace.distribution("llama", spec()).await;
    namespace.until_ready("llama").await;
    let (kept, surplus) = (of_another_operator("kept"), of_another_operator("surplus"));
    let selected = json!({"app": "earlier"});
    let volume = json!({"name": "start-program", "configMap": {"name": name_of(&kept)}});
    let replica_set = json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {"name": "earlier"},
        "spec": {
            "replicas": 0, "selector": {"matchLabels": selected},
            "template": {
                "metadata": {"labels": selected},
                "spec": {
                    "containers": [{"name": "server", "image": "example.com/server"}],
                    "volumes": [volume],
                },
            },
        },
    });
    create(&namespace, "ReplicaSet", replica_set).await;
    apply(&namespace, &kept).await;
    apply(&namespace, &surplus).await;
    namespace.until_gone("ConfigMap", name_of(&surplus)).await;
    namespace.quiet(&operator.user).await;
    assert!(namespace.get("ConfigMap", name_of(&kept)).await.is_some());

    // It is looked again when a resource goes.
    namespace.delete("ReplicaSet", "earlier").await;
    namespace.until_gone("ReplicaSet", "earlier").await;
    namespace.delete(DISTRIBUTION, "llama").await;
    namespace.until_gone("ConfigMap", name_of(&kept)).await;
    namespace.until_gone("ConfigMap", start_program::name()).await;
}

#[tokio::test]
async fn what_a_person_applied_or_is_young_is_not_deleted() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("shared-rendered").await;
    // The first object of a rendered set; what mounts it comes later.
    let (rendered, young) = (of_another_operator("rendered"), of_another_operator("young"));
    create(&namespace, "ConfigMap", rendered.clone()).await;
    apply(&namespace, &young).await;
    namespace.quiet(&operator.user).await;
    for copy in [&rendered, &young] {
        assert!(namespace.get("ConfigMap", name_of(copy)).await.is_some(), "{}", name_of(copy));
    }

    let Some(operator) = TestOperator::start(&SOON).await else { return };
    let namespace = operator.namespace("shared-rendered").await;
    create(&namespace, "ConfigMap", rendered.clone()).await;
    apply(&namespace, &young).await;
    namespace.until_gone("ConfigMap", name_of(&young)).await;
    assert!(namespace.get("ConfigMap", name_of(&rendered)).await.is_some());
}

#[tokio::test]
async fn an_earlier_copy_that_a_held_server_mounts_is_made_again_also_while_nothing_can_be_planned()
{
    let Some(mut operator) = TestOperator::start(&[]).await else { return };
    let name = {
        let namespace = operator.namespace("shared-earlier").await;
        namespace.distribution("llama", spec()).await;
        namespace.until_ready("llama").await;
        namespace.name
    };
    operator.process.kill();
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    let copy = held_on_an_earlier_copy(&namespace, "llama").await;
    operator.restart(&[]);
    let namespace = Namespace { cluster: &operator.cluster, name };
    namespace.until_condition("llama", "UpdatePending", "True", "TemplateKept").await;
    let made_again = async || {
        let before = namespace.get("ConfigMap", name_of(&copy)).await.unwrap();
        namespace.delete("ConfigMap", name_of(&copy)).await;
        let is_new = |now: &Value| now["metadata"]["uid"] != before["metadata"]["uid"];
        namespace.until("ConfigMap", name_of(&copy), "is made again", is_new).await
    };
    let now = made_again().await;
    assert_eq!((&now["data"], &now["immutable"]), (&copy["data"], &json!(true)));
    namespace.until_ready("llama").await;

    let unlabelled = json!({"metadata": {"labels": {labels::MANAGED_BY: null}}});
    namespace.patch("ConfigMap", name_of(&copy), &unlabelled).await;
    let is_labelled = |now: &Value| now["metadata"]["labels"][labels::MANAGED_BY].is_string();
    namespace.until("ConfigMap", name_of(&copy), "has its label", is_labelled).await;

    let mut refused = spec();
    refused["resources"]["models"] = json!([{"name": "a", "provider": "nobody"}]);
    namespace.distribution("llama", refused).await;
    namespace.until_condition("llama", "ConfigGenerated", "False", "ConfigGenerationFailed").await;
    made_again().await;
}

#[tokio::test]
async fn an_earlier_copy_that_nobody_has_seen_is_named_until_the_server_has_the_present_one() {
    let Some(mut operator) = TestOperator::start(&[]).await else { return };
    let name = {
        let namespace = operator.namespace("shared-lost").await;
        namespace.distribution("llama", spec()).await;
        namespace.until_ready("llama").await;
        namespace.name
    };
    operator.process.kill();
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    let copy = held_on_an_earlier_copy(&namespace, "llama").await;
    namespace.delete("ConfigMap", name_of(&copy)).await;
    operator.restart(&[]);
    let namespace = Namespace { cluster: &operator.cluster, name };
    let lost = namespace.until_condition("llama", "Ready", "False", "StartProgramMissing").await;
    let said = condition(&lost, "Ready")["message"].as_str().unwrap();
    assert!(said.contains(name_of(&copy)) && said.contains("llsd rollout approve"), "{said}");
    assert_eq!(condition(&lost, "UpdatePending")["reason"], "TemplateKept");
    namespace.until_event("llama", "StartProgramMissing", name_of(&copy)).await;

    let approve = json!({"metadata": {"annotations": {"llamastack.io/approve": "1"}}});
    namespace.patch(DISTRIBUTION, "llama", &approve).await;
    namespace
        .until("Deployment", "llama", "mounts the present copy", |now| {
            let template = &now["spec"]["template"];
            start_program::mounted(template).collect::<Vec<_>>() == [start_program::name()]
        })
        .await;
    namespace.until_ready("llama").await;
}

#[tokio::test]
async fn no_pod_is_started_with_an_earlier_copy_of_another_content_without_a_label_either() {
    let Some(mut operator) = TestOperator::start(&[]).await else { return };
    let name = {
        let namespace = operator.namespace("shared-tampered").await;
        namespace.distribution("llama", spec()).await;
        namespace.until_ready("llama").await;
        namespace.name
    };
    operator.process.kill();
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    let copy = held_on_an_earlier_copy(&namespace, "llama").await;
    namespace.delete("ConfigMap", name_of(&copy)).await;
    let theirs = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name_of(&copy)},
        "data": {"launch.py": "print('theirs')"}, "immutable": true,
    });
    create(&namespace, "ConfigMap", theirs).await;
    operator.restart(&[]);
    let namespace = Namespace { cluster: &operator.cluster, name };
    let scaled = json!({"spec": {"workload": {"replicas": 2}}});
    namespace.patch(DISTRIBUTION, "llama", &scaled).await;
    let refused = namespace.until_condition("llama", "Ready", "False", "ObjectNotOurs").await;
    let said = condition(&refused, "Ready")["message"].as_str().unwrap();
    assert!(said.contains(name_of(&copy)) && said.contains("llsd rollout approve"), "{said}");
    let deployment = namespace.get("Deployment", "llama").await.unwrap();
    assert_eq!(deployment["spec"]["replicas"], 1);
}

/// Objects of a server as the API server sends them, managed fields included. `etcd` holds them in another
/// form, which is smaller.
#[tokio::test]
async fn the_objects_of_a_server_take_little_room() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("stored").await;
    namespace.apply_file("deploy/samples/v1alpha2-simple.yaml").await;
    let name = "simple";
    namespace.until_ready(name).await;
    namespace.quiet(&operator.user).await;
    let (mut own, mut shared) = (0, 0);
    for kind in ObjectKind::ALL.iter().filter(|kind| !kind.is_optional()) {
        for object in namespace.list(kind.name()).await {
            let bytes = object.to_string().len();
            if object["metadata"]["labels"][labels::INSTANCE] == name {
                println!("{:>6} bytes: {} {}", bytes, kind.name(), name_of(&object));
                own += bytes;
            } else if start_program::is_copy(name_of(&object)) {
                println!("{bytes:>6} bytes, once a namespace: {}", name_of(&object));
                shared += bytes;
            }
        }
    }
    println!("{own:>6} bytes of one server");
    assert!(shared > 0 && own > 0);
    assert!(own <= 24 << 10, "{own} bytes");
}
