//! Two ConfigMaps of the operator's namespace: the one that people edit, which the operator makes where
//! there is none, and one of its own, in which it keeps which texts of the other are in use. Without
//! that one, a restart would forget what a broken text must not replace.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use llsd_plan::fingerprint::FIELD_MANAGER;
use serde_json::json;

use llsd_install::names::{self, CONFIG_MAP, KEPT_CONFIG_MAP};
use llsd_settings::{ConfigKey, TextsInUse};

/// Says to whoever edits the ConfigMap what may stand in it.
const KEYS: &str = "llamastack.io/keys";

pub struct KeptConfig(Api<ConfigMap>);

impl KeptConfig {
    pub fn new(client: &Client, namespace: &str) -> Self {
        Self(Api::namespaced(client.clone(), namespace))
    }

    /// What was in use last; nothing where no operator has kept anything.
    pub async fn fetch(&self) -> kube::Result<TextsInUse> {
        let found = self.0.get_opt(KEPT_CONFIG_MAP).await?;
        let data = found.and_then(|found| found.data).unwrap_or_default();
        Ok(TextsInUse::kept(&data))
    }

    pub async fn keep(&self, texts: &TextsInUse) -> kube::Result<()> {
        let object = json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {"name": KEPT_CONFIG_MAP, "labels": names::labels()},
            "data": texts.by_name(),
        });
        let parameters = PatchParams::apply(FIELD_MANAGER).force();
        self.0.patch(KEPT_CONFIG_MAP, &parameters, &Patch::Apply(&object)).await?;
        Ok(())
    }

    /// Makes the ConfigMap that people edit, with what is in use.
    pub async fn make(&self, texts: &TextsInUse) -> kube::Result<()> {
        let mut data = texts.by_name();
        data.retain(|_, text| !text.is_empty());
        let keys = ConfigKey::ALL.map(ConfigKey::name).join(", ");
        let labels = serde_json::from_value(names::labels()).unwrap_or_default();
        let object = ConfigMap {
            metadata: ObjectMeta {
                name: Some(CONFIG_MAP.to_owned()),
                labels,
                annotations: Some([(KEYS.to_owned(), keys)].into()),
                ..ObjectMeta::default()
            },
            data: Some(data),
            ..ConfigMap::default()
        };
        let parameters =
            PostParams { field_manager: Some(FIELD_MANAGER.to_owned()), ..PostParams::default() };
        match self.0.create(&parameters, &object).await {
            // Somebody was quicker.
            Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
            made => made.map(drop),
        }
    }
}
