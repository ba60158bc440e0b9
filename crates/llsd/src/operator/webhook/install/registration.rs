//! The two objects at the API server that name the webhooks: the resource's definition and the
//! validating webhook. Each is watched by its name, and changed as the version that was seen.

use std::marker::PhantomData;
use std::time::Duration;

use futures::{Stream, StreamExt};
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind, Object};
use kube::runtime::watcher::{Config, Event};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, Resource};
use llsd_install::names::{
    CONFIGURATION_WEBHOOK_NAME, CONVERT_PATH, DEFINITION, VALIDATE_CONFIGURATION_PATH,
    VALIDATE_PATH, VALIDATING_WEBHOOK, WEBHOOK_FIELD_MANAGER, WEBHOOK_NAME,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::time::timeout;

use super::client_config::{Decision, WebhookTarget, decide};
use crate::operator::webhook::certificates::Bundle;

/// The longest that one request may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// One kind of object that names webhooks.
pub(super) trait NamesWebhooks {
    type Object: Resource<DynamicType = ApiResource>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned
        + Send
        + 'static;
    const NAME: &'static str;
    /// In words, for the log.
    const WHAT: &'static str;

    fn resource() -> ApiResource;
    /// Those of our webhooks; why there is none, otherwise.
    fn client_configs(object: &Self::Object) -> Result<Vec<ClientConfig>, String>;
    /// The patch that merges these changes, by the names of the webhooks, into it.
    fn patch(changes: &[(&'static str, Value)], version: &str) -> Patch<Value>;
}

/// Where one webhook is called.
#[derive(Clone, Debug)]
pub(super) struct ClientConfig {
    webhook: &'static str,
    path: &'static str,
    config: Value,
}

/// The definition, of which only the conversion is kept: its schemas are a hundred times as large.
#[derive(Clone, Debug)]
pub(super) struct Definition;

#[derive(Clone, Debug, Deserialize, Serialize)]
pub(super) struct Conversion {
    #[serde(default)]
    conversion: Value,
}

impl NamesWebhooks for Definition {
    type Object = Object<Conversion, Ignored>;
    const NAME: &'static str = DEFINITION;
    const WHAT: &'static str = "the resource's definition";

    fn resource() -> ApiResource {
        let kind = GroupVersionKind::gvk("apiextensions.k8s.io", "v1", "CustomResourceDefinition");
        ApiResource::from_gvk(&kind)
    }

    fn client_configs(object: &Self::Object) -> Result<Vec<ClientConfig>, String> {
        let conversion = &object.spec.conversion;
        if conversion["strategy"] != "Webhook" {
            return Err("it does not convert by webhook; install deploy/crd.yaml".to_owned());
        }
        let config = conversion["webhook"]["clientConfig"].clone();
        Ok(vec![ClientConfig { webhook: "conversion", path: CONVERT_PATH, config }])
    }

    fn patch(changes: &[(&'static str, Value)], version: &str) -> Patch<Value> {
        let change = changes.first().map(|(_, change)| change);
        Patch::Merge(json!({
            "metadata": {"resourceVersion": version},
            "spec": {"conversion": {"webhook": {"clientConfig": change}}},
        }))
    }
}

/// What is not of interest, whatever it is.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
pub(super) struct Ignored {}

#[derive(Clone, Debug)]
pub(super) struct ValidatingWebhook;

/// The names and the paths of what it validates: resources, and the operator's configuration.
const WEBHOOKS: [(&str, &str); 2] =
    [(WEBHOOK_NAME, VALIDATE_PATH), (CONFIGURATION_WEBHOOK_NAME, VALIDATE_CONFIGURATION_PATH)];

impl NamesWebhooks for ValidatingWebhook {
    type Object = DynamicObject;
    const NAME: &'static str = VALIDATING_WEBHOOK;
    const WHAT: &'static str = "the validating webhook";

    fn resource() -> ApiResource {
        let group = "admissionregistration.k8s.io";
        let kind = GroupVersionKind::gvk(group, "v1", "ValidatingWebhookConfiguration");
        ApiResource::from_gvk(&kind)
    }

    /// Install files of an earlier release have the first one alone.
    fn client_configs(object: &Self::Object) -> Result<Vec<ClientConfig>, String> {
        let registered = object.data["webhooks"].as_array().map(Vec::as_slice).unwrap_or_default();
        let ours = WEBHOOKS.into_iter().filter_map(|(name, path)| {
            let found = registered.iter().find(|webhook| webhook["name"] == name)?;
            let config = found["clientConfig"].clone();
            Some(ClientConfig { webhook: name, path, config })
        });
        let ours: Vec<ClientConfig> = ours.collect();
        match ours.first() {
            Some(first) if first.webhook == WEBHOOK_NAME => Ok(ours),
            _ => Err(format!("it has no webhook {WEBHOOK_NAME}")),
        }
    }

    /// A strategic one: in any other the list of webhooks would be replaced, and then owned, as a
    /// whole.
    fn patch(changes: &[(&'static str, Value)], version: &str) -> Patch<Value> {
        let changes = changes.iter();
        let webhooks = changes.map(|(name, change)| json!({"name": name, "clientConfig": change}));
        Patch::Strategic(json!({
            "metadata": {"resourceVersion": version},
            "webhooks": webhooks.collect::<Vec<Value>>(),
        }))
    }
}

/// A write had no effect that we know of; the log says why.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unwritten;

/// One object as it was last seen.
pub(super) struct Registration<K: NamesWebhooks> {
    api: Api<K::Object>,
    target: WebhookTarget,
    seen: Option<K::Object>,
    last_failure: Option<String>,
    kind: PhantomData<K>,
}

impl<K: NamesWebhooks> Registration<K> {
    pub fn new(client: &Client, target: &WebhookTarget) -> Self {
        Self {
            api: Api::all_with(client.clone(), &K::resource()),
            target: target.clone(),
            seen: None,
            last_failure: None,
            kind: PhantomData,
        }
    }

    /// Everything that becomes of the object. Never ends; failures are logged.
    pub fn watch(client: &Client) -> impl Stream<Item = Event<K::Object>> + use<K> {
        let api: Api<K::Object> = Api::all_with(client.clone(), &K::resource());
        let config = Config::default().fields(&format!("metadata.name={}", K::NAME));
        let events = watcher(api, config).default_backoff();
        events.filter_map(async |event| match event {
            Ok(event) => Some(event),
            Err(error) => {
                tracing::warn!(name = K::NAME, %error, "{} cannot be watched", K::WHAT);
                None
            }
        })
    }

    pub fn see(&mut self, event: Event<K::Object>) {
        match event {
            Event::Apply(object) | Event::InitApply(object) => self.seen = Some(object),
            Event::Delete(_) | Event::Init => self.seen = None,
            Event::InitDone => {}
        }
    }

    /// Writes the authorities where the object at the API server names none. Whether there is
    /// nothing left to do.
    pub async fn register_first(&mut self, bundle: &Bundle) -> bool {
        // As for a watch: the operator may list, and not get.
        let named = ListParams::default().fields(&format!("metadata.name={}", K::NAME));
        match timeout(PATIENCE, self.api.list(&named)).await {
            Ok(Ok(found)) => self.seen = found.items.into_iter().next(),
            Ok(Err(error)) => {
                self.failed(error.to_string());
                return false;
            }
            Err(_) => return false,
        }
        let configs = self.seen.as_ref().map(K::client_configs);
        let Some(Ok(configs)) = configs else { return true };
        if configs.iter().any(|found| !found.config["caBundle"].is_null()) {
            return true;
        }
        self.register(bundle).await == Ok(true)
    }

    /// Whether the object, as far as it is known, has what it should; writes it otherwise. An error
    /// is worth another try; one that only somebody else can fix is not.
    pub async fn register(&mut self, bundle: &Bundle) -> Result<bool, Unwritten> {
        let Some(seen) = &self.seen else { return Ok(false) };
        let configs = match K::client_configs(seen) {
            Ok(configs) => configs,
            Err(why) => return Ok(self.not_ours(why)),
        };
        let mut changes = Vec::new();
        for ClientConfig { webhook, path, config } in configs {
            match decide(&config, &self.target, path, bundle) {
                Decision::AsItShould => {}
                Decision::NotOurs(why) => return Ok(self.not_ours(why)),
                Decision::Change(change) => changes.push((webhook, change)),
            }
        }
        if changes.is_empty() {
            self.last_failure = None;
            return Ok(true);
        }
        let version = seen.meta().resource_version.clone().unwrap_or_default();
        let parameters = PatchParams {
            field_manager: Some(WEBHOOK_FIELD_MANAGER.to_owned()),
            ..Default::default()
        };
        let patch = K::patch(&changes, &version);
        match timeout(PATIENCE, self.api.patch(K::NAME, &parameters, &patch)).await {
            Ok(Ok(written)) => {
                tracing::info!(
                    name = K::NAME,
                    "{} names the webhooks and their authorities",
                    K::WHAT
                );
                self.seen = Some(written);
                self.last_failure = None;
                Ok(true)
            }
            // The watch will bring what it is now.
            Ok(Err(kube::Error::Api(status))) if matches!(status.code, 404 | 409) => Ok(false),
            Ok(Err(error)) => {
                self.failed(error.to_string());
                Err(Unwritten)
            }
            Err(_) => {
                self.failed(format!("no answer within {PATIENCE:?}"));
                Err(Unwritten)
            }
        }
    }

    fn not_ours(&mut self, why: String) -> bool {
        self.failed(why);
        false
    }

    /// The same again and again would bury what else is to be read.
    fn failed(&mut self, failure: String) {
        if self.last_failure.as_ref() != Some(&failure) {
            tracing::warn!(name = K::NAME, failure, "{} cannot be told of the webhooks", K::WHAT);
            self.last_failure = Some(failure);
        }
    }
}
