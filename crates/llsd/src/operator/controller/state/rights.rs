//! Rights that are lacking: which role should give the operator one that the API server refused, and what
//! was refused while one resource was worked on.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use llsd_install::{GrantingRole, granting_role};
use llsd_plan::live::rbac_denial::Denial;
use llsd_plan::status::Limitation;

use crate::operator::controller::state::scope::Scope;

/// Whose rights they are.
#[derive(Clone, Debug)]
pub enum Rights {
    /// The operator's, whose roles differ by how it is installed.
    OfOperator { scope: Scope, operator_namespace: String },
    /// Those of whoever calls the command line.
    OfCaller,
}

impl Rights {
    /// What a failed request was refused for and the role that lacks it, in a sentence; nothing where
    /// it failed for another reason.
    pub fn lacking(&self, error: &kube::Error) -> Option<String> {
        let kube::Error::Api(status) = error else { return None };
        let denial = Denial::parse(&status.message).filter(|_| status.code == 403)?;
        Some(self.sentence(&denial))
    }

    pub fn sentence(&self, denial: &Denial) -> String {
        match self {
            Self::OfOperator { scope, operator_namespace } => {
                denial.of_operator(&role(scope, operator_namespace, denial))
            }
            Self::OfCaller => denial.of_caller(),
        }
    }
}

/// The role that should give a right, named as kubectl would find it.
fn role(scope: &Scope, operator_namespace: &str, denial: &Denial) -> String {
    let GrantingRole { name, is_of_the_operator } =
        granting_role(&denial.verb, &denial.group, &denial.resource);
    match (scope, &denial.namespace) {
        _ if is_of_the_operator => format!("Role {name} of namespace {operator_namespace}"),
        (Scope::Namespaces(_), Some(namespace)) => {
            format!("Role {name} of namespace {namespace}")
        }
        (Scope::Cluster | Scope::Namespaces(_), _) => format!("ClusterRole {name}"),
    }
}

/// What was refused while one resource was worked on.
#[derive(Debug)]
pub struct Denials<'a> {
    rights: &'a Rights,
    found: Mutex<BTreeSet<String>>,
}

impl<'a> Denials<'a> {
    pub fn new(rights: &'a Rights) -> Self {
        Self { rights, found: Mutex::default() }
    }

    /// Goes on without the answer where a right is lacking, and notes it.
    pub fn tolerate<T>(&self, answer: kube::Result<T>) -> kube::Result<Option<T>> {
        let error = match answer {
            Ok(answer) => return Ok(Some(answer)),
            Err(error) => error,
        };
        let lacking = self.rights.lacking(&error).ok_or(error)?;
        self.add(lacking);
        Ok(None)
    }

    pub fn add(&self, lacking: String) {
        self.found.lock().unwrap_or_else(PoisonError::into_inner).insert(lacking);
    }

    pub fn into_sentences(self) -> BTreeSet<String> {
        self.found.into_inner().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn limitations(&self) -> Vec<Limitation> {
        let found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        found.iter().cloned().map(Limitation::Forbidden).collect()
    }
}

#[cfg(test)]
mod tests {
    use kube::core::Status;

    use super::*;

    fn refused(message: &str) -> kube::Error {
        kube::Error::Api(Status { code: 403, message: message.into(), ..Status::default() }.boxed())
    }

    #[test]
    fn the_role_is_named_as_it_is_installed() {
        let rights = |scope| Rights::OfOperator { scope, operator_namespace: "operators".into() };
        let cluster = rights(Scope::Cluster);
        let namespaced = rights(Scope::Namespaces(vec!["team".into()]));
        let error = refused(
            "pods is forbidden: User \"u\" cannot list resource \"pods\" in API group \"\" in the \
             namespace \"team\"",
        );
        let start = "the operator may not list pods in namespace team";
        assert_eq!(
            cluster.lacking(&error).unwrap(),
            format!("{start}: ClusterRole llama-stack-k8s-operator-manager-role lacks it")
        );
        assert_eq!(
            namespaced.lacking(&error).unwrap(),
            format!(
                "{start}: Role llama-stack-k8s-operator-manager-role of namespace team lacks it"
            )
        );
        assert_eq!(cluster.lacking(&refused("exceeded quota: small")), None);
    }

    #[test]
    fn what_is_refused_is_noted_and_other_failures_are_not_tolerated() {
        let denials = Denials::new(&Rights::OfCaller);
        assert_eq!(denials.tolerate(Ok(1)).unwrap(), Some(1));
        assert!(denials.limitations().is_empty());
        assert!(denials.tolerate::<()>(Err(refused("exceeded quota"))).is_err());
        let message =
            "User \"u\" cannot get resource \"secrets\" in API group \"\" in the namespace \"a\"";
        assert_eq!(denials.tolerate::<()>(Err(refused(message))).unwrap(), None);
        assert_eq!(denials.limitations().len(), 1);
    }
}
