//! Everything that planning must know beyond the resource itself. The controller gathers it in one
//! pass, the command line reads it from a file; planning asks nobody else.
//!
//! Of Secrets only what §"Secrets" of `docs/configuration.md` lists is here, never a value. The one
//! exception is a connection string's parts, in a type that can be neither printed nor serialised.

mod api;
mod external_provider;
mod image;
mod named;
mod operator;
pub mod shape;
mod variables;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::server::listening::Listening;
pub use api::{Api, Served};
pub use external_provider::ExternalProviderFacts;
pub use image::{BaseFacts, BaseSource, ImageFacts, forbidden_image};
pub use named::{ClaimFacts, ConfigMapFacts, SecretFacts, SecretKeyFacts};

pub use operator::{
    ANY_NAMESPACE, CLUSTER_DOMAIN, DEFAULT_OPERATOR_IMAGE, ExposureLimits, OperatorFacts,
    OverridesPolicy,
};

/// What is known of the world around one resource.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Facts {
    /// Whether everything that exists is mentioned. The controller's facts are complete, so what
    /// they lack does not exist; offline, what is not mentioned is assumed to exist.
    pub complete: bool,
    /// The image that the resource runs, as its registry describes it.
    pub image: ImageFacts,
    /// Secrets of the resource's namespace, by name.
    pub secrets: BTreeMap<String, SecretFacts>,
    /// ConfigMaps: by name in the resource's namespace, by `namespace/name` elsewhere.
    pub config_maps: BTreeMap<String, ConfigMapFacts>,
    /// Volume claims of the resource's namespace that it names itself, by name.
    pub claims: BTreeMap<String, ClaimFacts>,
    /// What the images of external providers say of themselves, by image.
    pub external_providers: BTreeMap<String, ExternalProviderFacts>,
    /// The resource's uid; without it owner references are left out.
    pub owner_uid: Option<String>,
    /// The state of the resource that the Deployment carries, where the resource as it was written
    /// does not say it: a file has no generation.
    pub planned_for: Option<String>,
    /// The record of the resource's own inputs that the Deployment carries, where a file is planned.
    pub inputs: Option<String>,
    pub operator: OperatorFacts,
    /// Proof, for later, that the resource may use the ConfigMap of another namespace that its
    /// `caBundle` names.
    pub ca_bundle_grant: Option<String>,
    /// What the cluster serves of what decides the plan, as `route.openshift.io/v1/routes`; an API
    /// group alone, such as `route.openshift.io`, stands for all of it.
    pub served_apis: BTreeSet<String>,
    /// The same of which nobody can tell now whether it is served, because the API server behind it
    /// does not answer.
    pub unknown_apis: BTreeSet<String>,
    /// Objects of an earlier operator that are taken over.
    pub adopted: AdoptedFacts,
    /// How the pods listen that serve now, where there is a Deployment: what leads to them follows them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub listening: Option<Listening>,
    /// Which key of the operator's made the hashes of secrets, by a few digits of its own hash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hash_key: Option<String>,
}

impl Facts {
    pub fn serves(&self, api: Api) -> Served {
        let is_in = |named: &BTreeSet<String>| {
            named.contains(api.group) || named.contains(api.name().as_str())
        };
        if is_in(&self.served_apis) {
            Served::Yes
        } else if is_in(&self.unknown_apis) {
            Served::Unknown
        } else {
            Served::No
        }
    }
}

/// Objects of an earlier operator that shape what is planned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AdoptedFacts {
    /// There is an Ingress already; it stays one, also where Routes are served.
    pub ingress: bool,
}
