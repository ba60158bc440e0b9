//! The operator's own configuration while it runs: the texts of its ConfigMap that are in use, which
//! mirrors the cluster names, the keys that images are signed with, and the registry client.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use llsd_registry::mirrors::{self, MirrorRule, Registries};
use llsd_registry::signature::VerifyingKey;
use llsd_registry::{Config, Digest, Reference, Registry};
use serde_json::Value;

use llsd_settings::{OperatorConfig, TextsInUse};

/// The configuration that holds now.
#[derive(Debug)]
pub struct Configuration {
    pub config: OperatorConfig,
    pub registry: Arc<Registry>,
    keys: Option<Arc<ImageKeys>>,
    /// Images that have the signature that they need under this configuration.
    verified: Mutex<HashSet<(String, Digest)>>,
}

/// The public keys that images are signed with, by their names in the operator's Secret.
pub type ImageKeys = BTreeMap<String, VerifyingKey>;

/// Beyond that all are forgotten, and verified again.
const MOST_VERIFIED: usize = 10_000;

impl Configuration {
    /// The keys of which one must have signed the image; `None` where it needs no signature, or where it is
    /// not known which keys there are.
    pub fn signers(&self, image: &Reference) -> Option<Vec<VerifyingKey>> {
        let names = self.config.images.keys_for(&image.name())?;
        let keys = self.keys.as_ref()?;
        Some(names.into_iter().filter_map(|name| keys.get(name).cloned()).collect())
    }

    /// Stands for these keys, in whatever order.
    pub fn signers_id(&self, image: &Reference) -> Option<String> {
        let keys: BTreeSet<String> =
            self.signers(image)?.iter().map(VerifyingKey::fingerprint).collect();
        Some(Vec::from_iter(keys).join(","))
    }

    pub fn is_verified(&self, image: &Reference, digest: &Digest) -> bool {
        self.verified().contains(&(image.name(), digest.clone()))
    }

    pub fn set_verified(&self, image: &Reference, digest: &Digest) {
        let mut verified = self.verified();
        if verified.len() >= MOST_VERIFIED {
            verified.clear();
        }
        verified.insert((image.name(), digest.clone()));
    }

    fn verified(&self) -> MutexGuard<'_, HashSet<(String, Digest)>> {
        self.verified.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The configuration that holds now, and where it came from.
#[derive(Debug)]
pub struct CurrentConfiguration {
    now: RwLock<Arc<Configuration>>,
    sources: Mutex<Sources>,
}

#[derive(Debug, Default)]
struct Sources {
    texts: TextsInUse,
    /// Rules of the cluster's mirror objects, by kind and name.
    mirrors: BTreeMap<(String, String), Vec<MirrorRule>>,
    /// What the registry client was made with.
    registries: Registries,
    keys: Option<Arc<ImageKeys>>,
}

impl Default for CurrentConfiguration {
    fn default() -> Self {
        let (config, problems) = OperatorConfig::parse(&BTreeMap::new(), environment());
        for problem in &problems {
            tracing::warn!(%problem, "a variable of the operator is left out");
        }
        let registries = config.registries.clone();
        let registry = Arc::new(registry(&registries));
        Self {
            now: RwLock::new(Arc::new(Configuration {
                config,
                registry,
                keys: None,
                verified: Mutex::default(),
            })),
            sources: Mutex::new(Sources { registries, ..Sources::default() }),
        }
    }
}

impl CurrentConfiguration {
    pub fn get(&self) -> Arc<Configuration> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Whether the operator's ConfigMap, or that there is none, was ever seen, by this operator or by one
    /// before it.
    pub fn is_known(&self) -> bool {
        self.sources().texts != TextsInUse::default()
    }

    /// The texts of the operator's ConfigMap that are in use.
    pub fn texts(&self) -> TextsInUse {
        self.sources().texts.clone()
    }

    /// Uses these texts from now on; whether anything changed.
    pub fn set_texts(&self, texts: TextsInUse) -> bool {
        let mut sources = self.sources();
        if sources.texts == texts {
            return false;
        }
        sources.texts = texts;
        self.renew(&mut sources);
        true
    }

    /// Uses these keys from now on; whether anything changed.
    pub fn set_keys(&self, keys: ImageKeys) -> bool {
        let mut sources = self.sources();
        if sources.keys.as_deref() == Some(&keys) {
            return false;
        }
        sources.keys = Some(Arc::new(keys));
        self.renew(&mut sources);
        true
    }

    /// Takes in one of the cluster's mirror objects, or its end; whether anything changed.
    pub fn set_mirrors(&self, kind: &str, name: &str, object: Option<&Value>) -> bool {
        let rules = object.map(|object| {
            let converted = mirrors::mirror_rules(object);
            for problem in &converted.problems {
                tracing::warn!(kind, name, %problem, "a mirror object cannot be used in full");
            }
            converted.rules
        });
        let mut sources = self.sources();
        let place = (kind.to_owned(), name.to_owned());
        let before = match rules.clone() {
            Some(rules) => sources.mirrors.insert(place, rules),
            None => sources.mirrors.remove(&place),
        };
        if before == rules {
            return false;
        }
        self.renew(&mut sources);
        true
    }

    /// Forgets the mirror objects of a kind that a new list did not show; whether anything changed.
    pub fn keep_mirrors(&self, kind: &str, listed: &HashSet<String>) -> bool {
        let mut sources = self.sources();
        let before = sources.mirrors.len();
        sources.mirrors.retain(|(known, name), _| known != kind || listed.contains(name));
        let changed = sources.mirrors.len() < before;
        if changed {
            self.renew(&mut sources);
        }
        changed
    }

    fn sources(&self) -> MutexGuard<'_, Sources> {
        self.sources.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn renew(&self, sources: &mut Sources) {
        // What is wrong with them was said when they were checked.
        let (config, _) = OperatorConfig::parse(&sources.texts.by_name(), environment());
        let mut registries = config.registries.clone();
        registries.add_rules(sources.mirrors.values().flatten().cloned());
        let registry = if registries == sources.registries {
            Arc::clone(&self.get().registry)
        } else {
            // What was read through other mirrors is read again.
            Arc::new(registry(&registries))
        };
        sources.registries = registries;
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(Configuration {
            config,
            registry,
            keys: sources.keys.clone(),
            verified: Mutex::default(),
        });
    }
}

/// A variable that is no text is none of ours.
fn environment() -> impl Iterator<Item = (String, String)> {
    std::env::vars_os()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
}

fn registry(registries: &Registries) -> Registry {
    Registry::new(Config { registries: registries.clone(), ..Config::default() })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_mirror_object_that_a_new_list_does_not_show_is_no_longer_in_force() {
        let configuration = CurrentConfiguration::default();
        let object = json!({
            "apiVersion": "config.openshift.io/v1", "kind": "ImageDigestMirrorSet",
            "metadata": {"name": "one"},
            "spec": {"imageDigestMirrors": [{"source": "docker.io/a", "mirrors": ["mirror.example.com/a"]}]},
        });
        for name in ["one", "two"] {
            assert!(configuration.set_mirrors("ImageDigestMirrorSet", name, Some(&object)));
        }
        let registry = configuration.get().registry.clone();
        assert!(!configuration.keep_mirrors("ImageTagMirrorSet", &HashSet::new()));
        let listed = HashSet::from(["one".to_owned(), "two".to_owned()]);
        assert!(!configuration.keep_mirrors("ImageDigestMirrorSet", &listed));
        assert!(Arc::ptr_eq(&registry, &configuration.get().registry));
        assert!(configuration.keep_mirrors("ImageDigestMirrorSet", &HashSet::new()));
        assert!(!Arc::ptr_eq(&registry, &configuration.get().registry), "it is asked without them");
    }
}
