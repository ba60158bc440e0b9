//! The operator's own configuration, read from its ConfigMap's data and its environment. Pure; what
//! is wrong is reported and left out, and the rest holds: a slip of the pen must not stop the operator.

mod images;
mod remarks;

use std::collections::BTreeMap;

use llsd_image::mirrors::Registries;
use llsd_image::settings::ConfigProblem;
use llsd_plan::facts::OperatorFacts;
use llsd_plan::releases::Distribution;
use serde_json::{Map, Value};

use images::IMAGE_OVERRIDES;
use remarks::{Remarks, below};

const FEATURE_FLAGS: &str = "featureFlags";
pub const REGISTRIES: &str = "registries";
const INGRESS_DOMAIN: &str = "ingressDomain";
const KEYS: [&str; 4] = [FEATURE_FLAGS, IMAGE_OVERRIDES, REGISTRIES, INGRESS_DOMAIN];

const NETWORK_POLICY: &str = "enableNetworkPolicy";
const ENABLED: &str = "enabled";
/// What a host name may be long, and each of its labels.
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

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
            network_policy: network_policy(
                &remarks.mapping(FEATURE_FLAGS, text(FEATURE_FLAGS)),
                &mut remarks,
            ),
            ingress_domain: ingress_domain(text(INGRESS_DOMAIN), &mut remarks),
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
            ..OperatorFacts::default()
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

/// Whether every server gets a NetworkPolicy or none does. v0.9 takes an absent flag for `false`;
/// here it leaves the choice to each resource:
///
/// ```yaml
/// enableNetworkPolicy:
///   enabled: true
/// ```
fn network_policy(flags: &Map<String, Value>, remarks: &mut Remarks) -> Option<bool> {
    for flag in flags.keys().filter(|flag| *flag != NETWORK_POLICY) {
        remarks.at(&below(FEATURE_FLAGS, flag), format!("unknown flag; known is {NETWORK_POLICY}"));
    }
    let path = below(FEATURE_FLAGS, NETWORK_POLICY);
    let flag = match flags.get(NETWORK_POLICY)? {
        Value::Null => return None,
        Value::Object(flag) => flag,
        _ => {
            remarks.at(&path, "must be a mapping with `enabled`");
            return None;
        }
    };
    for field in flag.keys().filter(|field| *field != ENABLED) {
        remarks.at(&below(&path, field), format!("unknown field; known is {ENABLED}"));
    }
    match flag.get(ENABLED) {
        None | Some(Value::Null) => None,
        Some(Value::Bool(enabled)) => Some(*enabled),
        Some(_) => {
            remarks.at(&below(&path, ENABLED), "must be true or false");
            None
        }
    }
}

/// The domain, where a valid one is given. White space around it is what a block of YAML leaves.
fn ingress_domain(text: &str, remarks: &mut Remarks) -> Option<String> {
    let domain = text.trim();
    if domain.is_empty() {
        return None;
    }
    if domain.len() > LONGEST_NAME || !domain.split('.').all(is_label) {
        remarks.at(
            INGRESS_DOMAIN,
            "must be a domain such as apps.example.com: lower-case labels of letters, digits and \
             `-`, without a wildcard",
        );
        return None;
    }
    Some(domain.to_owned())
}

fn is_label(label: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LONGEST_LABEL).contains(&label.len())
        && label.bytes().all(inside)
        && !label.starts_with('-')
        && !label.ends_with('-')
}

#[cfg(test)]
mod tests;
