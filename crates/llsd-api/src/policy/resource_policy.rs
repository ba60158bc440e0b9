//! What the policies on the resource have in common: what they match, and how they are written and bound.

use serde_json::{Value, json};

use crate::{GROUP, PLURAL};

/// The name of the policy on the resource's form, and of its binding.
pub const NAME: &str = "llamastackdistributions.llamastack.io";
/// The same of the policy on what requires permission to create pods.
pub const PODS: &str = "pods.llamastackdistributions.llamastack.io";
/// The same of the policy on Secrets that are named.
pub const SECRETS: &str = "secrets.llamastackdistributions.llamastack.io";

/// Whether an entry `n` of a provider takes one of the base away, in CEL.
pub(super) const REMOVAL: &str = "has(n.entry.enabled) && n.entry.enabled == false";

/// What differs from policy to policy.
pub(super) struct ResourcePolicy {
    pub(super) name: &'static str,
    pub(super) actions: &'static [&'static str],
    pub(super) match_conditions: Value,
    pub(super) variables: Value,
    pub(super) validations: Value,
}

impl ResourcePolicy {
    pub(super) fn binding(&self) -> Value {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": self.name},
            "spec": {"policyName": self.name, "validationActions": self.actions},
        })
    }

    /// Requests in v1alpha1 are judged as well, after conversion.
    pub(super) fn to_json(&self) -> Value {
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": self.name},
            "spec": {
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": [{
                    "apiGroups": [GROUP],
                    "apiVersions": ["v1alpha2"],
                    "operations": ["CREATE", "UPDATE"],
                    "resources": [PLURAL],
                }]},
                "matchConditions": self.match_conditions,
                "variables": self.variables,
                "validations": self.validations,
            },
        })
    }
}

pub(super) fn variable(name: &str, expression: &str) -> Value {
    json!({"name": name, "expression": expression})
}
