//! The Lease at the API server: read and write, each within a time of its own. Decides nothing.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Api, PostParams};

use super::ElectionSettings;
use crate::operator::bounded::{RequestError, bounded};

#[derive(Debug)]
pub(super) struct LeaseStore {
    api: Api<Lease>,
    name: String,
    patience: Duration,
}

impl LeaseStore {
    pub(super) fn new(client: kube::Client, settings: &ElectionSettings) -> Self {
        Self {
            api: Api::namespaced(client, &settings.namespace),
            name: settings.name.clone(),
            patience: settings.patience(),
        }
    }

    pub(super) async fn fetch(&self) -> Result<Option<Lease>, RequestError> {
        bounded(self.patience, self.api.get_opt(&self.name)).await
    }

    /// Creates the Lease, or replaces exactly the version that `last` is.
    pub(super) async fn write(
        &self,
        last: Option<&Lease>,
        content: LeaseSpec,
    ) -> Result<Lease, RequestError> {
        let parameters = PostParams {
            field_manager: Some("llama-stack-operator".to_owned()),
            ..PostParams::default()
        };
        if let Some(last) = last {
            let lease = Lease { spec: Some(content), ..last.clone() };
            let written =
                bounded(self.patience, self.api.replace(&self.name, &parameters, &lease)).await;
            return written.map_err(|error| error.or_stale(&[404, 409]));
        }
        let metadata = ObjectMeta { name: Some(self.name.clone()), ..ObjectMeta::default() };
        let lease = Lease { metadata, spec: Some(content) };
        let written = bounded(self.patience, self.api.create(&parameters, &lease)).await;
        // Here a 404 would mean that the namespace is missing.
        written.map_err(|error| error.or_stale(&[409]))
    }
}
