//! What is switched off: the APIs that the resource disables, and what falls with them.

use std::collections::{BTreeMap, BTreeSet};

use llsd_api::v1alpha2::LlamaStackDistributionSpec;

use crate::releases::ServerProfile;
use crate::releases::api_name;

/// The APIs that are switched off, and those that fall with them.
#[derive(Clone, Debug, Default)]
pub(super) struct SwitchedOff {
    pub(super) direct: BTreeSet<String>,
    /// APIs that are gone, each with the disabled one that is the cause.
    pub(super) gone: BTreeMap<String, String>,
    /// Providers that fell, also of APIs that others still serve.
    pub(super) fallen: Vec<Fallen>,
}

/// A provider that could not stay.
#[derive(Clone, Debug)]
pub(super) struct Fallen {
    pub(super) api: String,
    pub(super) id: String,
    pub(super) provider_type: String,
    /// The disabled API that is the cause.
    pub(super) cause: String,
}

impl SwitchedOff {
    pub(super) fn new(spec: &LlamaStackDistributionSpec, profile: &ServerProfile) -> Self {
        let names = spec.disabled.iter().flatten();
        let direct: BTreeSet<String> =
            names.map(|name| api_name::in_config(profile, name)).collect();
        let gone = direct.iter().map(|api| (api.clone(), api.clone())).collect();
        Self { direct, gone, fallen: Vec::new() }
    }

    pub(super) fn directly(&self, api: &str) -> bool {
        self.direct.contains(api)
    }

    /// The first provider that fell and fits.
    pub(super) fn fallen(&self, fits: impl Fn(&Fallen) -> bool) -> Option<&Fallen> {
        self.fallen.iter().find(|fallen| fits(fallen))
    }

    /// The disabled API because of which this one is gone.
    pub(super) fn cause(&self, api: &str) -> Option<&str> {
        self.gone.get(api).map(String::as_str)
    }
}
