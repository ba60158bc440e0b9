//! Everything that planning must know beyond the resource itself. The controller gathers it in one
//! pass, the command line reads it from a file; planning asks nobody else.
//!
//! Of Secrets only what §"Secrets" of `docs/configuration.md` lists is here, never a value. The one
//! exception is a connection string's parts, in a type that can be neither printed nor serialised.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::ByteString;
use llsd_api::v1alpha2::{PreflightPolicy, RollbackPolicy};
use serde::{Deserialize, Serialize};

use crate::connection::Connection;
use crate::releases::Releases;
use crate::shape::Shape;

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
}

/// A resource of the API server that a cluster may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Api {
    pub group: &'static str,
    pub version: &'static str,
    /// As it stands in URLs.
    pub plural: &'static str,
}

/// Whether a cluster serves something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    Yes,
    No,
    Unknown,
}

impl Api {
    /// OpenShift's rules for pods: where they are served, it picks the ids that a pod runs with.
    pub const SECURITY_CONSTRAINTS: Self = Self {
        group: "security.openshift.io",
        version: "v1",
        plural: "securitycontextconstraints",
    };

    /// As facts name it.
    pub fn name(self) -> String {
        let Self { group, version, plural } = self;
        format!("{group}/{version}/{plural}")
    }
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

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ImageFacts {
    /// The digest that the image resolved to, `sha256:…`; without it the image runs unpinned.
    pub digest: Option<String>,
    /// The release of the server inside, from the image's version label.
    pub release: Option<String>,
    /// The variables that the image itself sets, where its configuration was read.
    pub variables: Option<BTreeSet<String>>,
    /// The base configuration that the image carries.
    pub base: Option<BaseFacts>,
    /// The image was looked at, so that without a base here it carries none.
    pub inspected: bool,
    /// Why the registry could not be asked, in words for the user.
    pub unavailable: Option<String>,
    /// The image is known to carry a configuration, so that none of the operator's own may stand
    /// in for it while the registry cannot be asked.
    pub carries_base: bool,
    /// Platforms of the image that hold another configuration than the one in `base`.
    pub differing_platforms: Vec<String>,
}

/// A base configuration and where it was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BaseFacts {
    pub text: String,
    pub source: BaseSource,
    /// The label that held it or pointed to it, or the file that was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found_in: Option<String>,
}

/// Where a base configuration came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum BaseSource {
    /// In a label of the image.
    Labels,
    /// In a layer that a label points to.
    Layer,
    /// In the operator itself, for a distribution that it knows.
    Embedded,
    /// In a file on the command line.
    File,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SecretFacts {
    /// A Secret that was looked for in vain is mentioned with `true` here.
    pub missing: bool,
    /// Why it may not be read, in words for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forbidden: Option<String>,
    /// The keys that were asked for and are there.
    pub keys: BTreeMap<String, SecretKeyFacts>,
}

/// What may be known of a secret value.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct SecretKeyFacts {
    /// A keyed hash of the value, by which a change is noticed.
    pub hash: String,
    /// The value is empty, and the server would refuse to start.
    pub empty: bool,
    /// The server would read the value as a number or boolean, and refuse to start.
    pub coerced: bool,
    /// What the value looks like, for the one that stands in for it where a change is judged.
    #[serde(skip_serializing_if = "Shape::is_text")]
    pub shape: Shape,
    /// The value read as a database's connection string; it never leaves the process.
    #[serde(skip)]
    pub connection: Option<Result<Connection, &'static str>>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ConfigMapFacts {
    /// A ConfigMap that was looked for in vain is mentioned with `true` here.
    pub missing: bool,
    /// Why it may not be read, in words for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub forbidden: Option<String>,
    pub data: BTreeMap<String, String>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub binary_data: BTreeMap<String, ByteString>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ClaimFacts {
    /// A claim that was looked for in vain is mentioned with `true` here.
    pub missing: bool,
    /// How its volume can be mounted.
    pub access_modes: Vec<String>,
}

/// What an external provider's image says of itself: in its labels, empty where one is not there, or in
/// its package file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct ExternalProviderFacts {
    /// The digest that the image resolved to, `sha256:…`; without it the image runs unpinned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The API it provides, as config.yaml spells it.
    pub api: String,
    pub provider_type: String,
    /// The Python package that the server imports.
    pub module: String,
    /// The class of its configuration, where the package has no module `provider`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config_class: Option<String>,
    /// The text of its package file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package_file: Option<String>,
    /// Platforms of the image whose package file is another one.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub differing_platforms: Vec<String>,
    /// Why the registry could not be asked, in words for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unavailable: Option<String>,
    /// What is wrong with the image itself, in words for the user.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unusable: Option<String>,
}

impl ExternalProviderFacts {
    /// The labels by which an image says it.
    pub const API_LABEL: &str = "io.llamastack.provider.api";
    pub const TYPE_LABEL: &str = "io.llamastack.provider.type";
    pub const MODULE_LABEL: &str = "io.llamastack.provider.module";
    /// Where the package has no module `provider`.
    pub const CONFIG_CLASS_LABEL: &str = "io.llamastack.provider.config-class";
    /// An image with these says all that must be known of it.
    pub const LABELS: &[&str] = &[Self::API_LABEL, Self::TYPE_LABEL, Self::MODULE_LABEL];

    /// The labels that the image lacks.
    pub fn missing_labels(&self) -> Vec<&'static str> {
        let labels = [
            (Self::API_LABEL, &self.api),
            (Self::TYPE_LABEL, &self.provider_type),
            (Self::MODULE_LABEL, &self.module),
        ];
        labels.into_iter().filter(|(_, said)| said.is_empty()).map(|(label, _)| label).collect()
    }
}

/// What the operator knows of itself and of its own configuration.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct OperatorFacts {
    pub namespace: Option<String>,
    /// The operator's own image, which the Redis sidecar and the installer of providers run.
    pub image: Option<String>,
    /// `image-overrides` of the operator's ConfigMap, by distribution name.
    pub image_overrides: BTreeMap<String, String>,
    /// The `RELATED_IMAGE_…` variables of the operator, by distribution name.
    pub related_images: BTreeMap<String, String>,
    /// `enableNetworkPolicy` of the operator's ConfigMap, where it is set.
    pub network_policy: Option<bool>,
    /// The domain under which exposed servers without a host name of their own are reached.
    pub ingress_domain: Option<String>,
    /// The cluster's DNS domain, where it is not [`CLUSTER_DOMAIN`].
    pub cluster_domain: Option<String>,
    /// The other namespaces in which `caBundle` may name a ConfigMap. Offline that is not known, and
    /// then it is no reason to refuse one.
    pub ca_bundle_namespaces: Option<BTreeSet<String>>,
    /// What becomes of changes that fail, where the resource does not say it.
    pub rollback: RollbackPolicy,
    /// Whether changes are judged before they are rolled out, where the resource does not say it.
    pub preflight: PreflightPolicy,
    /// What is known of server releases: the shipped table, unless a test has another.
    #[serde(skip)]
    pub releases: &'static Releases,
}

/// The operator's own image, where the operator does not know it: the release's.
pub const DEFAULT_OPERATOR_IMAGE: &str =
    concat!("docker.io/llamastack/llsd-operator:", env!("CARGO_PKG_VERSION"));

/// The DNS domain that clusters have unless somebody chose another.
pub const CLUSTER_DOMAIN: &str = "cluster.local";

/// Stands for all namespaces.
pub const ANY_NAMESPACE: &str = "*";

impl OperatorFacts {
    /// The operator's own image.
    pub fn image(&self) -> &str {
        self.image.as_deref().unwrap_or(DEFAULT_OPERATOR_IMAGE)
    }

    pub fn cluster_domain(&self) -> &str {
        self.cluster_domain.as_deref().unwrap_or(CLUSTER_DOMAIN)
    }

    /// Whether a resource of another namespace may trust what a ConfigMap of this one holds.
    pub fn allows_ca_bundle_of(&self, namespace: &str) -> bool {
        let Some(allowed) = &self.ca_bundle_namespaces else { return true };
        allowed.contains(namespace) || allowed.contains(ANY_NAMESPACE)
    }
}

/// Objects of an earlier operator that shape what is planned.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct AdoptedFacts {
    /// There is an Ingress already; it stays one, also where Routes are served.
    pub ingress: bool,
}
