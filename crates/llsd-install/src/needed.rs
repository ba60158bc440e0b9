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

/// What an operator is set up to do, which decides about the rights that it needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OperatorSetup {
    /// The namespace that it runs in.
    pub namespace: String,
    /// The namespaces that it watches; if empty, it watches all.
    pub watched: Vec<String>,
    /// Whether it makes the certificates of its webhooks itself.
    pub makes_certificates: bool,
    /// Whether it tells the API server where its webhooks are and whom to trust there.
    pub registers_webhooks: bool,
    /// Whether it asks the API server who reads its figures.
    pub authenticates_readers: bool,
}

impl OperatorSetup {
    /// As the install files for the whole cluster have it.
    pub fn by_default(namespace: &str) -> Self {
        Self {
            namespace: namespace.to_owned(),
            watched: Vec::new(),
            makes_certificates: true,
            registers_webhooks: true,
            authenticates_readers: true,
        }
    }
}

/// The rights of an operator that is set up so.
pub fn needed_rights(operator: &OperatorSetup) -> Vec<NeededRight> {
    let own = Some(&operator.namespace);
    let mut rights = flat(OWN_ROLE[0], &rules::of_the_operator(), own);
    if operator.makes_certificates {
        rights.extend(flat(OWN_ROLE[0], &rules::of_certificates(), own));
    }
    if operator.watched.is_empty() {
        let of_resources = [rules::of_resources(), rules::of_the_cluster()].concat();
        rights.extend(flat(ROLE[0], &of_resources, None));
    }
    for namespace in &operator.watched {
        rights.extend(flat(ROLE[0], &rules::of_resources(), Some(namespace)));
    }
    if operator.registers_webhooks {
        rights.extend(flat(WEBHOOK_ROLE[0], &rules::of_registration(), None));
    }
    if operator.authenticates_readers {
        rights.extend(flat(METRICS_ROLE[0], &rules::of_metrics(), None));
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
        let of_two = OperatorSetup {
            watched: vec!["team-a".to_owned(), "team-b".to_owned()],
            makes_certificates: false,
            registers_webhooks: false,
            authenticates_readers: false,
            ..OperatorSetup::by_default("operators")
        };
        let rights = needed_rights(&of_two);
        let places = ["operators", "team-a", "team-b"];
        assert!(rights.iter().all(|it| places.contains(&it.namespace.as_deref().unwrap())));
        let whole = needed_rights(&OperatorSetup::by_default("operators"));
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

    #[test]
    fn what_an_operator_does_not_do_takes_no_right() {
        let whole = OperatorSetup::by_default("operators");
        let lost = |setup: OperatorSetup| {
            let left = needed_rights(&setup);
            let lost = needed_rights(&whole).into_iter().filter(|it| !left.contains(it));
            let mut lost: Vec<String> = lost.map(|it| it.resource).collect();
            lost.dedup();
            lost
        };
        let foreign_certificates =
            OperatorSetup { makes_certificates: false, registers_webhooks: false, ..whole.clone() };
        assert_eq!(
            lost(foreign_certificates),
            ["secrets", "customresourcedefinitions", "validatingwebhookconfigurations"]
        );
        let open_figures = OperatorSetup { authenticates_readers: false, ..whole.clone() };
        assert_eq!(lost(open_figures), ["tokenreviews", "subjectaccessreviews"]);
        assert_eq!(lost(whole.clone()), [""; 0]);
    }
}
