//! A resource, read once: every step from planning to the status takes it from here.

use std::collections::BTreeMap;

use llsd_api::conversion::carried_container_name;
use llsd_api::v1alpha2::LlamaStackDistributionSpec;
use serde::Deserialize;
use serde_json::Value;

use super::annotations::{
    APPROVE, PAUSED, PREFLIGHT, REFRESH, RETRY, ROLLBACK_TO, SKIP, warn_of_preflight,
};
use super::key::Key;
use super::template_inputs::{self, Inputs};
use crate::problems::Findings;
use crate::validate::validate_stored;
use crate::values::sha256;

/// Why a Deployment of an earlier operator is not as planned, in its condition.
const TEMPLATE_KEPT: &str = "AdoptedTemplateKept";
/// Why a change of shared inputs has not reached the server yet, in its condition.
const WAITING_FOR_TURN: &str = "WaitingForTurn";
/// Why a Deployment does not follow the spec although the operator did all that it could: the change was
/// refused, or the server returned from it.
const ENDED: [&str; 3] = ["PreflightFailed", "RolledBack", "RollbackRequested"];

/// Fields of the spec that pods are not made from: an edit of them restarts nothing.
const NOT_OF_PODS: [&[&str]; 10] = [
    &["workload", "replicas"],
    &["workload", "rollback"],
    &["workload", "preflight"],
    &["workload", "historyLimit"],
    &["workload", "autoscaling"],
    &["workload", "podDisruptionBudget"],
    &["workload", "storage", "size"],
    &["networking", "expose"],
    &["networking", "allowedFrom"],
    &["monitoring", "serviceMonitor"],
];
/// How many of them earlier operators left out of their record.
const LEFT_OUT_BEFORE: usize = 4;

/// The namespace of a resource that names none, as kubectl has it.
const DEFAULT_NAMESPACE: &str = "default";

/// A resource as v1alpha2, from a cluster or a file.
#[derive(Clone, Debug)]
pub struct Resource {
    pub key: Key,
    /// The cluster's name for it; a file has none.
    pub uid: Option<String>,
    /// By which a write to an older form of it is refused.
    pub version: Option<String>,
    pub generation: Option<i64>,
    pub labels: BTreeMap<String, String>,
    /// The values of [`REFRESH`], [`APPROVE`], [`RETRY`] and [`ROLLBACK_TO`].
    refresh: Option<String>,
    approve: Option<String>,
    retry: Option<String>,
    pub rollback_to: Option<String>,
    /// [`PAUSED`] is `true`.
    pub paused: bool,
    /// [`PREFLIGHT`] is [`SKIP`].
    pub skips_preflight: bool,
    /// It is being deleted.
    pub deleting: bool,
    /// The name of the server's container, where a v1alpha1 object names it otherwise than usual.
    pub container_name: Option<String>,
    /// What validation found.
    pub findings: Findings,
    /// `None` where it cannot be read; the findings then say why.
    pub spec: Option<LlamaStackDistributionSpec>,
    /// As it is now, whoever wrote it; `null` where there is none.
    pub status: Value,
}

#[derive(Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
    namespace: Option<String>,
    generation: Option<i64>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

/// Those that the API server takes.
fn labels(json: &Value) -> BTreeMap<String, String> {
    let labels = json["metadata"]["labels"].as_object().into_iter().flatten();
    labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

impl Resource {
    pub fn parse(json: &Value) -> Self {
        let text = |field: &str| json["metadata"][field].as_str().map(str::to_owned);
        let metadata = Metadata::deserialize(&json["metadata"]).ok();
        let spec = metadata.as_ref().and_then(|_| spec_of(json));
        let Metadata { name, namespace, generation, mut annotations } =
            metadata.unwrap_or_default();
        let namespace = namespace.filter(|name| !name.is_empty());
        let preflight = annotations.remove(PREFLIGHT);
        let mut findings = validate_stored(json);
        warn_of_preflight(preflight.as_deref(), &mut findings);
        Self {
            key: Key::new(namespace.as_deref().unwrap_or(DEFAULT_NAMESPACE), &name),
            uid: text("uid"),
            version: text("resourceVersion"),
            generation,
            labels: labels(json),
            refresh: annotations.remove(REFRESH),
            approve: annotations.remove(APPROVE),
            retry: annotations.remove(RETRY),
            rollback_to: annotations.remove(ROLLBACK_TO),
            paused: annotations.get(PAUSED).is_some_and(|value| value == "true"),
            skips_preflight: preflight.as_deref() == Some(SKIP),
            deleting: text("deletionTimestamp").is_some(),
            container_name: carried_container_name(json),
            findings,
            spec,
            status: json["status"].clone(),
        }
    }

    /// The same with a key that others hold already.
    #[must_use]
    pub fn known_as(self, key: &Key) -> Self {
        Self { key: key.clone(), ..self }
    }

    /// Whether the server asks its callers who they are: then nobody lists its providers but them.
    pub fn asks_callers(&self) -> bool {
        self.spec.as_ref().is_some_and(|spec| spec.access.is_some())
    }

    /// The state of the resource as one word: its generation, and the annotation that asks for
    /// images to be resolved again. Offline a resource has no generation.
    pub fn state(&self) -> Option<String> {
        let generation = self.generation?;
        Some(match self.refreshed() {
            Some(refresh) => format!("{generation}-{refresh}"),
            None => generation.to_string(),
        })
    }

    /// What [`state`](Self::state) says of the annotation alone.
    pub(crate) fn refreshed(&self) -> Option<String> {
        self.refresh.as_ref().map(|refresh| sha256::hex(refresh)[..8].to_owned())
    }

    /// What is known of its own inputs from the resource alone.
    pub fn inputs(&self) -> Inputs {
        let mut known = Inputs::default();
        let spec = self.spec.as_ref();
        let without = |fields: &[&[&str]]| spec.map(|spec| self.spec_without(spec, fields));
        known.set(template_inputs::PODS, without(&NOT_OF_PODS).as_deref());
        let before = &NOT_OF_PODS[..LEFT_OUT_BEFORE];
        known.set(template_inputs::SPEC, without(before).as_deref());
        known.set(template_inputs::REFRESH, self.refresh.as_deref());
        known.set(template_inputs::APPROVE, self.approve.as_deref());
        known.set(template_inputs::RETRY, self.retry.as_deref());
        known.set(template_inputs::ROLLBACK_TO, self.rollback_to.as_deref());
        known
    }

    /// The spec as a text, but for these fields, and for what is empty without them.
    fn spec_without(&self, spec: &LlamaStackDistributionSpec, fields: &[&[&str]]) -> String {
        let mut spec = serde_json::to_value(spec).unwrap_or_default();
        for path in fields {
            remove(&mut spec, path);
        }
        spec.sort_all_objects();
        format!("{spec} {}", self.container_name.as_deref().unwrap_or_default())
    }

    /// The value of [`RETRY`].
    pub fn retry(&self) -> Option<&str> {
        self.retry.as_deref()
    }

    /// The uid by which its objects know it; empty for a file.
    pub fn owner(&self) -> &str {
        self.uid.as_deref().unwrap_or_default()
    }

    /// The Secret with the certificate that the server serves.
    pub fn certificate_secret(&self) -> Option<&str> {
        self.spec.as_ref()?.networking.as_ref()?.tls.as_ref()?.secret_name.as_deref()
    }

    /// Whether the configuration that runs was the image's own, as the status has it.
    pub fn ran_a_base_of_its_image(&self) -> bool {
        let source = &self.status["resolvedDistribution"]["configSource"];
        matches!(source.as_str(), Some("Labels" | "Layer"))
    }

    /// Whether an operator has carried out the spec as it is now, by the status, which users cannot
    /// write. v0.9 does not say for which generation it speaks.
    pub fn was_carried_out(&self) -> bool {
        let status = &self.status;
        if status["observedGeneration"].is_null() {
            return matches!(status["phase"].as_str(), Some("Ready" | "Initializing"));
        }
        let updated = self.deployment_updated();
        updated.is_some_and(|it| it["status"] == "True" || it["reason"] == TEMPLATE_KEPT)
    }

    /// Whether the spec as it is now is one that no operator has come to an end with: neither carried out
    /// nor refused, and no server returned from it.
    pub fn is_pending(&self) -> bool {
        let has_ended = |updated: &Value| ENDED.iter().any(|reason| updated["reason"] == *reason);
        !self.was_carried_out() && !self.deployment_updated().is_some_and(has_ended)
    }

    /// What a change of inputs that other servers share waits for, by the status; `None` where none waits.
    pub fn turn_awaited(&self) -> Option<&str> {
        let pending = self.status["conditions"].as_array()?.iter().find(|condition| {
            condition["type"] == "UpdatePending" && condition["reason"] == WAITING_FOR_TURN
        })?;
        pending["message"].as_str()
    }

    /// The condition `DeploymentUpdated`, where it speaks of the spec as it is now.
    fn deployment_updated(&self) -> Option<&Value> {
        let mut conditions = self.status["conditions"].as_array()?.iter();
        conditions.find(|condition| {
            condition["type"] == "DeploymentUpdated"
                && condition["observedGeneration"].as_i64() == self.generation
        })
    }

    /// The ConfigMap with a configuration of the user's own.
    pub fn override_config(&self) -> Option<&str> {
        let own = self.spec.as_ref()?.override_config.as_ref()?;
        Some(&own.config_map_name)
    }
}

/// Removes a field, and what is empty without it.
fn remove(value: &mut Value, path: &[&str]) {
    let (Some(fields), [first, rest @ ..]) = (value.as_object_mut(), path) else { return };
    match fields.get_mut(*first) {
        Some(below) if !rest.is_empty() => {
            remove(below, rest);
            if below.as_object().is_none_or(|below| !below.is_empty()) {
                return;
            }
        }
        Some(_) => {}
        None => return,
    }
    fields.shift_remove(*first);
}

/// The spec of a v1alpha2 resource, if it can be read.
pub fn spec_of(json: &Value) -> Option<LlamaStackDistributionSpec> {
    LlamaStackDistributionSpec::deserialize(&json["spec"]).ok()
}
