//! What can stand in the way of a storage migration, and what to do about it.

use std::fmt;

use thiserror::Error;

use crate::operator::controller::state::safe_message;

/// An object that the API server did not take back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    pub namespace: String,
    pub name: String,
    pub reason: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}: {}", self.namespace, self.name, self.reason)
    }
}

#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum MigrationError {
    #[error("the cluster has no LlamaStackDistribution: install the operator first")]
    NotInstalled,

    #[error(
        "the resource definition stores {storage}, not v1alpha2: install this release's \
         definition first, `llsd crd | kubectl apply --server-side -f -`"
    )]
    OldDefinition { storage: String },

    #[error(
        "not allowed to {verb} {resource}: the migration needs a cluster role with get of \
         customresourcedefinitions, patch of customresourcedefinitions/status (both in \
         apiextensions.k8s.io), and list, get and update of llamastackdistributions (in \
         llamastack.io); cluster-admin has them"
    )]
    Forbidden { verb: &'static str, resource: &'static str },

    #[error(
        "the conversion webhook does not answer, and without it objects of v1alpha1 cannot be \
         read: see that the operator runs, then start again; what was written stays ({reason})"
    )]
    WebhookAway { reason: String },

    #[error("{written} objects were written; {} were refused and keep v1alpha1 in use: mend \
             them, then start again", objects.len())]
    Refused { objects: Vec<Refusal>, written: usize },

    #[error("the resource definition has changed meanwhile: start again")]
    Changed,

    #[error("the list of objects expired again and again: start again")]
    ListExpired,

    #[error(
        "the cluster does not serve LlamaStackDistribution at the moment, perhaps because its definition is \
         being replaced: start again; what was written stays"
    )]
    NotServed,

    #[error("the cluster cannot be asked: {0}")]
    Unavailable(String),
}

/// A failed request in the words of what was tried.
pub(super) fn explained(
    error: &kube::Error,
    verb: &'static str,
    resource: &'static str,
) -> MigrationError {
    let reason = safe_message(error);
    match error {
        kube::Error::Api(status) if matches!(status.code, 401 | 403) => {
            MigrationError::Forbidden { verb, resource }
        }
        kube::Error::Api(_) if reason.contains("conversion webhook") => {
            MigrationError::WebhookAway { reason }
        }
        _ => MigrationError::Unavailable(reason),
    }
}
