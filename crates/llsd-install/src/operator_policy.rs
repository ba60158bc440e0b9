//! The `ValidatingAdmissionPolicies` that narrow what RBAC cannot: a role lets the operator write objects of
//! a kind or not, these let it write only those that are its own, and none where the cluster itself lives.
//! They judge operators alone, in whichever namespace one runs, so that an administrator applies them once
//! for installs of single namespaces too.

use llsd_api::{GROUP, KIND};
use llsd_plan::objects::{ObjectKind, Role, labels, start_program};
use serde_json::{Value, json};

use crate::names::{
    CONFIG_MAP, KEPT_CONFIG_MAP, OBJECT_POLICY, OPERATOR, SECRET_POLICY, labels as of_installation,
};

/// Both policies, each with its binding.
pub(crate) fn manifests() -> Vec<Value> {
    let policies = [of_secrets(), of_objects()];
    policies.iter().flat_map(|policy| [policy.clone(), binding(policy)]).collect()
}

fn binding(policy: &Value) -> Value {
    let name = &policy["metadata"]["name"];
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name, "labels": of_installation()},
        "spec": {"policyName": name, "validationActions": ["Deny"]},
    })
}

fn policy(name: &str, kinds: impl Iterator<Item = ObjectKind>, rules: &[(&str, String)]) -> Value {
    let resources = kinds.map(|kind| {
        json!({
            "apiGroups": [kind.group()],
            "apiVersions": [kind.version()],
            "operations": ["CREATE", "UPDATE", "DELETE"],
            "resources": [kind.plural()],
        })
    });
    let validations = rules.iter().map(|(expression, message)| {
        json!({"expression": expression, "reason": "Forbidden", "message": message})
    });
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name, "labels": of_installation()},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": resources.collect::<Value>()},
            "matchConditions": [{
                "name": "by-an-operator",
                "expression": format!(
                    "request.userInfo.username.startsWith('system:serviceaccount:') && \
                     request.userInfo.username.endsWith(':{OPERATOR}')"
                ),
            }],
            "variables": [
                // In the operator's own namespace, which may be one of the cluster's.
                {
                    "name": "home",
                    "expression": format!(
                        "request.userInfo.username == \
                         'system:serviceaccount:' + request.namespace + ':{OPERATOR}'"
                    ),
                },
            ],
            "validations": validations.collect::<Value>(),
        },
    })
}

/// Where the cluster's own parts run.
fn elsewhere() -> (&'static str, String) {
    (
        "variables.home || !(request.namespace == 'openshift' || \
         request.namespace.startsWith('kube-') || request.namespace.startsWith('openshift-'))",
        "the operator writes nothing in namespaces of the cluster: kube-* and openshift-*"
            .to_owned(),
    )
}

fn of_secrets() -> Value {
    let label = format!("{}={}", labels::MANAGED_BY, labels::OPERATOR);
    let [old, new] =
        ["oldObject", "object"].map(|object| format!("{object} == null || {}", labelled(object)));
    let rules = [
        elsewhere(),
        (&*old, format!("the operator changes and deletes only Secrets labelled {label}")),
        // Also of a Secret that was ours: without the label it would be out of reach.
        (&*new, format!("the operator writes only Secrets labelled {label}")),
        // The cluster fills in or honours others: a token of any account, a node's way in.
        (
            "object == null || !has(object.type) || object.type in ['Opaque', 'kubernetes.io/tls']",
            "the operator writes only Secrets of the types Opaque and kubernetes.io/tls".to_owned(),
        ),
    ];
    policy(SECRET_POLICY, [ObjectKind::Secret].into_iter(), &rules)
}

/// What is taken over from an earlier operator has its label, or a resource for its owner, too.
fn of_objects() -> Value {
    let whose =
        format!("labelled {}={}, or owned by a {KIND}", labels::MANAGED_BY, labels::OPERATOR);
    let configured = format!(
        "(variables.home && request.resource.resource == 'configmaps' && \
         request.name in ['{CONFIG_MAP}', '{KEPT_CONFIG_MAP}'])"
    );
    let [old, new] = ["oldObject", "object"].map(|object| {
        let (labelled, owned) = (labelled(object), owned(object));
        format!("{object} == null || {configured} || {labelled} || {owned}")
    });
    // A copy of the start programs has no owner, and may have lost its label: the operator gives it back.
    let relabelled = format!(
        "{old} || (request.operation == 'UPDATE' && request.resource.resource == 'configmaps' && \
         request.name.startsWith('{}'))",
        start_program::PREFIX
    );
    let rules = [
        elsewhere(),
        (&*relabelled, format!("the operator changes and deletes only what is {whose}")),
        (&*new, format!("the operator writes only what is {whose}")),
    ];
    let kinds = ObjectKind::ALL.iter().copied();
    let kinds = kinds.filter(|kind| *kind != ObjectKind::Secret && kind.role() != Role::Data);
    policy(OBJECT_POLICY, kinds, &rules)
}

fn labelled(object: &str) -> String {
    let (label, value) = (labels::MANAGED_BY, labels::OPERATOR);
    format!(
        "(has({object}.metadata.labels) && '{label}' in {object}.metadata.labels && \
         {object}.metadata.labels['{label}'] == '{value}')"
    )
}

fn owned(object: &str) -> String {
    format!(
        "(has({object}.metadata.ownerReferences) && {object}.metadata.ownerReferences\
         .exists(o, o.kind == '{KIND}' && o.apiVersion.startsWith('{GROUP}/')))"
    )
}
