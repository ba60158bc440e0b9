//! What a resource points to outside itself: Secrets, ConfigMaps, images, a ServiceAccount. The
//! controller gathers exactly these before it plans, and watches them afterwards.

use std::collections::BTreeSet;

use llsd_api::lenient::Lenient;
use llsd_api::secret_ref::{Host, SecretKey, SecretRef};
use llsd_api::v1alpha2::{LlamaStackDistributionSpec, ProviderEntry};

use crate::objects::ca_bundle::{self, OPENSHIFT_AI_BUNDLE};

/// Everything that one resource points to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// Keys of Secrets that the server reads, in the resource's own namespace.
    pub secrets: BTreeSet<(String, String)>,
    /// The key that holds a database's connection string; it is one of `secrets`.
    pub connection_string: Option<(String, String)>,
    /// ConfigMaps as [`Facts`](crate::facts::Facts) name them: `name`, or `namespace/name`.
    pub config_maps: BTreeSet<String>,
    /// Secrets by which images are pulled.
    pub pull_secrets: Vec<String>,
    /// The ServiceAccount, where the resource names one.
    pub service_account: Option<String>,
    /// Images of external providers.
    pub provider_images: BTreeSet<String>,
}

/// Everything that a resource of this namespace points to.
pub fn of(spec: &LlamaStackDistributionSpec, namespace: &str) -> References {
    let mut references = References::default();
    for (_, providers) in spec.providers.iter().flat_map(llsd_api::v1alpha2::ProvidersSpec::by_api)
    {
        let entries = providers.iter().flat_map(llsd_api::one_or_many::OneOrMany::entries);
        for entry in entries.filter_map(Lenient::read) {
            references.provider(entry);
        }
    }
    references.storage(spec);
    references.networking(spec, namespace);
    if let Some(own) = &spec.override_config {
        references.config_maps.insert(own.config_map_name.clone());
    }
    let overrides = spec.workload.as_ref().and_then(|workload| workload.overrides.as_ref());
    if let Some(overrides) = overrides {
        let named = overrides.image_pull_secrets.iter().flatten();
        references.pull_secrets = named.map(|secret| secret.name.clone()).collect();
        references.service_account =
            overrides.service_account_name.clone().filter(|name| !name.is_empty());
    }
    for (_, providers) in
        spec.external_providers.iter().flat_map(llsd_api::v1alpha2::ExternalProvidersSpec::by_api)
    {
        let images = providers.iter().flatten().map(|provider| provider.image.clone());
        references.provider_images.extend(images);
    }
    references
}

impl References {
    fn provider(&mut self, entry: &ProviderEntry) {
        self.secret(entry.api_key.as_ref());
        if let Some(Host::Secret(secret)) = &entry.host {
            self.secret(Some(secret));
        }
        for secret in entry.secret_refs.iter().flatten() {
            self.secret(Some(secret.1));
        }
    }

    fn storage(&mut self, spec: &LlamaStackDistributionSpec) {
        let Some(storage) = &spec.storage else { return };
        self.secret(storage.kv.as_ref().and_then(|kv| kv.password.as_ref()));
        let connection = storage.sql.as_ref().and_then(|sql| sql.connection_string.as_ref());
        self.secret(connection);
        self.connection_string =
            connection.and_then(Lenient::read).map(|secret| pair(secret.target()));
    }

    fn networking(&mut self, spec: &LlamaStackDistributionSpec, namespace: &str) {
        // Whether it is there is not the resource's choice, only whether it may be looked for.
        self.config_maps.insert(OPENSHIFT_AI_BUNDLE.to_owned());
        let Some(tls) = spec.networking.as_ref().and_then(|networking| networking.tls.as_ref())
        else {
            return;
        };
        if let Some(bundle) = &tls.ca_bundle {
            self.config_maps.insert(ca_bundle::fact_name(bundle, namespace));
        }
        if let Some(name) = tls.secret_name.as_ref().filter(|_| tls.enabled == Some(true)) {
            for key in ["tls.crt", "tls.key"] {
                self.secrets.insert((name.clone(), key.to_owned()));
            }
        }
    }

    fn secret(&mut self, secret: Option<&Lenient<SecretRef>>) {
        self.secrets.extend(secret.and_then(Lenient::read).map(|secret| pair(secret.target())));
    }
}

fn pair(secret: &SecretKey) -> (String, String) {
    (secret.name.clone(), secret.key.clone())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_place_that_can_point_outside_is_found() {
        let spec: LlamaStackDistributionSpec = serde_json::from_value(json!({
            "distribution": {"name": "starter"},
            "providers": {
                "inference": [
                    {"id": "a", "provider": "vllm", "apiKey": {"name": "one", "key": "k"}},
                    {"id": "b", "provider": "vllm",
                     "secretRefs": {"token": {"secretKeyRef": {"name": "two", "key": "k"}}}},
                ],
                "vectorIo": {"provider": "pgvector", "host": {"name": "three", "key": "host"}},
            },
            "storage": {
                "kv": {"type": "redis", "endpoint": "redis://r:1", "password": {"name": "four", "key": "p"}},
                "sql": {"type": "postgres", "connectionString": {"name": "five", "key": "url"}},
            },
            "networking": {"tls": {
                "enabled": true, "secretName": "six",
                "caBundle": {"configMapName": "roots", "configMapNamespace": "elsewhere"},
            }},
            "workload": {"overrides": {
                "imagePullSecrets": [{"name": "pull"}], "serviceAccountName": "robot",
            }},
            "externalProviders": {"inference": [{"providerId": "x", "image": "images/x:1"}]},
        }))
        .unwrap();
        let found = of(&spec, "here");
        let secrets: Vec<String> =
            found.secrets.iter().map(|(name, key)| format!("{name}/{key}")).collect();
        assert_eq!(
            secrets,
            ["five/url", "four/p", "one/k", "six/tls.crt", "six/tls.key", "three/host", "two/k"]
        );
        assert_eq!(found.connection_string, Some(("five".into(), "url".into())));
        assert!(found.config_maps.contains("elsewhere/roots"));
        assert!(found.config_maps.contains(OPENSHIFT_AI_BUNDLE));
        assert_eq!(found.pull_secrets, ["pull"]);
        assert_eq!(found.service_account.as_deref(), Some("robot"));
        assert!(found.provider_images.contains("images/x:1"));
    }

    #[test]
    fn a_certificate_that_is_not_served_is_no_reference() {
        let spec: LlamaStackDistributionSpec = serde_json::from_value(json!({
            "distribution": {"name": "starter"},
            "networking": {"tls": {"enabled": false, "secretName": "six"}},
            "overrideConfig": {"configMapName": "mine"},
        }))
        .unwrap();
        let found = of(&spec, "here");
        assert!(found.secrets.is_empty());
        assert!(found.config_maps.contains("mine"));
    }
}
