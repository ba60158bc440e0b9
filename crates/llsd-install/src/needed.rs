//! The rights that the operator cannot do without, one by one, for who checks that a cluster grants them. Those
//! that are somebody's choice, such as the watch of Secrets, are not among them.

use serde_json::Value;

use crate::names::{METRICS_ROLE, OWN_ROLE, ROLE, WEBHOOK_ROLE};
use crate::rules;

/// One verb on one resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NeededRight {
    /// The role that should give it.
    pub role: &'static str,
    pub verb: String,
    pub group: String,
    /// With its subresource behind a slash.
    pub resource: String,
    /// The one object that it is about; any, where there is none.
    pub name: Option<String>,
    /// Where it holds; in all namespaces, where there is none.
    pub namespace: Option<String>,
}

/// The rights of an operator in this namespace that watches these ones; all, where there is none.
pub fn needed_rights(operator: &str, watched: &[String]) -> Vec<NeededRight> {
    let own = Some(operator.to_owned());
    let mut rights = flat(OWN_ROLE[0], &rules::of_the_operator(), own.as_ref());
    if watched.is_empty() {
        rights.extend(flat(OWN_ROLE[0], &rules::of_certificates(), own.as_ref()));
        let of_resources = [rules::of_resources(), rules::of_the_cluster()].concat();
        rights.extend(flat(ROLE[0], &of_resources, None));
        rights.extend(flat(WEBHOOK_ROLE[0], &rules::of_registration(), None));
        rights.extend(flat(METRICS_ROLE[0], &rules::of_metrics(), None));
    }
    for namespace in watched {
        rights.extend(flat(ROLE[0], &rules::of_resources(), Some(namespace)));
    }
    rights
}

fn flat(role: &'static str, rules: &[Value], namespace: Option<&String>) -> Vec<NeededRight> {
    let mut rights = Vec::new();
    for rule in rules {
        let names = match words(&rule["resourceNames"]).as_slice() {
            [] => vec![None],
            names => names.iter().cloned().map(Some).collect(),
        };
        for group in words(&rule["apiGroups"]) {
            for resource in words(&rule["resources"]) {
                for verb in words(&rule["verbs"]) {
                    rights.extend(names.iter().map(|name| NeededRight {
                        role,
                        verb: verb.clone(),
                        group: group.clone(),
                        resource: resource.clone(),
                        name: name.clone(),
                        namespace: namespace.cloned(),
                    }));
                }
            }
        }
    }
    rights
}

fn words(list: &Value) -> Vec<String> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operator_of_namespaces_needs_nothing_of_the_cluster() {
        let watched = ["team-a".to_owned(), "team-b".to_owned()];
        let rights = needed_rights("operators", &watched);
        let places = ["operators", "team-a", "team-b"];
        assert!(rights.iter().all(|it| places.contains(&it.namespace.as_deref().unwrap())));
        let whole = needed_rights("operators", &[]);
        let of_cluster = |verb: &str, resource: &str| {
            whole
                .iter()
                .any(|it| it.verb == verb && it.resource == resource && it.namespace.is_none())
        };
        assert!(
            of_cluster("patch", "deployments") && of_cluster("patch", "customresourcedefinitions")
        );
        assert!(!of_cluster("watch", "secrets"), "it is a choice");
    }
}
