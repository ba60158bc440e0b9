//! What the objects are made from, and what the spec says, with its defaults, where several objects
//! must agree on it.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use k8s_openapi::ByteString;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use llsd_api::v1alpha2::{
    AutoscalingSpec, LlamaStackDistributionSpec, MetricsSpec, NetworkingSpec, OverridesSpec,
    WorkloadSpec,
};

use super::kind::ObjectKind;
use super::{labels, names};
use crate::config::wiring::{Database, ExternalInstall, RedisSidecar, Variable};
use crate::facts::{Api, ConfigMapFacts, Facts, Served};
use crate::releases::ServerFamily;
use crate::resource::{Key, Resource};
use crate::server::listening::{ACCESS_KNOWN, Listening};
use crate::server::paths::DEFAULT_MOUNT_PATH;
use crate::values::sha256;

/// What the objects are made from: the resource, the facts, and what generation decided.
#[derive(Clone, Debug)]
pub struct Blueprint<'a> {
    pub name: &'a str,
    pub namespace: &'a str,
    pub spec: &'a LlamaStackDistributionSpec,
    pub facts: &'a Facts,
    /// The image to run, pinned to its digest where that is known.
    pub image: String,
    /// `llama-stack`, unless a v1alpha1 object named its container otherwise.
    pub container_name: String,
    pub config: ConfigSource,
    /// The server that the image holds.
    pub server: ServerFamily,
    /// Environment that generation asks for: secrets, telemetry, storage.
    pub environment: Vec<Variable>,
    /// The sidecar that logs in to Redis for the server.
    pub redis: Option<RedisSidecar>,
    /// The database whose parts the owned Secret holds.
    pub database: Option<Database>,
    /// A hash over the referenced secrets' hashes; it changes when one of them does.
    pub secret_hash: Option<String>,
    /// A hash over what variables of the user's own refer to.
    pub variables_hash: Option<String>,
    /// Certificates that the server trusts, as one PEM text.
    pub ca_bundle: Option<String>,
    pub external_providers: Vec<ExternalInstall>,
    /// The state of the resource that is planned for; none offline.
    pub planned_for: Option<String>,
    /// The record of the resource's own inputs; none offline.
    pub inputs: Option<String>,
}

/// Where the server's configuration comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigSource {
    /// A file of ours in an immutable ConfigMap, whose name and whose pods carry its hash.
    Generated { text: String, hash: String },
    /// The user's own ConfigMap; `hash` is of the key's content, where that is known.
    Override {
        config_map: String,
        key: String,
        hash: Option<String>,
        /// What the pods mount in its place, so that one that starts again by itself never picks up an
        /// edit that was not checked. Without it, where its content is not known, the ConfigMap itself.
        copy: Option<ConfigCopy>,
    },
    /// The file inside the image.
    Default,
}

/// Everything that a ConfigMap of the user's holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigCopy {
    pub data: BTreeMap<String, String>,
    pub binary_data: BTreeMap<String, ByteString>,
    /// Of all keys and values.
    pub hash: String,
}

impl ConfigCopy {
    pub fn from_facts(found: &ConfigMapFacts) -> Self {
        Self::holding(found.data.clone(), found.binary_data.clone())
    }

    /// The same with another file under a key.
    #[must_use]
    pub fn with(&self, key: &str, text: &str) -> Self {
        let mut data = self.data.clone();
        data.insert(key.to_owned(), text.to_owned());
        Self::holding(data, self.binary_data.clone())
    }

    fn holding(data: BTreeMap<String, String>, binary_data: BTreeMap<String, ByteString>) -> Self {
        let text = serde_json::json!([data, binary_data]).to_string();
        Self { data, binary_data, hash: sha256::hex(&text) }
    }
}

impl ConfigSource {
    pub fn generated(text: String) -> Self {
        Self::Generated { hash: sha256::hex(&text), text }
    }
}

/// The server's own default.
pub const DEFAULT_PORT: i32 = NetworkingSpec::DEFAULT_PORT;

static NETWORKING: LazyLock<NetworkingSpec> = LazyLock::new(NetworkingSpec::default);
static WORKLOAD: LazyLock<WorkloadSpec> = LazyLock::new(WorkloadSpec::default);
static OVERRIDES: LazyLock<OverridesSpec> = LazyLock::new(OverridesSpec::default);

impl<'a> Blueprint<'a> {
    /// For what says nothing of what runs in the pods.
    pub(super) fn of_surroundings(
        resource: &'a Resource,
        spec: &'a LlamaStackDistributionSpec,
        facts: &'a Facts,
    ) -> Self {
        Self {
            name: &resource.key.name,
            namespace: &resource.key.namespace,
            spec,
            facts,
            image: String::new(),
            container_name: String::new(),
            config: ConfigSource::Default,
            server: ServerFamily::default(),
            environment: Vec::new(),
            redis: None,
            database: None,
            secret_hash: None,
            variables_hash: None,
            ca_bundle: None,
            external_providers: Vec::new(),
            planned_for: None,
            inputs: None,
        }
    }

    pub(super) fn networking(&self) -> &'a NetworkingSpec {
        self.spec.networking.as_ref().unwrap_or(&NETWORKING)
    }

    pub(super) fn workload(&self) -> &'a WorkloadSpec {
        self.spec.workload.as_ref().unwrap_or(&WORKLOAD)
    }

    pub(super) fn overrides(&self) -> &'a OverridesSpec {
        self.workload().overrides.as_ref().unwrap_or(&OVERRIDES)
    }

    /// The port that the server listens on. v1alpha1 has no bounds, and v0.9 takes 0 for "not set".
    pub fn port(&self) -> i32 {
        self.networking().port.filter(|port| *port != 0).unwrap_or(DEFAULT_PORT)
    }

    /// The port that the server's figures are served on, if they are.
    pub(super) fn metrics_port(&self) -> Option<i32> {
        let metrics = self.spec.monitoring.as_ref()?.metrics.as_ref()?;
        metrics.enabled.then(|| metrics.port.unwrap_or(MetricsSpec::DEFAULT_PORT))
    }

    /// The Secret with the server's certificate, if the server speaks TLS.
    pub fn server_tls(&self) -> Option<&'a str> {
        let tls = self.networking().tls.as_ref()?;
        tls.secret_name.as_deref().filter(|_| tls.enabled == Some(true))
    }

    /// How the server listens.
    pub fn listening(&self) -> Listening {
        let tls = self.server_tls().map(Into::into);
        let guarded = self.environment.iter().any(|variable| variable.name == ACCESS_KNOWN);
        Listening { port: self.port(), tls, metrics: self.metrics_port(), guarded }
    }

    /// Whether the pod needs one file with everybody whom the server trusts: a server that asks a token
    /// provider is always told whom it trusts.
    pub(super) fn joins_trust(&self) -> bool {
        let access = self.spec.access.as_ref();
        self.ca_bundle.is_some() || access.is_some_and(|it| it.authentication.oidc.is_some())
    }

    /// Whether the server asks the API server about tokens.
    pub(super) fn asks_api_server(&self) -> bool {
        let access = self.spec.access.as_ref();
        access.is_some_and(|access| access.authentication.kubernetes.is_some())
    }

    pub(super) fn workers(&self) -> i32 {
        self.workload().workers.unwrap_or(1)
    }

    /// Whether the server is asked to listen in a way that no image's own entrypoint knows.
    pub(super) fn listens_otherwise(&self) -> bool {
        self.workers() > 1 || self.server_tls().is_some()
    }

    pub(super) fn replicas(&self) -> i32 {
        self.workload().replicas.unwrap_or(1)
    }

    /// v0.9 scales nothing with `maxReplicas: 0`, which v1alpha1 allows.
    pub(super) fn autoscaling(&self) -> Option<&'a AutoscalingSpec> {
        self.workload().autoscaling.as_ref().filter(|autoscaling| autoscaling.max_replicas > 0)
    }

    /// The fewest pods that an autoscaler keeps: what the resource sets, else `replicas`. It cannot be
    /// more than the most, which v1alpha1 does not check.
    pub(super) fn fewest_scaled(&self, autoscaling: &AutoscalingSpec) -> i32 {
        let fewest = autoscaling.min_replicas.unwrap_or_else(|| self.replicas());
        fewest.clamp(1, autoscaling.max_replicas.max(1))
    }

    /// Whether more than one pod can run, so that they are spread and drained one by one.
    pub(super) fn runs_several(&self) -> bool {
        let scaled = self.autoscaling().is_some_and(|scaling| scaling.max_replicas > 1);
        self.replicas() > 1 || scaled
    }

    /// The claim of the volume that `workload.storage` asks for: the user's own, or ours.
    pub(super) fn claim_name(&self) -> Option<String> {
        let storage = self.workload().storage.as_ref()?;
        Some(
            storage
                .existing_claim
                .clone()
                .unwrap_or_else(|| names::of(ObjectKind::VolumeClaim, self.name)),
        )
    }

    /// Whether the server's state lies on a claim that it writes to, by `workload.storage` or by a
    /// volume of the user's in its place.
    pub(super) fn keeps_state(&self) -> bool {
        let overrides = self.overrides();
        let is_claim = |name: &str| {
            let mut volumes = overrides.volumes.iter().flatten();
            volumes.any(|volume| {
                let claim = volume.persistent_volume_claim.as_ref();
                volume.name == name && claim.is_some_and(|claim| claim.read_only != Some(true))
            })
        };
        let state = self.mount_path().trim_end_matches('/');
        let mut mounts = overrides.volume_mounts.iter().flatten();
        self.workload().storage.is_some()
            || mounts.any(|mount| {
                let below = mount.mount_path.trim_end_matches('/').strip_prefix(state);
                below.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
                    && mount.read_only != Some(true)
                    && is_claim(&mount.name)
            })
    }

    /// Whether the cluster is known to serve something.
    pub(super) fn serves(&self, api: Api) -> bool {
        self.facts.serves(api) == Served::Yes
    }

    /// Where the volume, or what stands in for it, is mounted.
    pub(super) fn mount_path(&self) -> &'a str {
        let storage = self.workload().storage.as_ref();
        let given = storage.and_then(|storage| storage.mount_path.as_deref());
        given.filter(|path| !path.is_empty()).unwrap_or(DEFAULT_MOUNT_PATH)
    }

    /// The resource, as its objects refer to it.
    pub(super) fn owner(&self) -> Owner<'a> {
        Owner { name: self.name, namespace: self.namespace, uid: self.facts.owner_uid.as_deref() }
    }

    /// Metadata of an object that the cluster deletes together with the resource.
    pub(super) fn owned(&self, name: String) -> ObjectMeta {
        self.owner().owned(name)
    }

    /// Metadata of an object that outlives the resource.
    pub(super) fn lasting(&self, name: String) -> ObjectMeta {
        self.owner().lasting(name)
    }
}

/// A resource, as its objects refer to it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Owner<'a> {
    pub(super) name: &'a str,
    pub(super) namespace: &'a str,
    /// Not known offline.
    pub(super) uid: Option<&'a str>,
}

impl<'a> Owner<'a> {
    pub(super) fn from_resource(resource: &'a Resource) -> Self {
        let Key { namespace, name } = &resource.key;
        Self { name, namespace, uid: resource.uid.as_deref() }
    }

    /// Metadata of an object that the cluster deletes together with the resource.
    pub(super) fn owned(&self, name: String) -> ObjectMeta {
        ObjectMeta { owner_references: self.references(), ..self.lasting(name) }
    }

    /// Metadata of an object that outlives the resource.
    pub(super) fn lasting(&self, name: String) -> ObjectMeta {
        ObjectMeta {
            name: Some(name),
            namespace: Some(self.namespace.into()),
            labels: Some(labels::of_objects(self.name)),
            ..Default::default()
        }
    }

    /// None where the resource's uid is not known, as offline: a made-up one would have the cluster
    /// delete the object at once.
    fn references(&self) -> Option<Vec<OwnerReference>> {
        let uid = self.uid?.to_owned();
        Some(vec![OwnerReference {
            api_version: format!("{}/v1alpha2", llsd_api::GROUP),
            kind: llsd_api::KIND.into(),
            name: self.name.into(),
            uid,
            controller: Some(true),
            block_owner_deletion: Some(true),
        }])
    }
}
