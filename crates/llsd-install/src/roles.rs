//! The operator's account, its roles and their bindings, and roles for the users of the resource.

use serde_json::{Value, json};

use crate::names::{
    EDITOR, METRICS_READER, METRICS_ROLE, NAMESPACE, OPERATOR, OWN_ROLE, ROLE, SECRET_WATCH,
    STORAGE_MIGRATION, VIEWER, WEBHOOK_ROLE, labels,
};
use crate::rules;

const API: &str = "rbac.authorization.k8s.io/v1";

/// Where the operator's rights hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Scope {
    /// In all namespaces.
    Cluster,
    /// In the operator's own namespace alone; then there is no role of the cluster at all.
    Namespace,
}

/// The account, and all roles and bindings that the operator needs.
pub(crate) fn all(namespace: &str, scope: Scope) -> Vec<Value> {
    let mut of_resources = rules::of_resources();
    let mut of_the_operator = rules::of_the_operator();
    if scope == Scope::Cluster {
        of_resources.extend(rules::of_the_cluster());
        of_the_operator.extend(rules::of_certificates());
    }
    let mut objects = vec![account(OPERATOR, namespace)];
    objects.extend(granted(ROLE, &of_resources, namespace, scope));
    objects.extend(granted(OWN_ROLE, &of_the_operator, namespace, Scope::Namespace));
    if scope == Scope::Cluster {
        objects.extend(granted(WEBHOOK_ROLE, &rules::of_registration(), namespace, scope));
        objects.extend(granted(METRICS_ROLE, &rules::of_metrics(), namespace, scope));
        objects.push(for_metrics_readers());
    }
    objects.extend(for_users(namespace, scope));
    objects
}

/// The right to see at once that a Secret changed.
pub(crate) fn secret_watch(namespace: &str, scope: Scope) -> Vec<Value> {
    granted(SECRET_WATCH, &rules::of_secret_watch(), namespace, scope).into()
}

/// The rights to rewrite what v0.9 stored.
pub(crate) fn storage_migration(namespace: &str) -> Vec<Value> {
    let rules = rules::of_storage_migration();
    granted(STORAGE_MIGRATION, &rules, namespace, Scope::Cluster).into()
}

/// The role of users who read figures, which administrators bind.
pub(crate) fn for_metrics_readers() -> Value {
    role(METRICS_READER, &rules::of_metrics_readers(), NAMESPACE, Scope::Cluster)
}

/// An account that may read figures and nothing else, with a token that stays: what Prometheus shows.
pub(crate) fn metrics_reader(namespace: &str) -> Vec<Value> {
    let mut token_metadata = Scope::Namespace.metadata(METRICS_READER, namespace);
    token_metadata["annotations"] = json!({"kubernetes.io/service-account.name": METRICS_READER});
    vec![
        account(METRICS_READER, namespace),
        json!({
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": token_metadata,
            "type": "kubernetes.io/service-account-token",
        }),
        bound([METRICS_READER; 2], METRICS_READER, namespace, Scope::Cluster),
    ]
}

fn account(name: &str, namespace: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": Scope::Namespace.metadata(name, namespace),
    })
}

/// A role, and the binding that gives it to the operator.
fn granted(
    [name, binding]: [&str; 2],
    rules: &[Value],
    namespace: &str,
    scope: Scope,
) -> [Value; 2] {
    [role(name, rules, namespace, scope), bound([name, binding], OPERATOR, namespace, scope)]
}

/// A binding, by its name, that gives a role to an account.
fn bound([role, name]: [&str; 2], account: &str, namespace: &str, scope: Scope) -> Value {
    let kind = scope.role();
    json!({
        "apiVersion": API,
        "kind": format!("{kind}Binding"),
        "metadata": scope.metadata(name, namespace),
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": role},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": namespace}],
    })
}

/// In a cluster these become part of its own roles `edit`, `admin` and `view`. A role of one
/// namespace cannot do that, and is there to be bound.
fn for_users(namespace: &str, scope: Scope) -> [Value; 2] {
    let mut editor = role(EDITOR, &rules::of_editors(), namespace, scope);
    let mut viewer = role(VIEWER, &rules::of_viewers(), namespace, scope);
    if scope == Scope::Cluster {
        editor["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-admin"] =
            json!("true");
        editor["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-edit"] = json!("true");
        viewer["metadata"]["labels"]["rbac.authorization.k8s.io/aggregate-to-view"] = json!("true");
    }
    [editor, viewer]
}

fn role(name: &str, rules: &[Value], namespace: &str, scope: Scope) -> Value {
    json!({
        "apiVersion": API,
        "kind": scope.role(),
        "metadata": scope.metadata(name, namespace),
        "rules": rules,
    })
}

impl Scope {
    fn role(self) -> &'static str {
        match self {
            Self::Cluster => "ClusterRole",
            Self::Namespace => "Role",
        }
    }

    fn metadata(self, name: &str, namespace: &str) -> Value {
        match self {
            Self::Cluster => json!({"name": name, "labels": labels()}),
            Self::Namespace => json!({"name": name, "namespace": namespace, "labels": labels()}),
        }
    }
}
