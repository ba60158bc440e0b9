//! Servers of earlier operators, which gave each resource a copy of the start programs of its own: it stays
//! until the server's next change, and as long as the server can go back to it.

use kube::api::{Patch, PatchParams};
use llsd_plan::fingerprint;
use llsd_plan::objects::{labels, names, start_program};
use serde_json::{Value, json};

use crate::server::{STUCK, ask, llsd, operator, pods_and_states, said};
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition, name_of};

async fn apply(namespace: &Namespace<'_>, kind: &str, object: &Value) {
    let parameters = PatchParams::apply(fingerprint::FIELD_MANAGER).force();
    namespace.api(kind).patch(name_of(object), &parameters, &Patch::Apply(object)).await.unwrap();
}

fn mounts(object: &Value, name: &str) -> bool {
    let mut volumes = object["spec"]["template"]["spec"]["volumes"].as_array().unwrap().iter();
    volumes.any(|volume| volume["configMap"]["name"] == name)
}

/// Makes a server's objects as an earlier operator had them, and gives the name of its copy.
async fn made_with_a_copy_of_its_own(namespace: &Namespace<'_>, server: &str) -> String {
    let name = names::former_start_program(server, "0a1b2c3d");
    let live = namespace.get("Deployment", server).await.unwrap();
    let mut labels = labels::of_objects(server);
    labels.insert(labels::COMPONENT.to_owned(), "start".to_owned());
    let data: Value = start_program::FILES.into_iter().collect();
    let owners = &live["metadata"]["ownerReferences"];
    let copy = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "immutable": true, "data": data,
        "metadata": {"name": name, "labels": labels, "ownerReferences": owners},
    });
    apply(namespace, "ConfigMap", &copy).await;
    let mut deployment = fingerprint::owned(&live).unwrap();
    let template = &mut deployment["spec"]["template"];
    for volume in template["spec"]["volumes"].as_array_mut().unwrap() {
        if volume["name"] == "start-program" {
            volume["configMap"]["name"] = json!(name);
        }
    }
    let hash = fingerprint::of_template(template).to_string();
    deployment["metadata"]["annotations"][labels::TEMPLATE_HASH] = json!(hash);
    apply(namespace, "Deployment", &deployment).await;
    namespace
        .until("Deployment", server, "runs as before", |now| {
            let status = &now["status"];
            mounts(now, &name)
                && status["observedGeneration"] == now["metadata"]["generation"]
                && (&status["updatedReplicas"], &status["replicas"]) == (&json!(1), &json!(1))
                && status["availableReplicas"] == 1
        })
        .await;
    for replica_set in namespace.list("ReplicaSet").await {
        if mounts(&replica_set, start_program::name()) {
            namespace.delete("ReplicaSet", name_of(&replica_set)).await;
        }
    }
    namespace.delete("ConfigMap", start_program::name()).await;
    name
}

#[tokio::test]
async fn a_server_keeps_its_own_copy_until_its_next_change_and_can_go_back_to_it() {
    let Some(mut operator) = operator().await else { return };
    let name = {
        let namespace = operator.namespace("own-program").await;
        ask(&namespace, "llama", &json!({STUCK: "no"}), 2).await;
        namespace.until_ready("llama").await;
        namespace.name
    };
    operator.process.kill();
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    let own = made_with_a_copy_of_its_own(&namespace, "llama").await;
    let before = pods_and_states(&namespace).await;

    operator.restart(&[]);
    let namespace = Namespace { cluster: &operator.cluster, name };
    namespace.until_condition("llama", "UpdatePending", "True", "TemplateKept").await;
    namespace.quiet(&operator.user).await;
    assert_eq!(pods_and_states(&namespace).await, before, "the upgrade restarted the server");
    assert!(namespace.get("ConfigMap", &own).await.is_some());
    assert!(namespace.get("ConfigMap", start_program::name()).await.is_none(), "nothing needs it");

    ask(&namespace, "llama", &json!({STUCK: "no"}), 3).await;
    namespace
        .until("Deployment", "llama", "mounts the shared copy", |now| {
            mounts(now, start_program::name())
        })
        .await;
    namespace.until_ready("llama").await;
    namespace.quiet(&operator.user).await;
    assert!(namespace.get("ConfigMap", start_program::name()).await.is_some());
    assert!(namespace.get("ConfigMap", &own).await.is_some(), "a ReplicaSet names it");

    let back = llsd(&namespace, &["rollback", "llama"]).await;
    assert!(back.status.success(), "{}", said(&back));
    let asked = namespace.until_condition("llama", "RolledBack", "True", "RollbackRequested").await;
    let returned = namespace
        .until("Deployment", "llama", "mounts its own copy", |now| mounts(now, &own))
        .await;
    assert_eq!(returned["metadata"]["name"], "llama", "{asked}");
    let ready = namespace.until_ready("llama").await;
    assert_eq!(condition(&ready, "Ready")["status"], "True");
    assert!(namespace.get("ConfigMap", start_program::name()).await.is_some(), "it may go on");

    // Without an operator the cluster deletes what has an owner, and an operator the rest once it is back.
    let name = namespace.name;
    operator.process.kill();
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    namespace.delete(DISTRIBUTION, "llama").await;
    namespace.until_gone("ConfigMap", &own).await;
    namespace.until_gone("Deployment", "llama").await;
    assert!(namespace.get("ConfigMap", start_program::name()).await.is_some());
    // It need not be old to go.
    operator.restart(&["--resync", "5"]);
    let namespace = Namespace { cluster: &operator.cluster, name };
    namespace.until_gone("ConfigMap", start_program::name()).await;
}
