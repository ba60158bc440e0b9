//! What runs and what it was made from: `version`, `distributionConfig`, `resolvedDistribution` and
//! `configGeneration`. Where nothing new is in effect, those of before stand.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use llsd_api::v1alpha2::{
    ConfigGenerationStatus, DistributionConfig, ResolvedDistribution, VersionInfo,
};

use super::observed::StatusInputs;
use super::previous::Previous;
use super::providers::providers;
use super::situation::Situation;
use super::stage::Stage;
use crate::facts::BaseSource;
use crate::plan::Plan;
use crate::rollout::KeepCause;
use crate::values::image_name::split_digest;
use crate::values::sha256;

/// What `activeDistribution` is for an image without a name.
const CUSTOM: &str = "custom";

/// The operator's version and the server's.
pub(super) fn version(observed: &StatusInputs<'_>, previous: &Previous, now: &Time) -> VersionInfo {
    let before = &previous.version;
    let answered = observed.server.answers().and_then(|answers| answers.version.clone());
    // The last known one stands while there is a Deployment that runs it, also at no replicas.
    let last_known = || {
        let known = before.llama_stack_server_version.clone();
        known.filter(|_| observed.live.deployment.is_some())
    };
    let now_known = VersionInfo {
        operator_version: Some(observed.operator_version.to_owned()),
        llama_stack_server_version: answered.or_else(last_known),
        last_updated: before.last_updated.clone(),
    };
    if now_known == *before && before.last_updated.is_some() {
        return now_known;
    }
    VersionInfo { last_updated: Some(now.clone()), ..now_known }
}

pub(super) fn distribution_config(situation: &Situation<'_>) -> DistributionConfig {
    DistributionConfig {
        active_distribution: active(situation),
        providers: providers(situation),
        available_distributions: Some(situation.observed.distributions.clone()),
    }
}

fn active(situation: &Situation<'_>) -> Option<String> {
    let Situation { observed, stage, previous, .. } = situation;
    if let Some(plan) = stage.plan_in_effect() {
        return Some(plan.image.name.clone().unwrap_or_else(|| CUSTOM.to_owned()));
    }
    previous.distribution.active_distribution.clone().or_else(|| {
        let asked = &observed.resource.spec.as_ref()?.distribution;
        asked.name.clone().or_else(|| asked.image.as_ref().map(|_| CUSTOM.to_owned()))
    })
}

pub(super) fn resolved(situation: &Situation<'_>) -> Option<ResolvedDistribution> {
    let Situation { observed, stage, previous, .. } = situation;
    let Some(plan) = stage.plan_in_effect() else { return previous.resolved.clone() };
    let planned = planned_image(plan);
    // A Deployment that keeps its template may run another image, of whose configuration nothing is known.
    let kept = stage.applied().is_some_and(|applied| applied.kept.is_some());
    let live = observed.live.deployment.as_ref().and_then(|live| live.image.as_deref());
    let runs = live.filter(|_| kept).unwrap_or(planned);
    let (image, digest) = split_digest(runs);
    let mut resolved = ResolvedDistribution {
        image: Some(image.to_owned()),
        digest: digest.map(str::to_owned),
        ..Default::default()
    };
    if runs == planned {
        resolved.config_source = Some(config_source(plan, observed).to_owned());
        resolved.config_hash = plan.base.as_ref().map(|base| sha256::hex(&base.text));
        resolved.server.clone_from(&plan.server);
    }
    Some(resolved)
}

/// The image of the planned server, with its digest where that is known.
fn planned_image(plan: &Plan) -> &str {
    let spec = plan.objects.deployment.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    let server = spec.and_then(|spec| spec.containers.first());
    server.and_then(|server| server.image.as_deref()).unwrap_or(&plan.image.image)
}

fn config_source(plan: &Plan, observed: &StatusInputs<'_>) -> &'static str {
    match plan.base.as_ref().map(|base| base.source) {
        Some(BaseSource::Labels) => "Labels",
        Some(BaseSource::Layer) => "Layer",
        Some(BaseSource::Embedded) => "Embedded",
        Some(BaseSource::File) => "File",
        None if observed.resource.override_config().is_some() => "Override",
        None => "Default",
    }
}

pub(super) fn config_generation(
    stage: &Stage<'_>,
    previous: &Previous,
    now: &Time,
) -> Option<ConfigGenerationStatus> {
    let before = previous.generation.as_ref();
    let Some(plan) = stage.plan_in_effect() else { return before.cloned() };
    let kept = stage.applied().and_then(|applied| applied.kept.as_ref());
    if kept.is_some_and(|kept| kept.cause != KeepCause::Adopted) {
        return before.cloned();
    }
    let generated = plan.generated.as_ref()?;
    let name = plan.objects.config_map.as_ref()?.metadata.name.clone();
    let same = before.filter(|before| before.config_map_name == name);
    let generated_at = same.and_then(|before| before.generated_at.clone());
    Some(ConfigGenerationStatus {
        config_map_name: name,
        generated_at: generated_at.or_else(|| Some(now.clone())),
        provider_count: number(generated.counts.providers),
        resource_count: number(generated.counts.resources),
        config_version: i32::try_from(generated.version).ok(),
    })
}

fn number(count: usize) -> Option<i32> {
    i32::try_from(count).ok()
}
