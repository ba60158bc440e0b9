//! `spec.externalProviders`: providers that are installed from images of their own.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with_macros::skip_serializing_none;

use crate::lenient::Lenient;
use crate::patterns::NO_BLANKS;
use crate::provider_id::ProviderId;
use crate::secret_ref::SecretRef;

use super::provider_apis::{PROVIDER_APIS, per_provider_api};

per_provider_api! {
    /// External providers of each API. They are added to the other providers; one with the id of
    /// another takes its place, with a warning.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub struct ExternalProvidersSpec {
        #[schemars(length(max = 32), extend(
            "x-kubernetes-list-type" = "map",
            "x-kubernetes-list-map-keys" = ["providerId"]
        ))]
        pub _: Option<Vec<ExternalProvider>>,
    }
}

/// A provider that an image brings; its type and module come from the image's metadata.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExternalProvider {
    /// Id of the provider.
    pub provider_id: ProviderId,
    /// Image with the provider's package.
    #[schemars(regex(pattern = NO_BLANKS))]
    pub image: String,
    /// Configuration, passed on unchanged.
    pub config: Option<Map<String, Value>>,
    /// Fields of the configuration from Secrets: field name to Secret.
    #[schemars(extend("maxProperties" = 64))]
    pub secret_refs: Option<BTreeMap<String, Lenient<SecretRef>>>,
    /// When the image is pulled.
    pub image_pull_policy: Option<PullPolicy>,
}

/// When an image is pulled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum PullPolicy {
    Always,
    IfNotPresent,
    Never,
}
