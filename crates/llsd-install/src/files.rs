//! Which install files there are, and in which order they are applied.

use llsd_api::{crd, policy};
use serde_json::json;

use crate::file::File;
use crate::names::NAMESPACE;
use crate::roles::{self, Scope};
use crate::{manager, secret_policy, variants, webhook};

/// All files of the repository, those that are somebody's choice included.
pub fn files() -> Vec<File> {
    let mut files = cluster_wide();
    files.push(kustomization("kustomization.yaml", &files));
    files.push(secret_watch(NAMESPACE, Scope::Cluster));
    files.push(File {
        name: "storage-migration.yaml",
        purpose: "A choice: lets the operator rewrite what v0.9 stored.",
        objects: roles::storage_migration(NAMESPACE),
    });
    let namespaced = namespaced(NAMESPACE);
    files.push(kustomization("namespaced/kustomization.yaml", &namespaced));
    files.extend(namespaced);
    files.push(secret_watch(NAMESPACE, Scope::Namespace));
    files.extend(variants::files(NAMESPACE));
    files
}

/// An operator for all namespaces, in the order in which the files are applied.
pub fn cluster_wide() -> Vec<File> {
    vec![
        File {
            name: "crd.yaml",
            purpose: "The LlamaStackDistribution resource, both versions.",
            objects: vec![crd::manifest()],
        },
        File {
            name: "policy.yaml",
            purpose: "Admission rules that the resource definition cannot hold.",
            objects: policy::manifests().into(),
        },
        File {
            name: "namespace.yaml",
            purpose: "The namespace of the operator.",
            objects: vec![manager::namespace(NAMESPACE)],
        },
        File {
            name: "rbac.yaml",
            purpose: "What the operator may do, in all namespaces and in its own.",
            objects: roles::all(NAMESPACE, Scope::Cluster),
        },
        File {
            name: "secret-policy.yaml",
            purpose: "Keeps the operator from writing Secrets that are not its own.",
            objects: secret_policy::manifests(NAMESPACE).into(),
        },
        File {
            name: "webhook.yaml",
            purpose: "The operator's webhooks: their Service, and the validating one.",
            objects: webhook::all(NAMESPACE),
        },
        File {
            name: "manager.yaml",
            purpose: "The operator, for all namespaces.",
            objects: manager::all(NAMESPACE, Scope::Cluster),
        },
    ]
}

/// An operator that runs in one namespace and watches that one alone, in the order in which the
/// files are applied. The resource and its admission rules are the cluster's, and not among them.
pub fn namespaced(namespace: &str) -> Vec<File> {
    vec![
        File {
            name: "namespaced/rbac.yaml",
            purpose: "What the operator may do, in its own namespace alone.",
            objects: roles::all(namespace, Scope::Namespace),
        },
        File {
            name: "namespaced/manager.yaml",
            purpose: "The operator, for its own namespace alone.",
            objects: manager::all(namespace, Scope::Namespace),
        },
    ]
}

fn secret_watch(namespace: &str, scope: Scope) -> File {
    let name = match scope {
        Scope::Cluster => "secret-watch.yaml",
        Scope::Namespace => "namespaced/secret-watch.yaml",
    };
    File {
        name,
        purpose: "A choice: lets the operator see at once that a Secret changed.",
        objects: roles::secret_watch(namespace, scope),
    }
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
    File { name, purpose: "What `kubectl apply -k` installs.", objects: vec![object] }
}
