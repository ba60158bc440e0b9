//! Which role of the install files gives the operator a right, for whoever tells that it is lacking.

use serde_json::Value;

use crate::names::{METRICS_ROLE, OWN_ROLE, ROLE, SECRET_WATCH, STORAGE_MIGRATION, WEBHOOK_ROLE};
use crate::rules;

/// A role of the operator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GrantingRole {
    pub name: &'static str,
    /// It holds in the operator's own namespace alone, however the operator is installed.
    pub is_of_the_operator: bool,
}

/// The role that should allow it. A right that no file gives is one that the role for resources lacks.
pub fn granting_role(verb: &str, group: &str, resource: &str) -> GrantingRole {
    let of_roles = [
        (ROLE, [rules::of_resources(), rules::of_the_cluster()].concat(), false),
        (OWN_ROLE, [rules::of_the_operator(), rules::of_certificates()].concat(), true),
        (SECRET_WATCH, rules::of_secret_watch(), false),
        (WEBHOOK_ROLE, rules::of_registration(), false),
        (STORAGE_MIGRATION, rules::of_storage_migration(), false),
        (METRICS_ROLE, rules::of_metrics(), false),
    ];
    let granting = of_roles.into_iter().find(|(_, rules, _)| {
        rules.iter().any(|rule| {
            has(&rule["apiGroups"], group)
                && has(&rule["resources"], resource)
                && has(&rule["verbs"], verb)
        })
    });
    let ([name, _], is_of_the_operator) =
        granting.map_or((ROLE, false), |(role, _, own)| (role, own));
    GrantingRole { name, is_of_the_operator }
}

fn has(list: &Value, item: &str) -> bool {
    list.as_array().is_some_and(|list| list.iter().any(|known| known == item))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_that_lacks_a_right_is_the_one_whose_file_has_it() {
        for (verb, group, resource, role) in [
            ("patch", "apps", "deployments", "llama-stack-k8s-operator-manager-role"),
            ("list", "", "pods", "llama-stack-k8s-operator-manager-role"),
            ("get", "", "secrets", "llama-stack-k8s-operator-manager-role"),
            ("watch", "", "secrets", "llama-stack-k8s-operator-secret-watch-role"),
            (
                "update",
                "coordination.k8s.io",
                "leases",
                "llama-stack-k8s-operator-leader-election-role",
            ),
            (
                "update",
                "llamastack.io",
                "llamastackdistributions",
                "llama-stack-k8s-operator-storage-migration-role",
            ),
            ("dance", "nobody", "serves-it", "llama-stack-k8s-operator-manager-role"),
        ] {
            assert_eq!(granting_role(verb, group, resource).name, role, "{verb} {resource}");
        }
    }
}
