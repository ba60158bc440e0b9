//! The operator's own configuration, read from its ConfigMap's data and its environment. Pure; what
//! is wrong is said and left out, and the rest holds: a slip of the pen must not stop the operator.

mod feature_flags;
mod images;
mod ingress_domain;

use std::collections::BTreeMap;

use llsd_plan::distributions::Distribution;
use llsd_plan::document;
use llsd_plan::facts::OperatorFacts;
use llsd_registry::mirrors::Registries;
use llsd_registry::settings::ConfigProblem;
use serde_json::{Map, Value};

const FEATURE_FLAGS: &str = "featureFlags";
const IMAGE_OVERRIDES: &str = "image-overrides";
pub const REGISTRIES: &str = "registries";
const INGRESS_DOMAIN: &str = "ingressDomain";
const KEYS: [&str; 4] = [FEATURE_FLAGS, IMAGE_OVERRIDES, REGISTRIES, INGRESS_DOMAIN];

/// What an administrator sets for all resources.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OperatorConfig {
    /// Images that replace those of the distributions, by distribution name.
    pub image_overrides: BTreeMap<String, String>,
    /// The same from the environment, where an installer for a closed network puts them.
    pub related_images: BTreeMap<String, String>,
    /// Whether every server gets a NetworkPolicy, or none; unset, each resource says it.
    pub network_policy: Option<bool>,
    /// The domain under which exposed servers without a host name of their own are reached.
    pub ingress_domain: Option<String>,
    /// Mirrors, certificate authorities and what else is special about registries.
    pub registries: Registries,
}

impl OperatorConfig {
    /// Reads the ConfigMap's data and the environment. All that was wrong or unknown is in the
    /// second part, each with its path: the key of the ConfigMap and what lies below, or the
    /// variable. A wrong entry is left out, a key that cannot be read counts as not set, and of
    /// `registries` all or nothing holds.
    pub fn read(
        data: &BTreeMap<String, String>,
        environment: impl Iterator<Item = (String, String)>,
    ) -> (Self, Vec<ConfigProblem>) {
        let mut remarks = Remarks::default();
        for key in data.keys().filter(|key| !KEYS.contains(&key.as_str())) {
            remarks.at(key, format!("unknown key; known are {}", KEYS.join(", ")));
        }
        let text = |key: &str| data.get(key).map(String::as_str).unwrap_or_default();
        let config = Self {
            image_overrides: images::overrides(
                remarks.mapping(IMAGE_OVERRIDES, text(IMAGE_OVERRIDES)),
                &mut remarks,
            ),
            related_images: images::related(environment, &mut remarks),
            network_policy: feature_flags::network_policy(
                &remarks.mapping(FEATURE_FLAGS, text(FEATURE_FLAGS)),
                &mut remarks,
            ),
            ingress_domain: ingress_domain::read(text(INGRESS_DOMAIN), &mut remarks),
            registries: registries(text(REGISTRIES), &mut remarks),
        };
        (config, remarks.0)
    }

    /// The distributions that resources can name, with the images that the names stand for.
    pub fn distributions(&self) -> BTreeMap<String, String> {
        let image = |name: &str, known: &Distribution| {
            let other = self.image_overrides.get(name).or_else(|| self.related_images.get(name));
            other.unwrap_or(&known.image).clone()
        };
        let all = Distribution::all().iter();
        all.map(|(name, known)| (name.clone(), image(name, known))).collect()
    }

    /// What planning must know of it; `namespace` and `image` are the operator's own.
    pub fn facts(&self, namespace: Option<String>, image: Option<String>) -> OperatorFacts {
        OperatorFacts {
            namespace,
            image,
            image_overrides: self.image_overrides.clone(),
            related_images: self.related_images.clone(),
            network_policy: self.network_policy,
            ingress_domain: self.ingress_domain.clone(),
        }
    }
}

fn registries(text: &str, remarks: &mut Remarks) -> Registries {
    Registries::parse(text).unwrap_or_else(|problems| {
        for problem in problems {
            remarks.at(&below(REGISTRIES, &problem.path), problem.message);
        }
        Registries::default()
    })
}

fn below(path: &str, key: &str) -> String {
    if key.is_empty() { path.to_owned() } else { format!("{path}.{key}") }
}

/// Collects what is to be said of a configuration while it is read.
#[derive(Debug, Default)]
struct Remarks(Vec<ConfigProblem>);

impl Remarks {
    fn at(&mut self, path: &str, message: impl Into<String>) {
        self.0.push(ConfigProblem { path: path.to_owned(), message: message.into() });
    }

    /// The YAML mapping under a key of the ConfigMap; an empty one where there is none.
    fn mapping(&mut self, key: &str, text: &str) -> Map<String, Value> {
        match document::read(text) {
            Ok(Value::Object(fields)) => return fields,
            Ok(Value::Null) => {}
            Ok(_) => self.at(key, "must be a YAML mapping"),
            Err(wrong) => self.at(key, format!("{}: {}", wrong.message, wrong.at)),
        }
        Map::new()
    }
}

#[cfg(test)]
mod tests;
