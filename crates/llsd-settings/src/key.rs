//! The keys of the operator's ConfigMap.

use llsd_image::settings::ConfigProblem;
use llsd_plan::problems::suggest::nearest;

/// A key of the operator's ConfigMap. Each is read by itself, and one that is broken leaves the
/// others alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ConfigKey {
    FeatureFlags,
    ImageOverrides,
    Registries,
    IngressDomain,
    ClusterDomain,
    CaBundleNamespaces,
    Rollback,
    Preflight,
    Rollout,
    Overrides,
    Exposure,
    Images,
}

impl ConfigKey {
    pub const ALL: [Self; 12] = [
        Self::FeatureFlags,
        Self::ImageOverrides,
        Self::Registries,
        Self::IngressDomain,
        Self::ClusterDomain,
        Self::CaBundleNamespaces,
        Self::Rollback,
        Self::Preflight,
        Self::Rollout,
        Self::Overrides,
        Self::Exposure,
        Self::Images,
    ];

    /// As the ConfigMap spells it.
    pub fn name(self) -> &'static str {
        match self {
            Self::FeatureFlags => "featureFlags",
            Self::ImageOverrides => "image-overrides",
            Self::Registries => "registries",
            Self::IngressDomain => "ingressDomain",
            Self::ClusterDomain => "clusterDomain",
            Self::CaBundleNamespaces => "caBundleNamespaces",
            Self::Rollback => "rollback",
            Self::Preflight => "preflight",
            Self::Rollout => "rollout",
            Self::Overrides => "overrides",
            Self::Exposure => "exposure",
            Self::Images => "images",
        }
    }

    /// Whether the key only takes away from what resources may ask for. Such a key must not fail open: a text
    /// that cannot be read restricts them most.
    pub(super) fn restricts(self) -> bool {
        matches!(self, Self::Overrides | Self::Exposure | Self::Images)
    }

    pub(super) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|key| key.name() == name)
    }

    /// The key that a misspelt one was probably meant to be.
    pub(super) fn meant(name: &str) -> Option<Self> {
        nearest(name, Self::ALL.map(Self::name)).and_then(Self::from_name)
    }

    /// What is said of a key that nobody reads.
    pub(super) fn unknown(name: &str) -> ConfigProblem {
        let meant = Self::meant(name)
            .map(|key| format!("did you mean {}? ", key.name()))
            .unwrap_or_default();
        let known = Self::ALL.map(Self::name).join(", ");
        ConfigProblem {
            path: name.to_owned(),
            message: format!("unknown key; {meant}known are {known}"),
        }
    }
}
