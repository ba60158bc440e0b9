//! The `ValidatingAdmissionPolicy` that narrows what RBAC cannot: a role lets the operator write
//! Secrets or not, this lets it write only those that are its own. It judges the operator alone.

use llsd_plan::objects::labels;
use serde_json::{Value, json};

use crate::names::{SECRET_POLICY, labels as of_installation, user};

/// The policy for an operator in `namespace`, and its binding.
pub(crate) fn manifests(namespace: &str) -> [Value; 2] {
    [policy(namespace), binding()]
}

fn binding() -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": SECRET_POLICY, "labels": of_installation()},
        "spec": {"policyName": SECRET_POLICY, "validationActions": ["Deny"]},
    })
}

fn policy(namespace: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": SECRET_POLICY, "labels": of_installation()},
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": {"resourceRules": [{
                "apiGroups": [""],
                "apiVersions": ["v1"],
                "operations": ["CREATE", "UPDATE", "DELETE"],
                "resources": ["secrets"],
            }]},
            "matchConditions": [{
                "name": "by-the-operator",
                "expression": format!("request.userInfo.username == '{}'", user(namespace)),
            }],
            "validations": [
                {
                    "expression": ours("oldObject"),
                    "reason": "Forbidden",
                    "message": format!(
                        "the operator changes and deletes only Secrets labelled {}={}",
                        labels::MANAGED_BY, labels::OPERATOR,
                    ),
                },
                // Also of a Secret that was ours: without the label it would be out of reach.
                {
                    "expression": ours("object"),
                    "reason": "Forbidden",
                    "message": format!(
                        "the operator writes only Secrets labelled {}={}",
                        labels::MANAGED_BY, labels::OPERATOR,
                    ),
                },
                // The cluster fills in or honours others: a token of any account, a node's way in.
                {
                    "expression": "object == null || !has(object.type) || \
                                   object.type in ['Opaque', 'kubernetes.io/tls']",
                    "reason": "Forbidden",
                    "message": "the operator writes only Secrets of the types Opaque and \
                                kubernetes.io/tls",
                },
            ],
        },
    })
}

fn ours(object: &str) -> String {
    let (label, value) = (labels::MANAGED_BY, labels::OPERATOR);
    format!(
        "{object} == null || (has({object}.metadata.labels) && \
         '{label}' in {object}.metadata.labels && \
         {object}.metadata.labels['{label}'] == '{value}')"
    )
}
