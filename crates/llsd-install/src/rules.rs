//! What the operator may do, as rules of a role. Who gets them, and where they hold, stands in `roles`.

use std::collections::{BTreeMap, BTreeSet};

use llsd_plan::objects::{ObjectKind, Role};
use serde_json::{Value, json};

use crate::names::{
    CONFIG_MAP, DEFINITION, IMAGE_KEYS_SECRET, KEPT_CONFIG_MAP, KEY_SECRET, LEASE, METRICS_PATH,
    VALIDATING_WEBHOOK, WEBHOOK_SECRET,
};

const READ: [&str; 3] = ["get", "list", "watch"];

/// What is done in the namespaces of resources.
pub(crate) fn of_resources() -> Vec<Value> {
    // To say why a server does not start.
    let mut rules = vec![rule("apps", &["replicasets"], &["list"])];
    rules.extend(of_owned_objects());
    rules.extend([
        rule("", &["pods"], &["list"]),
        rule("events.k8s.io", &["events"], &["create", "patch", "list"]),
        // A host name of the user's choice counts as a right of its own there.
        rule("route.openshift.io", &["routes/custom-host"], &["create", "update"]),
    ]);
    rules.sort_by_key(|rule| rule["apiGroups"].to_string());
    let of_the_resource = [
        rule("llamastack.io", &["llamastackdistributions"], &READ),
        rule("llamastack.io", &["llamastackdistributions/status"], &["get", "patch"]),
        // Owner references that block the owner's deletion need it where that is enforced.
        rule("llamastack.io", &["llamastackdistributions/finalizers"], &["update"]),
    ];
    of_the_resource.into_iter().chain(rules).collect()
}

/// What is done with owned objects. Kinds of a group with the same verbs share a rule.
fn of_owned_objects() -> impl Iterator<Item = Value> {
    let mut kinds: BTreeMap<_, BTreeSet<&str>> = BTreeMap::new();
    for kind in ObjectKind::ALL {
        let group = (kind.group(), !kind.is_watched(), kind.role() == Role::Data);
        kinds.entry(group).or_default().insert(kind.plural());
    }
    kinds.into_iter().map(|((group, is_unwatched, is_data), plurals)| {
        let mut verbs = vec!["get"];
        verbs.extend((!is_unwatched).then_some(["list", "watch"]).into_iter().flatten());
        // Server-side apply of a new object is a patch that creates; nothing is ever replaced whole.
        verbs.extend(["create", "patch"]);
        // Data is never deleted by the operator; a claim that is owned goes with its owner.
        verbs.extend((!is_data).then_some("delete"));
        rule(group, &Vec::from_iter(plurals), &verbs)
    })
}

/// What a whole cluster has only once: where OpenShift says its mirrors are.
pub(crate) fn of_the_cluster() -> Vec<Value> {
    vec![
        rule("config.openshift.io", &["imagedigestmirrorsets", "imagetagmirrorsets"], &READ),
        rule("operator.openshift.io", &["imagecontentsourcepolicies"], &READ),
    ]
}

/// What the operator does for itself, in its own namespace.
pub(crate) fn of_the_operator() -> Vec<Value> {
    vec![
        // What is created has no name yet that a rule could ask for.
        rule("coordination.k8s.io", &["leases"], &["create"]),
        rule_for_name("coordination.k8s.io", "leases", LEASE, &["get", "update"]),
        // Its configuration is made where there is none, and what of it is in use is kept.
        rule("", &["configmaps"], &["create"]),
        rule_for_name("", "configmaps", CONFIG_MAP, &READ),
        rule_for_name("", "configmaps", KEPT_CONFIG_MAP, &["get", "patch"]),
        rule("events.k8s.io", &["events"], &["create"]),
        rule("", &["secrets"], &["create"]),
        rule_for_name("", "secrets", KEY_SECRET, &["get", "patch"]),
        rule_for_name("", "secrets", IMAGE_KEYS_SECRET, &["get"]),
    ]
}

/// What the webhooks need in the operator's own namespace: their certificates.
pub(crate) fn of_certificates() -> Vec<Value> {
    vec![rule_for_name("", "secrets", WEBHOOK_SECRET, &["get", "patch"])]
}

/// What registers the webhooks: their authorities, in two objects and no others. A watch of one
/// object by its name begins with a list of it.
pub(crate) fn of_registration() -> Vec<Value> {
    let verbs = ["list", "watch", "patch"];
    vec![
        rule_for_name("apiextensions.k8s.io", "customresourcedefinitions", DEFINITION, &verbs),
        rule_for_name(
            "admissionregistration.k8s.io",
            "validatingwebhookconfigurations",
            VALIDATING_WEBHOOK,
            &verbs,
        ),
    ]
}

/// Writing every resource back as it is, and saying that v1alpha1 is no longer stored.
pub(crate) fn of_storage_migration() -> Vec<Value> {
    let (group, definitions) = ("apiextensions.k8s.io", "customresourcedefinitions");
    vec![
        rule_for_name(group, definitions, DEFINITION, &["get"]),
        rule_for_name(group, &format!("{definitions}/status"), DEFINITION, &["patch"]),
        rule("llamastack.io", &["llamastackdistributions"], &["get", "list", "update"]),
    ]
}

/// Asking whose a token is, and whether they may read figures.
pub(crate) fn of_metrics() -> Vec<Value> {
    vec![
        rule("authentication.k8s.io", &["tokenreviews"], &["create"]),
        rule("authorization.k8s.io", &["subjectaccessreviews"], &["create"]),
    ]
}

/// For those who read figures.
pub(crate) fn of_metrics_readers() -> Vec<Value> {
    vec![json!({"nonResourceURLs": [METRICS_PATH], "verbs": ["get"]})]
}

/// The opt-in watch. RBAC knows no right to the metadata alone.
pub(crate) fn of_secret_watch() -> Vec<Value> {
    vec![rule("", &["secrets"], &["list", "watch"])]
}

/// For people who write resources.
pub(crate) fn of_editors() -> Vec<Value> {
    let verbs = ["get", "list", "watch", "create", "update", "patch", "delete"];
    vec![
        rule("llamastack.io", &["llamastackdistributions"], &verbs),
        rule("llamastack.io", &["llamastackdistributions/scale"], &["get", "update", "patch"]),
        rule("llamastack.io", &["llamastackdistributions/status"], &["get"]),
    ]
}

/// For people who look at resources.
pub(crate) fn of_viewers() -> Vec<Value> {
    vec![
        rule("llamastack.io", &["llamastackdistributions"], &READ),
        rule("llamastack.io", &["llamastackdistributions/status"], &["get"]),
    ]
}

fn rule(group: &str, resources: &[&str], verbs: &[&str]) -> Value {
    json!({"apiGroups": [group], "resources": resources, "verbs": verbs})
}

fn rule_for_name(group: &str, resource: &str, name: &str, verbs: &[&str]) -> Value {
    json!({
        "apiGroups": [group],
        "resources": [resource],
        "resourceNames": [name],
        "verbs": verbs,
    })
}
