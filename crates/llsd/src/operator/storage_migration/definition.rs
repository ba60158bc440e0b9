//! The resource definition: which version is stored today, and which may still be in storage.

use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Client};
use llsd_install::names::DEFINITION;
use serde_json::{Value, json};

use super::error::{MigrationError, explained};

/// The version that this program stores.
const STORAGE: &str = "v1alpha2";
/// A change of somebody else's, such as a new certificate, is no reason to give up.
const ATTEMPTS: usize = 10;

#[derive(Clone, Debug)]
pub(super) struct StoredDefinition {
    pub(super) storage: String,
    pub(super) stored: Vec<String>,
    /// Changes with every change of the definition.
    pub(super) generation: Option<i64>,
    resource_version: Option<String>,
}

fn api(client: &Client) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
    Api::all_with(client.clone(), &ApiResource::from_gvk(&kind))
}

impl StoredDefinition {
    pub(super) async fn fetch(client: &Client) -> Result<Self, MigrationError> {
        let found = api(client).get_opt(DEFINITION).await;
        let object = found
            .map_err(|error| explained(&error, "get", "customresourcedefinitions"))?
            .ok_or(MigrationError::NotInstalled)?;
        let versions = object.data["spec"]["versions"].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let storage = versions
            .iter()
            .find(|version| version["storage"] == Value::Bool(true))
            .and_then(|version| text(&version["name"]))
            .unwrap_or_default();
        if storage != STORAGE {
            return Err(MigrationError::OldDefinition { storage });
        }
        let stored = object.data["status"]["storedVersions"].as_array();
        let stored = stored.into_iter().flatten().filter_map(text).collect();
        let generation = object.metadata.generation;
        let resource_version = object.metadata.resource_version;
        Ok(Self { storage, stored, generation, resource_version })
    }

    /// Versions in storage that are not today's.
    pub(super) fn older(&self) -> Vec<String> {
        self.stored.iter().filter(|version| **version != self.storage).cloned().collect()
    }

    /// Takes the versions off the list, if the definition is still as it was read. Where it has
    /// changed, the change is looked at: as long as the same version is stored and no other one has
    /// come up, what was written counts.
    pub(super) async fn retire(
        mut self,
        client: &Client,
        versions: &[String],
        dry_run: bool,
    ) -> Result<(), MigrationError> {
        for _ in 0..ATTEMPTS {
            let patch = json!({
                "metadata": {"resourceVersion": self.resource_version},
                "status": {"storedVersions": [self.storage]},
            });
            let params = PatchParams { dry_run, ..PatchParams::default() };
            match api(client).patch_status(DEFINITION, &params, &Patch::Merge(patch)).await {
                Ok(_) => return Ok(()),
                Err(kube::Error::Api(status)) if status.code == 409 => {
                    let now = Self::fetch(client).await?;
                    let older = now.older();
                    if older.is_empty() {
                        return Ok(());
                    }
                    if !older.iter().all(|version| versions.contains(version)) {
                        return Err(MigrationError::Changed);
                    }
                    self = now;
                }
                Err(error) => {
                    return Err(explained(&error, "patch", "customresourcedefinitions/status"));
                }
            }
        }
        Err(MigrationError::Changed)
    }
}
