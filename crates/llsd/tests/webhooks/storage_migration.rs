//! `llsd migrate --in-cluster` on a real API server: objects that v0.9's definition stored are
//! written anew, under the documented rights, while others write and delete.

use std::time::Duration;

use assert_cmd::Command;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use llsd::operator::storage_migration::{MigrationError, MigrationProgress, migrate_storage};
use llsd_testkit::ControlPlane;
use serde_json::{Value, json};

/// More than one page.
const OBJECTS: usize = 120;
const NAME: &str = "llamastackdistributions.llamastack.io";

struct Scene {
    cluster: ControlPlane,
    client: Client,
    namespace: String,
}

struct Said {
    code: i32,
    stdout: String,
    stderr: String,
}

impl Scene {
    fn definitions(&self) -> Api<CustomResourceDefinition> {
        Api::all(self.client.clone())
    }

    fn objects(&self, version: &str) -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("llamastack.io", version, "LlamaStackDistribution");
        let resource = ApiResource::from_gvk(&kind);
        Api::namespaced_with(self.client.clone(), &self.namespace, &resource)
    }

    async fn stored(&self) -> Vec<String> {
        let definition = self.definitions().get(NAME).await.unwrap();
        definition.status.unwrap().stored_versions.unwrap()
    }

    /// Changes the definition, and waits until objects are served accordingly.
    async fn define(&self, spec: &Value) {
        let patch = Patch::Merge(json!({"spec": spec}));
        self.definitions().patch(NAME, &PatchParams::default(), &patch).await.unwrap();
    }

    async fn until_listed(&self, version: &str, served: bool) {
        for _ in 0..600 {
            let listed = self.objects(version).list(&ListParams::default().limit(1)).await;
            if listed.is_ok() == served {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("{version} was not {} within a minute", if served { "served" } else { "refused" });
    }

    async fn migrate(&self, user: &str, groups: &[&str], more: &[&str]) -> Said {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("llsd"));
        command.args(["migrate", "--in-cluster"]).args(more);
        command.env("KUBECONFIG", self.cluster.kubeconfig_for(user, groups));
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        Said {
            code: output.status.code().unwrap(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    async fn as_admin(&self, more: &[&str]) -> Said {
        self.migrate("admin", &["system:masters"], more).await
    }

    /// A user with exactly the rights that the documentation names.
    async fn allow(&self, user: &str) {
        let role = json!({
            "metadata": {"name": "storage-migration"},
            "rules": [
                {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"], "verbs": ["get"]},
                {"apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions/status"], "verbs": ["patch"]},
                {"apiGroups": ["llamastack.io"], "resources": ["llamastackdistributions"], "verbs": ["list", "get", "update"]},
            ],
        });
        let binding = json!({
            "metadata": {"name": "storage-migration"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "storage-migration"},
            "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}],
        });
        let roles: Api<ClusterRole> = Api::all(self.client.clone());
        let bindings: Api<ClusterRoleBinding> = Api::all(self.client.clone());
        let params = PostParams::default();
        roles.create(&params, &serde_json::from_value(role).unwrap()).await.unwrap();
        bindings.create(&params, &serde_json::from_value(binding).unwrap()).await.unwrap();
    }
}

fn object(name: &str) -> DynamicObject {
    serde_json::from_value(json!({
        "apiVersion": "llamastack.io/v1alpha1",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": name},
        "spec": {"server": {"distribution": {"name": "starter"}}},
    }))
    .unwrap()
}

/// Both versions with schemas that keep everything, and no webhook: what counts here is storage.
fn both_without_a_webhook() -> Value {
    let version = |name: &str, storage: bool| {
        json!({
            "name": name, "served": true, "storage": storage,
            "schema": {"openAPIV3Schema": {
                "type": "object", "x-kubernetes-preserve-unknown-fields": true,
            }},
        })
    };
    json!({
        "conversion": {"strategy": "None", "webhook": null},
        "versions": [version("v1alpha2", true), version("v1alpha1", false)],
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn stored_objects_are_written_anew_and_v1alpha1_is_retired() {
    let Some(cluster) = ControlPlane::start_or_skip().await else { return };
    let client = cluster.client();
    let namespace = cluster.namespace("stored").await.unwrap();
    let scene = Scene { cluster, client, namespace };

    assert_eq!(migrate_storage(&scene.client, |_| ()).await, Err(MigrationError::NotInstalled));
    let v0_9 = serde_json::from_value(llsd_testbed::v0_9::definition::definition()).unwrap();
    scene.definitions().create(&PostParams::default(), &v0_9).await.unwrap();
    scene.until_listed("v1alpha1", true).await;
    for index in 0..OBJECTS {
        let object = object(&format!("server-{index}"));
        scene.objects("v1alpha1").create(&PostParams::default(), &object).await.unwrap();
    }
    let said = scene.as_admin(&[]).await;
    assert_eq!(said.code, 3);
    assert!(said.stderr.contains("stores v1alpha1, not v1alpha2"), "{}", said.stderr);

    // The new definition, before its operator runs.
    scene.define(&llsd_api::crd::manifest()["spec"]).await;
    scene.until_listed("v1alpha2", false).await;
    assert!(scene.stored().await.contains(&"v1alpha1".to_owned()));
    let away = async || scene.as_admin(&[]).await;
    let mut said = away().await;
    for _ in 0..100 {
        if said.stderr.contains("the conversion webhook does not answer") {
            break;
        }
        tokio::time::sleep(Duration::from_millis(300)).await;
        said = away().await;
    }
    assert_eq!(said.code, 3, "{}", said.stderr);
    assert!(said.stderr.contains("the conversion webhook does not answer"), "{}", said.stderr);
    assert_eq!(scene.stored().await, ["v1alpha1", "v1alpha2"]);

    scene.define(&both_without_a_webhook()).await;
    scene.until_listed("v1alpha2", true).await;
    no_rights_are_told_with_the_role_that_is_needed(&scene).await;
    a_dry_run_changes_nothing(&scene).await;
    under_the_documented_rights_all_is_written(&scene).await;
    nothing_of_v1alpha1_is_left(&scene).await;
}

async fn no_rights_are_told_with_the_role_that_is_needed(scene: &Scene) {
    let said = scene.migrate("nobody", &[], &[]).await;
    assert_eq!((said.code, said.stdout.as_str()), (3, ""));
    for part in ["not allowed to get customresourcedefinitions", "list, get and update"] {
        assert!(said.stderr.contains(part), "{}", said.stderr);
    }
}

async fn a_dry_run_changes_nothing(scene: &Scene) {
    let before = scene.objects("v1alpha2").get("server-7").await.unwrap();
    let said = scene.as_admin(&["--dry-run"]).await;
    assert_eq!(said.code, 0, "{}", said.stderr);
    let expected = format!("dry run: {OBJECTS} objects would be written as v1alpha2, and v1alpha1");
    assert!(said.stdout.starts_with(&expected), "{}", said.stdout);
    assert!(said.stderr.contains("100 objects written, about 20 to go\n"), "{}", said.stderr);
    assert_eq!(scene.stored().await, ["v1alpha1", "v1alpha2"]);
    let after = scene.objects("v1alpha2").get("server-7").await.unwrap();
    assert_eq!(before.metadata.resource_version, after.metadata.resource_version);
}

/// Others go on meanwhile: on the way, objects change that were read already, and one is deleted.
async fn under_the_documented_rights_all_is_written(scene: &Scene) {
    scene.allow("migrator").await;
    let migrator = scene.cluster.client_for("migrator", &[]);
    let definitions: Api<CustomResourceDefinition> = Api::all(migrator.clone());
    while definitions.get(NAME).await.is_err() {
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    let objects = scene.objects("v1alpha2");
    let (stop, mut stopped) = tokio::sync::oneshot::channel::<()>();
    let busy = objects.clone();
    let others = tokio::spawn(async move {
        let mut round = 0;
        while stopped.try_recv().is_err() {
            round += 1;
            for index in [3, 40, 99, 110] {
                let patch = json!({"metadata": {"labels": {"round": round.to_string()}}});
                let name = format!("server-{index}");
                busy.patch(&name, &PatchParams::default(), &Patch::Merge(patch)).await.unwrap();
            }
        }
    });
    let doomed = objects.clone();
    let deletion = std::sync::Mutex::new(None);
    let result = migrate_storage(&migrator, |progress| {
        // The page was read and written; the last one may or may not have been read.
        if let (MigrationProgress::Begun { .. }, Ok(mut deletion)) = (&progress, deletion.lock()) {
            let doomed = doomed.clone();
            *deletion = Some(tokio::spawn(async move {
                doomed.delete("server-98", &DeleteParams::default()).await.unwrap();
            }));
        }
    })
    .await;
    stop.send(()).unwrap();
    others.await.unwrap();
    let deletion = deletion.lock().unwrap().take().unwrap();
    deletion.await.unwrap();
    let migrated = result.unwrap();
    assert_eq!(migrated.retired, ["v1alpha1"]);
    assert!((OBJECTS - 1..=OBJECTS).contains(&(migrated.written + migrated.gone)), "{migrated:?}");
    assert_eq!(scene.stored().await, ["v1alpha2"]);
}

/// The API server reads all objects although it has never heard of v1alpha1.
async fn nothing_of_v1alpha1_is_left(scene: &Scene) {
    let said = scene.as_admin(&[]).await;
    assert_eq!((said.code, said.stdout.as_str()), (0, "nothing to do: only v1alpha2 is stored\n"));
    let mut spec = both_without_a_webhook();
    spec["versions"].as_array_mut().unwrap().pop();
    scene.define(&spec).await;
    scene.until_listed("v1alpha1", false).await;
    let left = scene.objects("v1alpha2").list(&ListParams::default()).await.unwrap();
    assert_eq!(left.items.len(), OBJECTS - 1);
}
