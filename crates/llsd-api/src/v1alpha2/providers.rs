//! `spec.providers`: the providers of each API of the server.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use serde_with_macros::skip_serializing_none;

use crate::lenient::Lenient;
use crate::one_or_many::OneOrMany;
use crate::patterns::NO_BLANKS;
use crate::provider_id::ProviderId;
use crate::secret_ref::{Host, SecretRef};

use super::provider_apis::{PROVIDER_APIS, per_provider_api};

per_provider_api! {
    /// The providers of each API: one object, or a list of objects with an `id` each.
    #[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "camelCase")]
    pub struct ProvidersSpec {
        #[schemars(extend("maxItems" = 32))]
        pub _: Option<OneOrMany<ProviderEntry>>,
    }
}

/// One provider of an API. The descriptions are short because the CRD holds them once for each
/// API; `docs/` has the long form.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("anyOf" = [{"required": ["provider"]}, {"required": ["enabled"]}]))]
pub struct ProviderEntry {
    /// Id, by which models name the provider. Default: the short name of `provider`.
    pub id: Option<ProviderId>,
    /// Type: a short name (`vllm`) or a full one (`remote::vllm`). Required unless `enabled` is false.
    #[schemars(regex(pattern = NO_BLANKS))]
    pub provider: Option<String>,
    /// `false`, beside an `id` alone: takes this provider of the base configuration away.
    pub enabled: Option<bool>,
    /// Address, for example `http://vllm:8000`.
    #[schemars(length(min = 1))]
    pub endpoint: Option<String>,
    /// Secret with the API key.
    pub api_key: Option<Lenient<SecretRef>>,
    /// Host, in clear or from a Secret.
    pub host: Option<Host>,
    /// Cloud region.
    #[schemars(length(min = 1))]
    pub region: Option<String>,
    /// Azure OpenAI deployment.
    #[schemars(length(min = 1))]
    pub deployment_name: Option<String>,
    /// Further fields from Secrets: field name to Secret.
    #[schemars(extend("maxProperties" = 64))]
    pub secret_refs: Option<BTreeMap<String, Lenient<SecretRef>>>,
    /// Further configuration, passed on unchanged.
    pub settings: Option<Map<String, Value>>,
    /// Another name of `settings`.
    pub config: Option<Map<String, Value>>,
    /// Fields that are not understood; validation names them.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, Value>,
}

impl ProviderEntry {
    /// Whether it takes a provider of the base away instead of adding one.
    pub fn is_removal(&self) -> bool {
        self.enabled == Some(false)
    }
}
