//! The claim of a server's volume grows where it can, and what it cannot do keeps nothing else from
//! being done.

use serde_json::{Value, json};

use super::{Namespace, TestOperator, ask, asked, condition_message};

const CLAIM: (&str, &str) = ("PersistentVolumeClaim", "llama-pvc");

fn volume(size: &str, variable: &str) -> Value {
    json!({"workload": {
        "storage": {"size": size},
        "overrides": {"env": [{"name": "VARIABLE", "value": variable}]},
    }})
}

async fn storage_class(namespace: &Namespace<'_>, grows: bool) -> String {
    let name = format!("{}-{grows}", namespace.name);
    let class = json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name},
        "provisioner": "example.com/none", "allowVolumeExpansion": grows,
    });
    namespace.apply(&class.to_string()).await;
    name
}

/// A claim of that class, as one that an earlier resource of the name left, and bound.
async fn bound_claim(namespace: &Namespace<'_>, class: &str) {
    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim",
        "metadata": {
            "name": CLAIM.1,
            "labels": {
                "app.kubernetes.io/managed-by": "llama-stack-operator",
                "app.kubernetes.io/instance": "llama",
            },
        },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "resources": {"requests": {"storage": "2Gi"}},
        },
    });
    namespace.apply(&claim.to_string()).await;
    let volume = json!({
        "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": namespace.name},
        "spec": {
            "storageClassName": class, "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "2Gi"}, "hostPath": {"path": "/nowhere"},
            "claimRef": {"namespace": namespace.name, "name": CLAIM.1},
        },
    });
    namespace.apply(&volume.to_string()).await;
    namespace.until(CLAIM.0, CLAIM.1, "is bound", |now| now["status"]["phase"] == "Bound").await;
}

fn size(claim: &Value) -> &Value {
    &claim["spec"]["resources"]["requests"]["storage"]
}

/// Waits until the pods have this variable, and gives what the status then says of the Deployment.
async fn until_applied(namespace: &Namespace<'_>, variable: &str) -> String {
    let ready = namespace.until_ready("llama").await;
    let deployment = namespace.get("Deployment", "llama").await.unwrap();
    let wanted = json!({"name": "VARIABLE", "value": variable}).to_string();
    assert!(deployment.to_string().contains(&wanted), "{deployment}");
    condition_message(&ready, "DeploymentUpdated")
}

#[tokio::test]
async fn a_volume_grows_and_does_not_shrink() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("grows").await;
    let class = storage_class(&namespace, true).await;
    bound_claim(&namespace, &class).await;
    let ready = ask(&namespace, &volume("2Gi", "a")).await;
    assert_eq!(condition_message(&ready, "StorageReady"), "Storage is ready");

    asked(&namespace, &volume("3Gi", "b")).await;
    namespace.until(CLAIM.0, CLAIM.1, "has grown", |now| size(now) == "3Gi").await;
    let said = until_applied(&namespace, "b").await;
    assert!(!said.contains("volume"), "{said}");

    asked(&namespace, &volume("1Gi", "c")).await;
    let said = until_applied(&namespace, "c").await;
    assert!(said.contains("spec.workload.storage.size: a volume cannot shrink"), "{said}");
    assert!(said.contains("it has 3Gi, and 1Gi is asked for"), "{said}");
    let claim = namespace.get(CLAIM.0, CLAIM.1).await.unwrap();
    assert_eq!(size(&claim), "3Gi");
    // The same in other words.
    asked(&namespace, &volume("3072Mi", "d")).await;
    let said = until_applied(&namespace, "d").await;
    assert!(!said.contains("volume"), "{said}");
}

#[tokio::test]
async fn a_volume_whose_class_cannot_grow_stays_and_the_rest_is_applied() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("fixed").await;
    let class = storage_class(&namespace, false).await;
    bound_claim(&namespace, &class).await;
    ask(&namespace, &volume("5Gi", "a")).await;
    let said = until_applied(&namespace, "a").await;
    assert!(said.contains("spec.workload.storage.size: the volume stays at 2Gi"), "{said}");
    assert!(
        said.contains("the storageclass that provisions the pvc must support resize"),
        "{said}"
    );
    let claim = namespace.get(CLAIM.0, CLAIM.1).await.unwrap();
    assert_eq!(size(&claim), "2Gi");
    assert_eq!(claim["metadata"]["labels"]["llamastack.io/watch"], "true", "{claim}");
    asked(&namespace, &volume("2Gi", "b")).await;
    let said = until_applied(&namespace, "b").await;
    assert!(!said.contains("volume"), "{said}");
}

#[tokio::test]
async fn a_running_server_gets_a_volume_and_loses_it_and_its_data_stay() {
    let Some(operator) = TestOperator::shared().await else {
        return;
    };
    let namespace = operator.namespace("volume").await;
    let mut claims = Vec::new();
    for (storage, strategy) in [
        (json!({"replicas": 1}), "RollingUpdate"),
        (json!({"replicas": 1, "storage": {"size": "1Gi"}}), "Recreate"),
        (json!({"replicas": 1}), "RollingUpdate"),
        (json!({"replicas": 1, "storage": {"size": "1Gi"}}), "Recreate"),
    ] {
        ask(&namespace, &json!({"workload": storage})).await;
        let deployment = namespace.get("Deployment", "llama").await.unwrap();
        assert_eq!(deployment["spec"]["strategy"]["type"], strategy, "{deployment}");
        let mounted = deployment.to_string().contains(r#""claimName":"llama-pvc""#);
        assert_eq!(mounted, strategy == "Recreate", "{deployment}");
        let claim = namespace.get(CLAIM.0, CLAIM.1).await;
        claims.extend(claim.map(|claim| claim["metadata"]["uid"].clone()));
    }
    assert_eq!(claims.len(), 3, "the claim stays without its server");
    claims.dedup();
    assert_eq!(claims.len(), 1, "and is the same afterwards");
}

/// A claim goes when no pod uses it any more, so its server must be free to stop.
#[tokio::test]
async fn a_claim_that_somebody_deletes_holds_up_nothing_and_is_made_anew() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("emptied").await;
    let with =
        |replicas: u8| json!({"workload": {"replicas": replicas, "storage": {"size": "1Gi"}}});
    ask(&namespace, &with(1)).await;
    let before = namespace.get(CLAIM.0, CLAIM.1).await.unwrap();
    namespace.delete(CLAIM.0, CLAIM.1).await;
    let going = namespace.get(CLAIM.0, CLAIM.1).await.unwrap();
    assert!(going["metadata"]["deletionTimestamp"].is_string(), "{going}");
    asked(&namespace, &with(0)).await;
    namespace
        .until(CLAIM.0, CLAIM.1, "is new", |now| {
            now["metadata"]["uid"] != before["metadata"]["uid"]
        })
        .await;
    let ready = ask(&namespace, &with(1)).await;
    assert!(!condition_message(&ready, "DeploymentUpdated").contains("volume"), "{ready}");
}

#[tokio::test]
async fn a_claim_of_the_users_own_is_waited_for_mounted_and_never_touched() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("existing").await;
    ask(&namespace, &json!({"workload": {"replicas": 1}})).await;
    let before = namespace.running("llama").await;
    let spec = json!({"workload": {"replicas": 1, "storage": {"existingClaim": "mine"}}});
    asked(&namespace, &spec).await;
    let told =
        namespace.until_condition("llama", "ConfigGenerated", "False", "ClaimNotFound").await;
    assert!(told.to_string().contains("PersistentVolumeClaim not found: mine"), "{told}");
    assert_eq!(namespace.running("llama").await, before, "the server goes on");

    let claim = json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "mine"},
        "spec": {
            "accessModes": ["ReadWriteMany"], "storageClassName": "theirs",
            "resources": {"requests": {"storage": "7Gi"}},
        },
    });
    namespace.apply(&claim.to_string()).await;
    let made = namespace.get(CLAIM.0, "mine").await.unwrap();
    namespace.until_ready("llama").await;
    let deployment = namespace.get("Deployment", "llama").await.unwrap();
    assert!(deployment.to_string().contains(r#""claimName":"mine""#), "{deployment}");
    assert_eq!(deployment["spec"]["strategy"]["type"], "Recreate");
    assert!(namespace.get(CLAIM.0, CLAIM.1).await.is_none(), "none is made beside it");
    let now = namespace.get(CLAIM.0, "mine").await.unwrap();
    assert_eq!(now["metadata"]["managedFields"], made["metadata"]["managedFields"]);
}

#[tokio::test]
async fn a_volume_that_is_there_keeps_its_class_and_says_so() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("class").await;
    let class = storage_class(&namespace, true).await;
    let with = |class: Option<&str>, variable: &str| {
        let mut spec = volume("2Gi", variable);
        spec["workload"]["storage"]["accessModes"] = json!(["ReadWriteOnce"]);
        if let Some(class) = class {
            spec["workload"]["storage"]["storageClassName"] = json!(class);
        }
        spec
    };
    ask(&namespace, &with(Some(&class), "a")).await;
    let claim = namespace.get(CLAIM.0, CLAIM.1).await.unwrap();
    assert_eq!(claim["spec"]["storageClassName"], *class);
    asked(&namespace, &with(Some("another"), "b")).await;
    let said = until_applied(&namespace, "b").await;
    assert!(said.contains("spec.workload.storage.storageClassName"), "{said}");
    assert!(said.contains(&class), "{said}");
    asked(&namespace, &with(None, "c")).await;
    let said = until_applied(&namespace, "c").await;
    assert!(!said.contains("storageClassName"), "{said}");
    let claim = namespace.get(CLAIM.0, CLAIM.1).await.unwrap();
    assert_eq!(claim["spec"]["storageClassName"], *class);
}
