//! The status that the resource has now, as far as it can be read: it may be v0.9's, or somebody
//! else may have written into it. What cannot be read counts as not there.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use llsd_api::v1alpha2::{
    ConfigGenerationStatus, DistributionConfig, ExternalProviderStatus, Phase, PreflightStatus,
    ProviderStatus, ResolvedDistribution, VersionInfo,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::observed::ProviderState;
use super::vocabulary::ConditionType;

#[derive(Clone, Debug)]
pub(super) struct Previous {
    conditions: Vec<Condition>,
    pub(super) phase: Option<Phase>,
    pub(super) version: VersionInfo,
    pub(super) distribution: DistributionConfig,
    pub(super) resolved: Option<ResolvedDistribution>,
    pub(super) generation: Option<ConfigGenerationStatus>,
    pub(super) service_url: Option<String>,
    pub(super) preflight: Option<PreflightStatus>,
    pub(super) external: Option<Vec<ExternalProviderStatus>>,
}

impl Previous {
    pub(super) fn from_status(status: &Value) -> Self {
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let mut distribution: DistributionConfig = part(status, "distributionConfig");
        // v0.9 knows no generation, and copied the server's answer, in which some secrets are clear;
        // the message of a provider's health was copied by earlier operators of ours, too.
        let is_ours = status["observedGeneration"].is_i64();
        for provider in distribution.providers.iter_mut().flatten() {
            without_quotes(provider, is_ours);
        }
        Self {
            conditions: conditions.filter_map(deserialize).collect(),
            phase: part(status, "phase"),
            version: part(status, "version"),
            distribution,
            resolved: part(status, "resolvedDistribution"),
            generation: part(status, "configGeneration"),
            service_url: part(status, "serviceURL"),
            preflight: part(status, "preflight"),
            external: part(status, "externalProviders"),
        }
    }

    pub(super) fn condition(&self, condition: ConditionType) -> Option<&Condition> {
        self.conditions.iter().find(|known| known.type_ == condition.as_str())
    }

    /// Conditions that others keep in the same list.
    pub(super) fn of_others(&self) -> impl Iterator<Item = &Condition> {
        self.conditions.iter().filter(|condition| {
            !ConditionType::ALL.iter().any(|own| own.as_str() == condition.type_)
        })
    }
}

/// A provider without what may be a secret that a server quoted.
fn without_quotes(provider: &mut ProviderStatus, is_ours: bool) {
    if !is_ours {
        provider.config = no_config();
    }
    provider.health = ProviderState::parse(&provider.health.status).told(&provider.provider_id);
}

/// A provider's configuration where none is known.
pub(super) fn no_config() -> Value {
    Value::Object(serde_json::Map::new())
}

fn part<T: DeserializeOwned + Default>(status: &Value, name: &str) -> T {
    status.get(name).and_then(deserialize).unwrap_or_default()
}

fn deserialize<T: DeserializeOwned>(value: &Value) -> Option<T> {
    T::deserialize(value).ok()
}
