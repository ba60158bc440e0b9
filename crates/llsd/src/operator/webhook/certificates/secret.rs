//! The Secret that all replicas share, at the API server: read, and written only as it was read.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use llsd_install::names::{WEBHOOK_FIELD_MANAGER, WEBHOOK_SECRET as NAME};
use llsd_plan::objects::labels;
use secrecy::ExposeSecret;
use secrecy::zeroize::Zeroize;
use serde_json::{Value, json};

use super::material::{FIELDS, Material};
use crate::operator::bounded::{RequestError, bounded};

/// The longest that one request may take.
const PATIENCE: Duration = Duration::from_secs(10);

pub(super) struct SecretStore {
    api: Api<Secret>,
    namespace: String,
}

/// What was read, and which version of it; none where there is no Secret.
#[derive(Default)]
pub(super) struct StoredMaterial {
    pub found: Material,
    version: Option<String>,
}

impl StoredMaterial {
    pub fn exists(&self) -> bool {
        self.version.is_some()
    }
}

impl SecretStore {
    pub fn new(client: &Client, namespace: &str) -> Self {
        let api = Api::namespaced(client.clone(), namespace);
        Self { api, namespace: namespace.to_owned() }
    }

    /// For messages.
    pub fn name(&self) -> String {
        format!("{}/{NAME}", self.namespace)
    }

    pub async fn fetch(&self) -> Result<StoredMaterial, RequestError> {
        let secret = bounded(PATIENCE, self.api.get_opt(NAME)).await?;
        Ok(secret.map(parse).unwrap_or_default())
    }

    /// Creates the Secret, or changes exactly the version that was read.
    pub async fn write(
        &self,
        content: &Material,
        before: &StoredMaterial,
    ) -> Result<StoredMaterial, RequestError> {
        let data = content.write();
        let bytes = |text: &str| ByteString(text.as_bytes().to_vec());
        let labels = [(labels::MANAGED_BY, labels::OPERATOR)];
        let written = if let Some(version) = &before.version {
            let fields: BTreeMap<&str, Value> = FIELDS
                .iter()
                .map(|field| {
                    let value = data.get(field).map(|text| json!(bytes(text.expose_secret())));
                    (*field, value.unwrap_or(Value::Null))
                })
                .collect();
            let patch = json!({"metadata": {"resourceVersion": version}, "data": fields});
            let parameters = PatchParams {
                field_manager: Some(WEBHOOK_FIELD_MANAGER.into()),
                ..Default::default()
            };
            bounded(PATIENCE, self.api.patch(NAME, &parameters, &Patch::Merge(&patch))).await
        } else {
            let mut secret = Secret::default();
            secret.metadata.name = Some(NAME.to_owned());
            secret.metadata.namespace = Some(self.namespace.clone());
            let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
            secret.metadata.labels = Some(labels.into_iter().map(owned).collect());
            let fields = data.iter();
            let fields = fields.map(|(key, text)| ((*key).into(), bytes(text.expose_secret())));
            secret.data = Some(fields.collect());
            let parameters = PostParams {
                field_manager: Some(WEBHOOK_FIELD_MANAGER.into()),
                ..Default::default()
            };
            bounded(PATIENCE, self.api.create(&parameters, &secret)).await
        };
        // Gone, changed, or made by another replica at the same time. A missing namespace is none of
        // these, and answers 404 to a create as well: the next read and write show it.
        written.map(parse).map_err(|error| error.or_stale(&[409]))
    }
}

fn parse(secret: Secret) -> StoredMaterial {
    let mut data = secret.data.unwrap_or_default();
    let found = Material::parse(&data);
    for ByteString(bytes) in data.values_mut() {
        bytes.zeroize();
    }
    StoredMaterial { found, version: secret.metadata.resource_version }
}
