//! What no role allows, read from the words in which the API server refuses it. A refusal by anybody
//! else, such as a quota or a webhook, has the same code and other words.

use std::fmt;

/// A request that no role allows.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Denial {
    pub verb: String,
    /// The API group; empty for the core one.
    pub group: String,
    /// The plural, with a subresource behind a slash.
    pub resource: String,
    /// Without one the whole cluster was asked for.
    pub namespace: Option<String>,
}

impl Denial {
    /// From the message of an answer with code 403; nothing where it was not for want of a right.
    pub fn parse(message: &str) -> Option<Self> {
        let (_, refused) = message.split_once("\" cannot ")?;
        let (verb, rest) = refused.split_once(" resource \"")?;
        let (resource, rest) = rest.split_once("\" in API group \"")?;
        let (group, place) = rest.split_once('"')?;
        let namespace = place.strip_prefix(" in the namespace \"");
        let namespace = namespace.and_then(|named| Some(named.split_once('"')?.0.to_owned()));
        Some(Self {
            verb: verb.to_owned(),
            group: group.to_owned(),
            resource: resource.to_owned(),
            namespace,
        })
    }

    /// As a lack of the operator's role, which is named as `ClusterRole manager`.
    pub fn of_operator(&self, role: &str) -> String {
        format!("the operator may not {self}: {role} lacks it")
    }

    /// As a lack of whoever calls the command line.
    pub fn of_caller(&self) -> String {
        format!("you may not {self}")
    }
}

/// As `list deployments.apps in namespace team`.
impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { verb, group, resource, namespace } = self;
        write!(f, "{verb} {resource}")?;
        if !group.is_empty() {
            write!(f, ".{group}")?;
        }
        match namespace {
            Some(namespace) => write!(f, " in namespace {namespace}"),
            None => f.write_str(" in all namespaces"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: &str = "system:serviceaccount:operators:manager";

    #[test]
    fn a_denial_names_verb_resource_and_namespace() {
        let message = format!(
            "deployments.apps \"llama\" is forbidden: User \"{USER}\" cannot patch resource \
             \"deployments\" in API group \"apps\" in the namespace \"team\": RBAC: role \
             \"manager\" not found"
        );
        let denial = Denial::parse(&message).unwrap();
        assert_eq!(
            denial.of_operator("ClusterRole manager"),
            "the operator may not patch deployments.apps in namespace team: ClusterRole manager \
             lacks it"
        );
        let message = format!(
            "pods is forbidden: User \"{USER}\" cannot list resource \"pods\" in API group \"\" at \
             the cluster scope"
        );
        let denial = Denial::parse(&message).unwrap();
        assert_eq!(denial.of_caller(), "you may not list pods in all namespaces");
    }

    #[test]
    fn a_refusal_of_somebody_else_is_no_denial() {
        for message in [
            "pods \"llama\" is forbidden: exceeded quota: small, requested: pods=1",
            "services \"llama\" is forbidden: unable to create new content in namespace team \
             because it is being terminated",
            "admission webhook \"policy.example.com\" denied the request: no",
            "",
        ] {
            assert_eq!(Denial::parse(message), None, "{message}");
        }
    }
}
