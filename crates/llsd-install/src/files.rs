//! Which install files there are, and in which order they are applied.

use llsd_api::{crd, policy};
use llsd_plan::objects::DEFAULT_OPERATOR_IMAGE;
use serde_json::json;

use crate::file::File;
use crate::names::NAMESPACE;
use crate::roles::{self, Scope};
use crate::{manager, monitoring, network_policy, operator_policy, variants, webhook};

const POLICY_PURPOSE: &str = "Who may connect to the operator.";

/// Which operator is installed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Install<'a> {
    /// Its image; the sidecar of a server runs it too.
    pub image: &'a str,
    /// The one namespace in which it runs and which it watches; all, where there is none.
    pub namespace: Option<&'a str>,
}

impl Install<'_> {
    /// The files in the order in which they are applied.
    pub fn files(&self) -> Vec<File> {
        match self.namespace {
            Some(namespace) => of_one_namespace(namespace, self.image),
            None => of_the_cluster(self.image),
        }
    }
}

/// All files of the repository, those that are somebody's choice included.
pub fn files() -> Vec<File> {
    let mut files = cluster_wide();
    files.push(kustomization("kustomization.yaml", &files));
    files.push(secret_watch(NAMESPACE, Scope::Cluster));
    files.push(File::new(
        "storage-migration.yaml",
        "A choice: lets the operator rewrite what v0.9 stored.",
        roles::storage_migration(NAMESPACE),
    ));
    let namespaced = namespaced(NAMESPACE);
    files.push(kustomization("namespaced/kustomization.yaml", &namespaced));
    files.extend(namespaced);
    files.push(secret_watch(NAMESPACE, Scope::Namespace));
    files.extend(variants::files(NAMESPACE));
    files.extend(monitoring::files(NAMESPACE));
    files
}

/// An operator for all namespaces, in the order in which the files are applied.
pub fn cluster_wide() -> Vec<File> {
    of_the_cluster(DEFAULT_OPERATOR_IMAGE)
}

fn of_the_cluster(image: &str) -> Vec<File> {
    vec![
        File::new(
            "crd.yaml",
            "The LlamaStackDistribution resource, both versions.",
            vec![crd::manifest()],
        ),
        File::new(
            "policy.yaml",
            "Admission rules that the resource definition cannot hold.",
            policy::manifests(),
        ),
        File::new(
            "operator-policy.yaml",
            "Keeps operators from writing what is not their own.",
            operator_policy::manifests(),
        ),
        File::new(
            "namespace.yaml",
            "The namespace of the operator.",
            vec![manager::namespace(NAMESPACE)],
        ),
        File::new(
            "rbac.yaml",
            "What the operator may do, in all namespaces and in its own.",
            roles::all(NAMESPACE, Scope::Cluster),
        ),
        File::new(
            "webhook.yaml",
            "The operator's webhooks: their Service, and the validating ones.",
            webhook::all(NAMESPACE),
        ),
        File::new("network-policy.yaml", POLICY_PURPOSE, network_policy::all(NAMESPACE)),
        File::new(
            "manager.yaml",
            "The operator, for all namespaces.",
            manager::all(NAMESPACE, Scope::Cluster, image),
        ),
    ]
}

/// An operator that runs in one namespace and watches that one alone, in the order in which the
/// files are applied. The resource and its admission rules are the cluster's, and not among them.
pub fn namespaced(namespace: &str) -> Vec<File> {
    of_one_namespace(namespace, DEFAULT_OPERATOR_IMAGE)
}

fn of_one_namespace(namespace: &str, image: &str) -> Vec<File> {
    vec![
        File::new(
            "namespaced/rbac.yaml",
            "What the operator may do, in its own namespace alone.",
            roles::all(namespace, Scope::Namespace),
        ),
        File::new("namespaced/network-policy.yaml", POLICY_PURPOSE, network_policy::all(namespace)),
        File::new(
            "namespaced/manager.yaml",
            "The operator, for its own namespace alone.",
            manager::all(namespace, Scope::Namespace, image),
        ),
    ]
}

fn secret_watch(namespace: &str, scope: Scope) -> File {
    let name = match scope {
        Scope::Cluster => "secret-watch.yaml",
        Scope::Namespace => "namespaced/secret-watch.yaml",
    };
    File::new(
        name,
        "A choice: lets the operator see at once that a Secret changed.",
        roles::secret_watch(namespace, scope),
    )
}

/// `kubectl apply -k` takes these files and leaves the choices out.
fn kustomization(name: &'static str, files: &[File]) -> File {
    let resources: Vec<&str> =
        files.iter().map(|file| file.name.rsplit('/').next().unwrap_or(file.name)).collect();
    let object = json!({
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "resources": resources,
    });
    File::new(name, "What `kubectl apply -k` installs.", vec![object])
}
