//! Labels and annotations of the owned objects.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

pub const APP: &str = "app";
pub const INSTANCE: &str = "app.kubernetes.io/instance";
pub const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
pub const PART_OF: &str = "app.kubernetes.io/part-of";
pub const COMPONENT: &str = "app.kubernetes.io/component";
/// v0.9 watches only what carries it, so a step back to v0.9 still sees its objects.
pub const WATCH: &str = "llamastack.io/watch";

/// The value of [`COMPONENT`] on a namespace's copy of the programs that start servers.
pub const START_PROGRAM: &str = "start-program";

/// The value of [`MANAGED_BY`].
pub const OPERATOR: &str = "llama-stack-operator";

/// The label of every object of an installation of the operator, in v0.9 too.
pub const OF_INSTALLATION: (&str, &str) = ("app.kubernetes.io/name", "llama-stack-k8s-operator");
/// What the operator's own pods carry, in v0.9 too. One of the two alone is on pods of other operators.
pub const OPERATOR_PODS: [(&str, &str); 2] =
    [OF_INSTALLATION, ("control-plane", "controller-manager")];
const LLAMA_STACK: &str = "llama-stack";

/// Hash of the server's configuration.
pub const CONFIG_HASH: &str = "llamastack.io/config-hash";
/// On the record of a resource's images: the operator's own hash of it.
pub const IMAGES_HASH: &str = "llamastack.io/images-hash";
/// Hash over the hashes of all secrets that the server reads.
pub const SECRET_HASH: &str = "llamastack.io/secret-hash";
/// Hash over everything that variables of the user's own are made from.
pub const VARIABLES_HASH: &str = "llamastack.io/variables-hash";
/// On a Deployment: the state of the resource that it was planned for. As long as the two agree, an
/// image keeps its digest and an adopted Deployment its template.
pub const PLANNED_FOR: &str = "llamastack.io/planned-for";
/// On a Deployment: what of the resource's own its template was made from ([`crate::resource::template_inputs`]).
pub const INPUTS: &str = "llamastack.io/inputs";
/// On a Deployment: a fingerprint of the template that was planned when it was last applied.
pub const TEMPLATE_HASH: &str = "llamastack.io/template-hash";
/// On a Deployment: the pod-template-hash of the last template that was available for a while.
pub const LAST_GOOD: &str = "llamastack.io/last-good";
/// On a Deployment: the inputs from which that template was made.
pub const LAST_GOOD_INPUTS: &str = "llamastack.io/last-good-inputs";
/// On a Deployment, while pods of the template before still serve: how they listen.
pub const SERVES: &str = "llamastack.io/serves";
/// On a Deployment whose template was made while no pod was wanted, until one of it was available.
pub const UNPROVEN: &str = "llamastack.io/unproven";
/// On a Deployment that another installation of the operator managed before: which, by its key, and when it
/// was taken over.
pub const TAKEN_OVER: &str = "llamastack.io/taken-over";
/// On a Deployment whose template is one of before: which, instead of which, and why.
pub const ROLLED_BACK: &str = "llamastack.io/rolled-back";
/// On a Deployment: which change of inputs that several resources share has reached it.
pub const WAVE: &str = "llamastack.io/wave";
/// On a Deployment: the Secrets with connection strings that were made for its pods and are still there.
pub const STORAGE_SECRETS: &str = "llamastack.io/storage-secrets";
/// Kubernetes' own hash of a template, on the pods and ReplicaSets that are made from it.
pub const POD_TEMPLATE_HASH: &str = "pod-template-hash";
/// On a Deployment of an earlier operator, as long as its template is still that operator's.
pub const ADOPTED: &str = "llamastack.io/adopted";
/// On a Deployment of an earlier operator: the image by which the operator's ConfigMap replaced that of
/// its distribution when it was taken over.
pub const ADOPTED_OVERRIDE: &str = "llamastack.io/adopted-image-override";
/// On the ConfigMap with a server's certificate authorities: proof, which only the operator can make,
/// that the server runs with those of another namespace.
pub const CA_BUNDLE_GRANT: &str = "llamastack.io/ca-bundle-grant";
/// Hash of the user's own configuration, under v0.9's name.
pub const USER_CONFIG_HASH: &str = "configmap.hash/user-config";
/// Hash of the trusted certificates, under v0.9's name.
pub const CA_BUNDLE_HASH: &str = "configmap.hash/ca-bundle";

/// What pods carry of what their server reads only when it starts; their Deployment carries the same.
pub const HASHES: [&str; 5] =
    [CONFIG_HASH, USER_CONFIG_HASH, SECRET_HASH, VARIABLES_HASH, CA_BUNDLE_HASH];

/// The init container that waits for models.
pub const WAIT_FOR_MODELS: &str = "wait-for-models";

/// What a Deployment says of the template that it has, and of the one before.
pub const RECORDS: [&str; 7] =
    [PLANNED_FOR, INPUTS, TEMPLATE_HASH, LAST_GOOD, LAST_GOOD_INPUTS, UNPROVEN, ROLLED_BACK];

/// Those of them that say which template was the last good one.
pub const OF_LAST_GOOD: [&str; 2] = [LAST_GOOD, LAST_GOOD_INPUTS];

/// The init container that brings the installer of external providers into the pod.
pub const PREPARE_INSTALLER: &str = "prepare-installer";
/// The one in which the server's image says what it is.
pub const DESCRIBE_SERVER: &str = "describe-server";

/// The container of the Redis sidecar.
pub const REDIS_SIDECAR: &str = "redis-proxy";

/// What the Deployment selects its pods by. A Deployment's selector can never change, and v0.9's
/// is this one.
pub fn selector(resource: &str) -> BTreeMap<String, String> {
    [(APP, LLAMA_STACK), (INSTANCE, resource)].map(owned).into()
}

/// The same as the text of a query.
pub fn selector_text(resource: &str) -> String {
    let labels = selector(resource).into_iter();
    labels.map(|(label, value)| format!("{label}={value}")).collect::<Vec<_>>().join(",")
}

/// The same as a selector of other objects.
pub(super) fn selecting_pods(resource: &str) -> LabelSelector {
    LabelSelector { match_labels: Some(selector(resource)), ..Default::default() }
}

/// Labels of every owned object.
pub fn of_objects(resource: &str) -> BTreeMap<String, String> {
    let mut labels = selector(resource);
    labels.extend([(MANAGED_BY, OPERATOR), (PART_OF, LLAMA_STACK), (WATCH, "true")].map(owned));
    labels
}

/// Those labels, and what the object is for.
pub(super) fn of_component(resource: &str, component: &str) -> BTreeMap<String, String> {
    let mut labels = of_objects(resource);
    labels.insert(COMPONENT.into(), component.into());
    labels
}

/// Labels of an object that the resources of a namespace share.
pub(super) fn of_shared(component: &str) -> BTreeMap<String, String> {
    [(MANAGED_BY, OPERATOR), (PART_OF, LLAMA_STACK), (COMPONENT, component)].map(owned).into()
}

fn owned((key, value): (&str, &str)) -> (String, String) {
    (key.into(), value.into())
}
