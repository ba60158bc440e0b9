//! What a resource points to outside itself: Secrets, ConfigMaps, images, a ServiceAccount. One walk
//! finds them all with their field paths. The controller gathers them before it plans and watches them
//! afterwards, planning checks what is known of them, and admission warns of those that do not exist.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{EnvFromSource, EnvVar};
use llsd_api::expose::Expose;
use llsd_api::lenient::Lenient;
use llsd_api::one_or_many::OneOrMany;
use llsd_api::secret_ref::{Host, SecretKey, SecretRef};
use llsd_api::v1alpha2::{
    AccessSpec, ExternalProvidersSpec, LlamaStackDistributionSpec, OverridesSpec, ProviderEntry,
    ProvidersSpec, StateStorageSpec, TlsSpec,
};

use crate::objects::ObjectKind;
use crate::objects::ca_bundle::{OPENSHIFT_AI_BUNDLE, fact_name};
use crate::problems::FieldPath;

/// The keys of a Secret with a certificate.
const CERTIFICATE_KEYS: [&str; 2] = ["tls.crt", "tls.key"];

/// One object that a field of the resource names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    pub path: FieldPath,
    pub purpose: Purpose,
    pub kind: ObjectKind,
    /// Where it is not the resource's own.
    pub namespace: Option<String>,
    pub name: String,
    pub key: Option<String>,
}

/// What the object is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    ProviderSecret,
    /// What the server itself shows to a token provider, or compares keys with.
    AccessSecret,
    RedisPassword,
    ConnectionString,
    Certificate,
    /// What an Ingress serves. The Ingress controller reads it; the operator neither reads it nor waits
    /// for it, because cert-manager may make it once there is an Ingress.
    IngressCertificate,
    CaBundle,
    OverrideConfig,
    ServiceAccount,
    PullSecret,
    /// A variable that the user sets, or all keys of an object as variables; no pod starts without it.
    Variable,
    /// The same, where a pod also starts without it.
    OptionalVariable,
    /// A volume claim of the user's own.
    Claim,
}

impl Purpose {
    fn of_variable(optional: Option<bool>) -> Self {
        if optional == Some(true) { Self::OptionalVariable } else { Self::Variable }
    }

    /// Whether the server's pods cannot start without it, or were not meant to.
    pub fn is_needed(self) -> bool {
        !matches!(self, Self::OptionalVariable | Self::IngressCertificate)
    }
}

impl Reference {
    /// The key of a Secret that is meant.
    pub fn secret_key(&self) -> Option<SecretKey> {
        Some(SecretKey { name: self.name.clone(), key: self.key.clone()? })
    }

    /// The keys of the Secret that the server's pod needs.
    pub fn secret_keys(&self) -> Vec<SecretKey> {
        match self.purpose {
            Purpose::Certificate => CERTIFICATE_KEYS
                .map(|key| SecretKey { name: self.name.clone(), key: key.to_owned() })
                .to_vec(),
            _ => self.secret_key().into_iter().collect(),
        }
    }
}

/// Every object that a spec names, in the order of its fields.
pub fn walk(spec: &LlamaStackDistributionSpec) -> Vec<Reference> {
    let mut walk = Walk::default();
    let path = FieldPath::spec();
    walk.providers(spec.providers.as_ref(), &path.key("providers"));
    walk.external(spec.external_providers.as_ref(), &path.key("externalProviders"));
    walk.storage(spec.storage.as_ref(), &path.key("storage"));
    let networking = spec.networking.as_ref();
    let tls = networking.and_then(|networking| networking.tls.as_ref());
    walk.tls(tls, &path.key("networking").key("tls"));
    let expose = networking.and_then(|networking| networking.expose.as_ref());
    walk.exposure(expose, &path.key("networking").key("expose"));
    walk.access(spec.access.as_ref(), &path.key("access"));
    if let Some(own) = &spec.override_config {
        let path = path.key("overrideConfig").key("configMapName");
        walk.add(Purpose::OverrideConfig, ObjectKind::ConfigMap, &own.config_map_name, None, path);
    }
    let workload = spec.workload.as_ref();
    let storage = workload.and_then(|workload| workload.storage.as_ref());
    if let Some(claim) = storage.and_then(|storage| storage.existing_claim.as_ref()) {
        let path = path.key("workload").key("storage").key("existingClaim");
        walk.add(Purpose::Claim, ObjectKind::VolumeClaim, claim, None, path);
    }
    if let Some(overrides) = workload.and_then(|workload| workload.overrides.as_ref()) {
        walk.overrides(overrides, &path.key("workload").key("overrides"));
    }
    walk.0
}

#[derive(Default)]
struct Walk(Vec<Reference>);

impl Walk {
    fn providers(&mut self, providers: Option<&ProvidersSpec>, path: &FieldPath) {
        for (api, entries) in providers.into_iter().flat_map(ProvidersSpec::by_api) {
            let path = path.key(api);
            match entries {
                Some(OneOrMany::One(entry)) => self.provider(entry, &path),
                Some(OneOrMany::Many(entries)) => {
                    for (index, entry) in entries.iter().enumerate() {
                        self.provider(entry, &path.index(index));
                    }
                }
                None => {}
            }
        }
    }

    fn provider(&mut self, entry: &Lenient<ProviderEntry>, path: &FieldPath) {
        let Some(entry) = entry.understood() else { return };
        self.secret(Purpose::ProviderSecret, entry.api_key.as_ref(), path.key("apiKey"));
        if let Some(Host::Secret(secret)) = &entry.host {
            self.secret(Purpose::ProviderSecret, Some(secret), path.key("host"));
        }
        for (field, secret) in entry.secret_refs.iter().flatten() {
            let path = path.key("secretRefs").key(field);
            self.secret(Purpose::ProviderSecret, Some(secret), path);
        }
    }

    fn external(&mut self, providers: Option<&ExternalProvidersSpec>, path: &FieldPath) {
        for (api, providers) in providers.into_iter().flat_map(ExternalProvidersSpec::by_api) {
            for (index, provider) in providers.iter().flatten().enumerate() {
                for (field, secret) in provider.secret_refs.iter().flatten() {
                    let path = path.key(api).index(index).key("secretRefs").key(field);
                    self.secret(Purpose::ProviderSecret, Some(secret), path);
                }
            }
        }
    }

    fn storage(&mut self, storage: Option<&StateStorageSpec>, path: &FieldPath) {
        let Some(StateStorageSpec { kv, sql }) = storage else { return };
        let password = kv.as_ref().and_then(|kv| kv.password.as_ref());
        self.secret(Purpose::RedisPassword, password, path.key("kv").key("password"));
        let connection = sql.as_ref().and_then(|sql| sql.connection_string.as_ref());
        let path = path.key("sql").key("connectionString");
        self.secret(Purpose::ConnectionString, connection, path);
    }

    fn access(&mut self, access: Option<&AccessSpec>, path: &FieldPath) {
        let Some(AccessSpec { authentication, .. }) = access else { return };
        let path = path.key("authentication");
        for (index, key) in authentication.api_keys.iter().flatten().enumerate() {
            self.secret(Purpose::AccessSecret, Some(key), path.key("apiKeys").index(index));
        }
        let Some(oidc) = &authentication.oidc else { return };
        let path = path.key("oidc");
        let secret = oidc.introspection.as_ref().map(|asked| &asked.client_secret);
        self.secret(Purpose::AccessSecret, secret, path.key("introspection").key("clientSecret"));
        if let Some(bundle) = &oidc.ca_bundle {
            let path = path.key("caBundle").key("configMapName");
            let name = &bundle.config_map_name;
            self.add(Purpose::CaBundle, ObjectKind::ConfigMap, name, None, path);
        }
    }

    fn tls(&mut self, tls: Option<&TlsSpec>, path: &FieldPath) {
        let Some(tls) = tls else { return };
        if let Some(name) = tls.secret_name.as_ref().filter(|_| tls.enabled == Some(true)) {
            let path = path.key("secretName");
            self.add(Purpose::Certificate, ObjectKind::Secret, name, None, path);
        }
        if let Some(bundle) = &tls.ca_bundle {
            let path = path.key("caBundle").key("configMapName");
            let elsewhere = bundle.config_map_namespace.clone().filter(|name| !name.is_empty());
            self.0.push(Reference {
                path,
                purpose: Purpose::CaBundle,
                kind: ObjectKind::ConfigMap,
                namespace: elsewhere,
                name: bundle.config_map_name.clone(),
                key: None,
            });
        }
    }

    fn exposure(&mut self, expose: Option<&Expose>, path: &FieldPath) {
        let Some(Expose::How(how)) = expose.filter(|expose| expose.is_on()) else { return };
        if let Some(name) = how.understood().and_then(|how| how.tls_secret_name.as_ref()) {
            let path = path.key("tlsSecretName");
            self.add(Purpose::IngressCertificate, ObjectKind::Secret, name, None, path);
        }
    }

    fn overrides(&mut self, overrides: &OverridesSpec, path: &FieldPath) {
        if let Some(name) = &overrides.service_account_name {
            let path = path.key("serviceAccountName");
            self.add(Purpose::ServiceAccount, ObjectKind::ServiceAccount, name, None, path);
        }
        for (index, secret) in overrides.image_pull_secrets.iter().flatten().enumerate() {
            let path = path.key("imagePullSecrets").index(index).key("name");
            self.add(Purpose::PullSecret, ObjectKind::Secret, &secret.name, None, path);
        }
        for (index, variable) in overrides.env.iter().flatten().enumerate() {
            self.variable(variable, &path.key("env").index(index).key("valueFrom"));
        }
        for (index, source) in overrides.env_from.iter().flatten().enumerate() {
            self.variables(source, &path.key("envFrom").index(index));
        }
    }

    fn variable(&mut self, variable: &EnvVar, path: &FieldPath) {
        let Some(source) = &variable.value_from else { return };
        if let Some(secret) = &source.secret_key_ref {
            let (path, key) = (path.key("secretKeyRef"), Some(secret.key.as_str()));
            let purpose = Purpose::of_variable(secret.optional);
            self.add(purpose, ObjectKind::Secret, &secret.name, key, path);
        }
        if let Some(map) = &source.config_map_key_ref {
            let (path, key) = (path.key("configMapKeyRef"), Some(map.key.as_str()));
            let purpose = Purpose::of_variable(map.optional);
            self.add(purpose, ObjectKind::ConfigMap, &map.name, key, path);
        }
    }

    fn variables(&mut self, source: &EnvFromSource, path: &FieldPath) {
        if let Some(secret) = &source.secret_ref {
            let (path, purpose) = (path.key("secretRef"), Purpose::of_variable(secret.optional));
            self.add(purpose, ObjectKind::Secret, &secret.name, None, path);
        }
        if let Some(map) = &source.config_map_ref {
            let (path, purpose) = (path.key("configMapRef"), Purpose::of_variable(map.optional));
            self.add(purpose, ObjectKind::ConfigMap, &map.name, None, path);
        }
    }

    fn secret(&mut self, purpose: Purpose, secret: Option<&Lenient<SecretRef>>, path: FieldPath) {
        if let Some(SecretKey { name, key }) =
            secret.and_then(Lenient::understood).map(SecretRef::target)
        {
            self.add(purpose, ObjectKind::Secret, name, Some(key), path);
        }
    }

    /// An empty name names nothing.
    fn add(
        &mut self,
        purpose: Purpose,
        kind: ObjectKind,
        name: &str,
        key: Option<&str>,
        path: FieldPath,
    ) {
        if !name.is_empty() {
            let (name, key) = (name.to_owned(), key.map(str::to_owned));
            self.0.push(Reference { path, purpose, kind, namespace: None, name, key });
        }
    }
}

/// Everything that is gathered for one resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct References {
    /// Keys of Secrets that the server reads, in the resource's own namespace.
    pub secrets: BTreeSet<(String, String)>,
    /// Secrets of which every key counts.
    pub whole_secrets: BTreeSet<String>,
    /// The key that holds a database's connection string; it is one of `secrets`.
    pub connection_string: Option<(String, String)>,
    /// ConfigMaps as [`Facts`](crate::facts::Facts) name them: `name`, or `namespace/name`.
    pub config_maps: BTreeSet<String>,
    /// Volume claims of the user's own.
    pub claims: BTreeSet<String>,
    /// Secrets by which images are pulled.
    pub pull_secrets: Vec<String>,
    /// The ServiceAccount, where the resource names one.
    pub service_account: Option<String>,
    /// Images of external providers.
    pub provider_images: BTreeSet<String>,
}

/// Everything that must be gathered for a resource of this namespace.
pub fn references(spec: &LlamaStackDistributionSpec, namespace: &str) -> References {
    let external = spec.external_providers.iter().flat_map(ExternalProvidersSpec::by_api);
    let external = external.flat_map(|(_, providers)| providers.iter().flatten());
    let mut found = References {
        // Whether it is there is not the resource's choice, only whether it may be looked for.
        config_maps: BTreeSet::from([OPENSHIFT_AI_BUNDLE.to_owned()]),
        provider_images: external.map(|provider| provider.image.clone()).collect(),
        ..References::default()
    };
    for reference in walk(spec) {
        let keys = reference.secret_keys().into_iter().map(|SecretKey { name, key }| (name, key));
        match reference.purpose {
            Purpose::ProviderSecret
            | Purpose::AccessSecret
            | Purpose::RedisPassword
            | Purpose::Certificate => {
                found.secrets.extend(keys);
            }
            Purpose::ConnectionString => {
                found.connection_string = keys.clone().next();
                found.secrets.extend(keys);
            }
            Purpose::OverrideConfig => drop(found.config_maps.insert(reference.name)),
            Purpose::CaBundle => {
                let elsewhere = reference.namespace.as_deref().filter(|it| *it != namespace);
                found.config_maps.insert(fact_name(elsewhere, &reference.name));
            }
            Purpose::IngressCertificate => {}
            Purpose::PullSecret => found.pull_secrets.push(reference.name),
            Purpose::ServiceAccount => found.service_account = Some(reference.name),
            Purpose::Claim => drop(found.claims.insert(reference.name)),
            Purpose::Variable | Purpose::OptionalVariable => match reference.kind {
                ObjectKind::Secret if reference.key.is_none() => {
                    found.whole_secrets.insert(reference.name);
                }
                ObjectKind::Secret => found.secrets.extend(keys),
                _ => drop(found.config_maps.insert(reference.name)),
            },
        }
    }
    found
}

#[cfg(test)]
mod tests;
