//! Whether a planned change is one to be checked, and what is asked then.

use llsd_api::v1alpha2::{PreflightPolicy, PreflightStatus, PreflightVerdict};
use serde::Deserialize;
use serde_json::Value;

use super::super::action::Action;
use super::super::rollback;
use super::result::IMAGE;
use super::slots::Urgency;
use crate::fingerprint;
use crate::live::LiveObject;
use crate::objects::{ObjectKind, PlannedObject, labels, names, preflight_inputs};
use crate::resource::Resource;
use crate::resource::template_inputs::{self, Inputs};
use crate::values::sha256;

/// Digits of a hash in a name.
const DIGITS: usize = 8;

/// What is asked of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// Stands for what is checked.
    pub hash: String,
    /// The name of the Job.
    pub job: String,
    /// What was answered before, if it was this question.
    pub remembered: Option<PreflightStatus>,
    /// What is on record of this spec where it was refused, with whatever image and values of that time.
    pub refused: Option<PreflightStatus>,
    /// Since when a Job is wished for, in seconds, where that is on record.
    pub pending_since: Option<i64>,
    /// Stands for what the user wrote, the spec that pods are made from and a configuration of their own.
    pub spec_hash: Option<String>,
    /// Somebody asks to roll it out as it is.
    pub is_skipped: bool,
}

/// Whether a planned Deployment changes the pods of a running server, as far as its record says. The whole
/// Deployment then shows whether anything that is checked is new.
pub fn may_need_preflight(
    resource: &Resource,
    planned: &PlannedObject,
    policy: PreflightPolicy,
    live: &[LiveObject],
    now: i64,
) -> bool {
    let found = live.iter().find(|live| live.is_named(planned.kind, &planned.name));
    let ours = Action::of_any(found, resource.owner()).ok();
    let Some(deployment) = ours.and_then(LiveObject::deployment) else { return false };
    let hash = planned.json["metadata"]["annotations"][labels::TEMPLATE_HASH].as_str();
    let is_planned_alike = hash.is_some() && deployment.template.as_deref() == hash;
    // A server that is away for a moment does not get what was refused while it was there.
    let is_asked = live.iter().any(|live| live.kind == ObjectKind::Job)
        || matches!(resource.status["preflight"]["verdict"].as_str(), Some("Refused" | "Pending"));
    // At rest without pods, what served is still there to be protected.
    let sleeps = deployment.state.wanted == 0 && rollback::last_good(deployment, now).is_some();
    policy == PreflightPolicy::Auto
        && !is_planned_alike
        && (deployment.state.available > 0 || is_asked || sleeps)
        && matches!(Action::for_object(&planned.json, found, resource.owner()), Action::Update(_))
}

impl Question {
    /// What is to be asked; `None` where the live Deployment runs what would be checked.
    pub fn for_change(resource: &Resource, planned: &PlannedObject, live: &Value) -> Option<Self> {
        let template = fingerprint::owned_template(live);
        let running = template.as_ref().unwrap_or(&live["spec"]["template"]);
        let wanted = preflight_inputs::combination(&planned.json["spec"]["template"]);
        if wanted == preflight_inputs::combination(running) {
            return None;
        }
        let name = &*resource.key.name;
        let retry = resource.retry().unwrap_or_default();
        let hash = sha256::hex(&format!("{name}\n{wanted}\n{retry}"))[..DIGITS].to_owned();
        let recorded = PreflightStatus::deserialize(&resource.status["preflight"]).ok();
        let inputs = planned.json["metadata"]["annotations"][labels::INPUTS].as_str();
        let inputs = inputs.map(Inputs::parse).unwrap_or_default();
        let of_the_user = [template_inputs::PODS, template_inputs::CONFIG];
        let parts: Option<Vec<&str>> =
            of_the_user.into_iter().map(|part| inputs.get(part)).collect();
        let spec_hash = parts.map(|parts| parts.join(" "));
        let of_this_spec = |known: &PreflightStatus| known.spec_hash == spec_hash;
        let refused = recorded.clone().filter(|known| of_this_spec(known) && was_refused(known));
        let recorded = recorded.filter(|known| known.hash == hash);
        // What was rolled out without a verdict and failed is asked about, should it be rolled out again.
        let has_failed = live["metadata"]["annotations"][labels::ROLLED_BACK].is_string();
        let is_skipped = resource.skips_preflight;
        let remembered = recorded.clone().filter(|known| match known.verdict {
            PreflightVerdict::Good => true,
            PreflightVerdict::Refused => !is_skipped,
            PreflightVerdict::NotJudged => is_skipped || !has_failed,
            PreflightVerdict::Pending => false,
        });
        let pending = recorded.filter(|known| known.verdict == PreflightVerdict::Pending);
        Some(Self {
            job: names::preflight(name, &hash),
            remembered,
            refused,
            pending_since: pending.and_then(|known| Some(known.judged_at?.0.as_second())),
            spec_hash,
            is_skipped,
            hash,
        })
    }
}

impl Question {
    /// Whether the change goes past those of servers that run. One that asks again for what was refused does not.
    pub fn urgency(&self, live: Option<&LiveObject>) -> Urgency {
        let is_down = live.and_then(LiveObject::deployment).is_some_and(|deployment| {
            deployment.state.wanted > 0 && deployment.state.available == 0
        });
        if is_down && self.refused.is_none() { Urgency::Down } else { Urgency::Serving }
    }
}

/// Why the image cannot be pulled, where that is what was found.
pub(super) fn of_image(known: &PreflightStatus) -> Option<&str> {
    let mut problems = known.problems.iter().flatten();
    problems.find(|problem| problem.kind == IMAGE).map(|problem| &*problem.message)
}

/// Whether a change was refused, for another reason than that its image cannot be pulled: there may be another image
/// now. While it is to be asked again, the record keeps what was found.
fn was_refused(known: &PreflightStatus) -> bool {
    if of_image(known).is_some() {
        return false;
    }
    match known.verdict {
        PreflightVerdict::Refused => true,
        PreflightVerdict::Pending => known.problems.is_some(),
        PreflightVerdict::Good | PreflightVerdict::NotJudged => false,
    }
}
