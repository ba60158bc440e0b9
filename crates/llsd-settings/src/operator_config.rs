//! What an administrator sets for all resources, from texts to values.

use std::collections::{BTreeMap, BTreeSet};

use llsd_api::v1alpha2::{PreflightPolicy, RollbackPolicy};
use llsd_image::mirrors::Registries;
use llsd_image::policy::ImagePolicy;
use llsd_image::settings::{ConfigProblem, Problems};
use llsd_plan::facts::{ExposureLimits, OperatorFacts, OverridesPolicy};
use llsd_plan::releases::Distribution;

use super::key::ConfigKey;
use super::remarks::{below, mapping};
use super::rollout::RolloutSettings;
use super::{domain, exposure, flags, images, namespaces, rollout};

/// No ConfigMap holds more, but whoever makes up a review can send it.
const LONGEST_TEXT: usize = 1024 * 1024;

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
    /// The cluster's DNS domain, where it is not the usual one.
    pub cluster_domain: Option<String>,
    /// Namespaces whose ConfigMaps with certificate authorities everybody may use.
    pub ca_bundle_namespaces: BTreeSet<String>,
    /// What becomes of changes that fail, where the resource does not say it.
    pub rollback: RollbackPolicy,
    /// Whether changes are checked before they are rolled out, where the resource does not say it.
    pub preflight: PreflightPolicy,
    /// How changes of inputs that several servers share reach them.
    pub rollout: RolloutSettings,
    /// Whether resources may set `workload.overrides`.
    pub overrides: OverridesPolicy,
    /// How servers may be exposed.
    pub exposure: ExposureLimits,
    /// Which images resources may name.
    pub images: ImagePolicy,
    /// Mirrors, certificate authorities and what else is special about registries.
    pub registries: Registries,
}

impl OperatorConfig {
    /// Reads texts by key, and the environment. All that was wrong or unknown is in the second part,
    /// each with its path: the key and what lies below, or the variable. A wrong entry is left out, a
    /// key that cannot be read counts as not set, and of `registries` all or nothing holds. A key that restricts
    /// resources (`overrides`, `exposure`, `images`) allows nothing where there is any mistake in it. Whether a
    /// text with mistakes is to be used at all is decided before, by `TextsInUse::check`.
    pub fn parse(
        data: &BTreeMap<String, String>,
        environment: impl Iterator<Item = (String, String)>,
    ) -> (Self, Vec<ConfigProblem>) {
        let unknown = data.keys().filter(|key| ConfigKey::from_name(key).is_none());
        let mut remarks = Problems(unknown.map(|key| ConfigKey::unknown(key)).collect());
        let mut config =
            Self { related_images: images::related(environment, &mut remarks), ..Self::default() };
        for key in ConfigKey::ALL {
            let text = data.get(key.name()).map(String::as_str).unwrap_or_default();
            remarks.0.extend(config.set(key, text));
        }
        (config, remarks.0)
    }

    /// Takes in the text of one key; what is wrong with it.
    pub(super) fn set(&mut self, key: ConfigKey, text: &str) -> Vec<ConfigProblem> {
        let mut remarks = Problems::default();
        if text.len() > LONGEST_TEXT {
            let message = format!("is longer than the {LONGEST_TEXT} bytes that a ConfigMap holds");
            remarks.at(key.name(), message);
        } else {
            self.read(key, text, &mut remarks);
        }
        if !remarks.0.is_empty() {
            self.restrict(key);
        }
        remarks.0
    }

    /// Gives a key that restricts resources its strictest value ([`ConfigKey::restricts`]).
    fn restrict(&mut self, key: ConfigKey) {
        match key {
            ConfigKey::Overrides => self.overrides = OverridesPolicy::Forbid,
            ConfigKey::Exposure => self.exposure = ExposureLimits::allowing_none(),
            ConfigKey::Images => self.images = ImagePolicy::allowing_none(),
            ConfigKey::FeatureFlags
            | ConfigKey::ImageOverrides
            | ConfigKey::Registries
            | ConfigKey::IngressDomain
            | ConfigKey::ClusterDomain
            | ConfigKey::CaBundleNamespaces
            | ConfigKey::Rollback
            | ConfigKey::Preflight
            | ConfigKey::Rollout => {}
        }
    }

    /// What can be read of the text of one key.
    fn read(&mut self, key: ConfigKey, text: &str, remarks: &mut Problems) {
        let name = key.name();
        match key {
            ConfigKey::FeatureFlags => {
                let flags = mapping(name, text, remarks);
                self.network_policy = flags::network_policy(&flags, remarks);
            }
            ConfigKey::ImageOverrides => {
                let entries = mapping(name, text, remarks);
                self.image_overrides = images::overrides(entries, remarks);
            }
            ConfigKey::Registries => {
                self.registries = document(key, Registries::parse(text), remarks);
            }
            ConfigKey::IngressDomain => {
                self.ingress_domain = domain::domain(name, "apps.example.com", text, remarks);
            }
            ConfigKey::ClusterDomain => {
                self.cluster_domain = domain::domain(name, "cluster.local", text, remarks);
            }
            ConfigKey::CaBundleNamespaces => {
                self.ca_bundle_namespaces = namespaces::namespaces(text, remarks);
            }
            ConfigKey::Rollback => {
                let choices = [("Auto", RollbackPolicy::Auto), ("Off", RollbackPolicy::Off)];
                self.rollback = choice(name, text, choices, remarks);
            }
            ConfigKey::Preflight => {
                let choices = [("Auto", PreflightPolicy::Auto), ("Off", PreflightPolicy::Off)];
                self.preflight = choice(name, text, choices, remarks);
            }
            ConfigKey::Rollout => {
                let fields = mapping(name, text, remarks);
                self.rollout = rollout::settings(&fields, remarks);
            }
            ConfigKey::Overrides => {
                let choices =
                    [("Allow", OverridesPolicy::Allow), ("Forbid", OverridesPolicy::Forbid)];
                self.overrides = choice(name, text, choices, remarks);
            }
            ConfigKey::Exposure => {
                let fields = mapping(name, text, remarks);
                self.exposure = exposure::limits(&fields, remarks);
            }
            ConfigKey::Images => {
                self.images = document(key, ImagePolicy::parse(text), remarks);
            }
        }
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
            cluster_domain: self.cluster_domain.clone(),
            ca_bundle_namespaces: Some(self.ca_bundle_namespaces.clone()),
            rollback: self.rollback,
            preflight: self.preflight,
            overrides: self.overrides,
            exposure: self.exposure.clone(),
            restricts_images: self.images != ImagePolicy::default(),
            ..OperatorFacts::default()
        }
    }
}

/// One of two words; the first is what all have by default.
fn choice<T: Copy>(key: &str, text: &str, choices: [(&str, T); 2], remarks: &mut Problems) -> T {
    let [(default, first), (other, second)] = choices;
    match text.trim() {
        text if text == other => return second,
        text if text.is_empty() || text == default => {}
        _ => remarks.at(key, format!("must be {default} or {other}")),
    }
    first
}

/// A document of which all or nothing holds.
fn document<T: Default>(
    key: ConfigKey,
    parsed: Result<T, Vec<ConfigProblem>>,
    remarks: &mut Problems,
) -> T {
    parsed.unwrap_or_else(|problems| {
        for problem in problems {
            remarks.at(&below(key.name(), &problem.path), problem.message);
        }
        T::default()
    })
}
