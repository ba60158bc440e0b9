//! The ConfigMap with the certificate authorities that a server trusts beside its image's own: those
//! of the resource first, then those that OpenShift AI gives to the namespace. Its name carries a hash of
//! the content, and it never changes: pods that were made with another one can still start.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use k8s_openapi::api::core::v1::ConfigMap;
use llsd_api::v1alpha2::{AccessCaBundle, CaBundleSpec, LlamaStackDistributionSpec};
use regex_lite::Regex;

use super::blueprint::Blueprint;
use super::{labels, names};
use crate::facts::{ConfigMapFacts, Facts};
use crate::problems::{FieldPath, Findings, Reason};
use crate::server::paths::CA_BUNDLE_KEY;
use crate::values::sha256;

/// The ConfigMap that OpenShift AI puts into every namespace.
pub const OPENSHIFT_AI_BUNDLE: &str = "odh-trusted-ca-bundle";

const MAX_CERTIFICATES: usize = 1000;
/// What a ConfigMap holds at most, so that the bundle fits into one. v0.9 allows ten times as
/// much, and then the API server refuses it.
const MAX_BYTES: usize = 1024 * 1024;

static KEY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^[a-zA-Z0-9]([a-zA-Z0-9\-_.]*[a-zA-Z0-9])?$").expect("a constant")
});

/// The name under which [`Facts`] hold a ConfigMap that may be of another namespace than the resource's.
pub fn fact_name(elsewhere: Option<&str>, name: &str) -> String {
    match elsewhere {
        Some(elsewhere) => format!("{elsewhere}/{name}"),
        None => name.to_owned(),
    }
}

/// The other namespace in which `caBundle` names its ConfigMap.
pub fn elsewhere<'a>(bundle: &'a CaBundleSpec, namespace: &str) -> Option<&'a str> {
    let given = bundle.config_map_namespace.as_deref();
    given.filter(|given| !given.is_empty() && *given != namespace)
}

/// The resource's own `caBundle`.
pub fn explicit(spec: &LlamaStackDistributionSpec) -> Option<&CaBundleSpec> {
    spec.networking.as_ref()?.tls.as_ref()?.ca_bundle.as_ref()
}

/// The bundle of the provider whose tokens the server takes.
fn of_issuer(spec: &LlamaStackDistributionSpec) -> Option<&AccessCaBundle> {
    spec.access.as_ref()?.authentication.oidc.as_ref()?.ca_bundle.as_ref()
}

/// The name of the ConfigMap, if there is one.
pub(super) fn name(blueprint: &Blueprint) -> Option<String> {
    let hash = sha256::hex(blueprint.ca_bundle.as_ref()?);
    Some(names::ca_bundle(blueprint.name, &hash[..8]))
}

pub(super) fn ca_bundle(blueprint: &Blueprint) -> Option<ConfigMap> {
    let text = blueprint.ca_bundle.as_ref()?;
    let mut metadata = blueprint.owned(name(blueprint)?);
    metadata.labels = Some(labels::of_component(blueprint.name, "ca-bundle"));
    let grant = blueprint.facts.ca_bundle_grant.clone();
    metadata.annotations = grant.map(|grant| [(labels::CA_BUNDLE_GRANT.to_owned(), grant)].into());
    Some(ConfigMap {
        metadata,
        data: Some([(CA_BUNDLE_KEY.into(), text.clone())].into()),
        immutable: Some(true),
        ..Default::default()
    })
}

/// The bundle as one PEM text; `None` where nobody asks for one.
pub fn text(
    spec: &LlamaStackDistributionSpec,
    namespace: &str,
    facts: &Facts,
) -> (Option<String>, Findings) {
    let mut collected = Collected::new(facts);
    let explicit = explicit(spec);
    if let Some(explicit) = explicit {
        collected.explicit(explicit, namespace);
    }
    let of_issuer = of_issuer(spec);
    if let Some(bundle) = of_issuer {
        collected.of_issuer(bundle);
    }
    collected.of_openshift_ai();
    collected.finish(explicit.is_some() || of_issuer.is_some())
}

struct Collected<'a> {
    facts: &'a Facts,
    /// The certificates in DER, each once.
    certificates: Vec<Vec<u8>>,
    /// Comments that stand for what only the cluster knows.
    unknown: Vec<String>,
    findings: Findings,
}

impl<'a> Collected<'a> {
    fn new(facts: &'a Facts) -> Self {
        Self { facts, certificates: vec![], unknown: vec![], findings: Findings::default() }
    }

    fn explicit(&mut self, bundle: &CaBundleSpec, namespace: &str) {
        let elsewhere = elsewhere(bundle, namespace);
        if let Some(from) = elsewhere.filter(|from| !self.facts.operator.allows_ca_bundle_of(from))
        {
            return self.findings.problem(
                &path().key("configMapNamespace"),
                Reason::Invalid,
                format!("ConfigMaps of the namespace {from} are not open to this one"),
                format!(
                    "copy the ConfigMap into the resource's own namespace, or ask an administrator to \
                     add {from} to caBundleNamespaces in the operator's ConfigMap"
                ),
            );
        }
        let name = fact_name(elsewhere, &bundle.config_map_name);
        let given = bundle.config_map_keys.as_deref().filter(|keys| !keys.is_empty());
        let keys = path().key("configMapKeys");
        let keys: Vec<(FieldPath, &str)> = match given {
            Some(given) => {
                given.iter().enumerate().map(|(at, key)| (keys.index(at), key.as_str())).collect()
            }
            None => vec![(keys, CA_BUNDLE_KEY)],
        };
        self.config_map(&path(), &name, &keys);
    }

    fn of_issuer(&mut self, bundle: &AccessCaBundle) {
        let path =
            FieldPath::spec().key("access").key("authentication").key("oidc").key("caBundle");
        let key = bundle.key.as_deref().unwrap_or(CA_BUNDLE_KEY);
        self.config_map(&path, &bundle.config_map_name, &[(path.key("key"), key)]);
    }

    /// The certificates of a ConfigMap that a field of the resource names.
    fn config_map(&mut self, path: &FieldPath, name: &str, keys: &[(FieldPath, &str)]) {
        match self.facts.config_maps.get(name) {
            Some(ConfigMapFacts { forbidden: Some(why), .. }) => {
                self.forbidden(&path.key("configMapName"), name, why);
            }
            Some(ConfigMapFacts { missing: false, data, .. }) => {
                for (path, key) in keys {
                    self.explicit_key(name, data, key, path);
                }
            }
            // Offline, what is not mentioned is assumed to exist.
            None if !self.facts.complete => {
                let keys: Vec<&str> = keys.iter().map(|(_, key)| *key).collect();
                let keys = keys.join(", ");
                self.unknown.push(format!("# The certificates of ConfigMap {name}: {keys}\n"));
            }
            _ => self.findings.problem(
                &path.key("configMapName"),
                Reason::ConfigMapNotFound,
                format!("ConfigMap not found: {name}"),
                "create the ConfigMap, or name another",
            ),
        }
    }

    fn explicit_key(
        &mut self,
        name: &str,
        data: &BTreeMap<String, String>,
        key: &str,
        path: &FieldPath,
    ) {
        let mut refuse = |reason, message: String, remedy: &str| {
            self.findings.problem(path, reason, message, remedy);
        };
        if !is_key(key) {
            let message = format!("`{key}` cannot be a key of a ConfigMap");
            return refuse(Reason::Invalid, message, "name a key of the ConfigMap");
        }
        let Some(text) = data.get(key) else {
            let message = format!("ConfigMap {name} has no key `{key}`");
            return refuse(Reason::NotFound, message, "add the key, or name one that is there");
        };
        match llsd_pem::certificates(text) {
            Ok(found) if found.is_empty() && !text.trim().is_empty() => refuse(
                Reason::Invalid,
                format!("the key `{key}` of ConfigMap {name} holds no certificate"),
                "put PEM certificates there",
            ),
            Ok(found) => self.add(found),
            Err(why) => refuse(
                Reason::Invalid,
                format!("the key `{key}` of ConfigMap {name}: {why}"),
                "mend or remove the certificate",
            ),
        }
    }

    fn forbidden(&mut self, path: &FieldPath, name: &str, why: &str) {
        self.findings.problem(
            path,
            Reason::ConfigMapForbidden,
            format!("ConfigMap {name} cannot be read: {why}"),
            "grant that right",
        );
    }

    /// Nobody named this ConfigMap, so what is wrong with it is no reason to refuse a resource. But
    /// one that may not be read any more must not cost a running server its certificates.
    fn of_openshift_ai(&mut self) {
        let known = self.facts.config_maps.get(OPENSHIFT_AI_BUNDLE);
        if let Some(why) = known.and_then(|known| known.forbidden.as_ref()) {
            return self.forbidden(&path(), OPENSHIFT_AI_BUNDLE, why);
        }
        let Some(ConfigMapFacts { missing: false, data, .. }) = known else { return };
        for (key, text) in data {
            match llsd_pem::certificates(text) {
                Ok(found) => self.add(found),
                Err(why) => self.findings.warning(
                    &path(),
                    Reason::Ignored,
                    format!(
                        "the key `{key}` of ConfigMap {OPENSHIFT_AI_BUNDLE} is left out: {why}"
                    ),
                    "mend or remove the certificate",
                ),
            }
        }
    }

    fn add(&mut self, found: Vec<Vec<u8>>) {
        for certificate in found {
            if !self.certificates.contains(&certificate) {
                self.certificates.push(certificate);
            }
        }
    }

    fn finish(mut self, asked_for: bool) -> (Option<String>, Findings) {
        let mut text: String =
            self.certificates.iter().map(|certificate| llsd_pem::written(certificate)).collect();
        text.extend(self.unknown);
        let mut refuse = |reason, message: String, remedy: &str| {
            self.findings.problem(&path(), reason, message, remedy);
        };
        if self.certificates.len() > MAX_CERTIFICATES {
            let message = format!("there are {} certificates", self.certificates.len());
            refuse(Reason::Invalid, message, "keep at most 1000");
        } else if text.len() > MAX_BYTES {
            let message = format!("the certificates take {} bytes", text.len());
            refuse(
                Reason::Invalid,
                message,
                "keep at most 1048576, which is what a ConfigMap holds",
            );
        } else if asked_for && text.is_empty() && self.findings.problems.is_empty() {
            let message = "there is no certificate in any key".to_owned();
            self.findings.problem(&path(), Reason::Invalid, message, "put PEM certificates there");
        }
        (Some(text).filter(|text| !text.is_empty()), self.findings)
    }
}

fn path() -> FieldPath {
    FieldPath::spec().key("networking").key("tls").key("caBundle")
}

/// The rules of v0.9: v1alpha1's schema does not check them.
fn is_key(key: &str) -> bool {
    key.len() <= 253 && !key.contains("..") && KEY.is_match(key)
}
