//! The events of one pass. An event stands for a change, so each comes from the difference between
//! the status before and the status now; a pass that changes nothing has none.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use llsd_api::v1alpha2::{
    ConfigGenerationStatus, LlamaStackDistributionStatus, Phase, PreflightStatus,
};

use super::conditions::config_source;
use super::messages::{self, NOTE_BYTES, bounded};
use super::situation::Situation;
use super::stage::Stage;
use super::vocabulary::{ConditionReason, ConditionType, Truth, vocabulary};
use crate::plan::Plan;
use crate::problems::{Problem, Reason};
use crate::rollout::Refused;
use crate::rollout::wave::Waiting;

/// Something that happened to a resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    pub kind: EventKind,
    pub reason: &'static str,
    pub note: String,
    pub action: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    Normal,
    Warning,
}

vocabulary! {
    /// What events are named.
    EventReason {
        /// A configuration was generated.
        ConfigGenerated,
        /// The resource asks for something that the server would refuse.
        ConfigGenerationFailed,
        /// The registry does not answer; it is asked again.
        RegistryUnavailable,
        /// A Secret, or a key of one, is missing or cannot be used.
        SecretResolutionFailed,
        /// An external provider takes the place of another one.
        ProviderOverridden,
        /// A provider is configured, and its API is disabled.
        DisabledProviderIgnored,
        /// All other warnings about the resource.
        SpecWarning,
        /// The Deployment was changed; where its pods are replaced, because of what.
        DeploymentUpdated,
        /// An object of that name has another owner; the operator does not change it.
        ObjectNotOurs,
        /// The API server refused an object.
        ObjectRefused,
        /// Temporary API server error; the operator retries.
        ApplyFailed,
        /// Something waits for your word.
        UpdatePending,
        /// The new image accepts the change.
        PreflightPassed,
        /// The new image would not start with the change, and nothing was rolled out.
        PreflightFailed,
        /// A change could not be checked, and was rolled out without a check.
        PreflightSkipped,
        /// A change did not become available, and the server runs as before it.
        RolledBack,
        /// The server answers all clients, although the resource asks for `access`.
        Unguarded,
        /// The resource is paused: nothing is written for it.
        Paused,
        /// Another installation of the operator has taken the resource over, and this one leaves it alone.
        Contended,
        /// The operator lacks a right that the resource needs.
        AccessLimited,
        /// The cluster does not serve a kind that the resource needs.
        KindNotServed,
        /// A ConfigMap with the start program of the pods is gone; the operator cannot create it again.
        StartProgramMissing,
        /// Pods do not run.
        ServerFailing,
        /// A router or gateway does not serve the object that exposes the server.
        RouteNotAdmitted,
        /// The server is ready.
        Ready,
    }
}

impl EventReason {
    pub fn kind(self) -> EventKind {
        match self {
            Self::ConfigGenerated
            | Self::DeploymentUpdated
            | Self::UpdatePending
            | Self::PreflightPassed
            | Self::Paused
            | Self::Ready => EventKind::Normal,
            _ => EventKind::Warning,
        }
    }

    /// What the operator was doing.
    pub fn action(self) -> &'static str {
        match self {
            Self::ConfigGenerated | Self::ConfigGenerationFailed | Self::RegistryUnavailable => {
                "GenerateConfig"
            }
            Self::SecretResolutionFailed => "ResolveSecrets",
            Self::PreflightPassed | Self::PreflightFailed | Self::PreflightSkipped => "Preflight",
            Self::ProviderOverridden | Self::DisabledProviderIgnored | Self::SpecWarning => "Plan",
            Self::DeploymentUpdated
            | Self::ObjectNotOurs
            | Self::ObjectRefused
            | Self::ApplyFailed
            | Self::AccessLimited
            | Self::Contended
            | Self::KindNotServed
            | Self::StartProgramMissing
            | Self::Paused
            | Self::UpdatePending
            | Self::RolledBack => "Apply",
            Self::ServerFailing | Self::RouteNotAdmitted | Self::Unguarded | Self::Ready => {
                "Observe"
            }
        }
    }

    fn event(self, note: &str) -> Event {
        Event {
            kind: self.kind(),
            reason: self.as_str(),
            note: bounded(note, NOTE_BYTES),
            action: self.action(),
        }
    }
}

/// What events are derived from.
pub(super) struct Change<'a> {
    pub(super) situation: &'a Situation<'a>,
    pub(super) status: &'a LlamaStackDistributionStatus,
}

impl Change<'_> {
    pub(super) fn events(&self) -> Vec<Event> {
        if matches!(self.situation.stage, Stage::Deleting) {
            return Vec::new();
        }
        let mut events = Vec::new();
        events.extend(self.config_failed());
        events.extend(self.secrets_failed());
        if let Some(plan) = self.situation.stage.plan() {
            events.extend(self.config_generated(plan));
            events.extend(self.warnings(plan));
        }
        events.extend(self.applied());
        events.extend(self.not_written());
        events.extend(self.update_pending());
        events.extend(self.checked());
        events.extend(self.told(ConditionType::RolledBack, EventReason::RolledBack));
        events.extend(self.told(ConditionType::Unguarded, EventReason::Unguarded));
        events.extend(self.told(ConditionType::Paused, EventReason::Paused));
        events.extend(self.told(ConditionType::Contended, EventReason::Contended));
        events.extend(self.told(ConditionType::AccessLimited, EventReason::AccessLimited));
        events.extend(self.unready(ConditionReason::KindNotServed, EventReason::KindNotServed));
        let program = ConditionReason::StartProgramMissing;
        events.extend(self.unready(program, EventReason::StartProgramMissing));
        events.extend(self.server_failing());
        let not_admitted = ConditionReason::RouteNotAdmitted;
        events.extend(self.unready(not_admitted, EventReason::RouteNotAdmitted));
        events.extend(self.turned_ready());
        events
    }

    /// The condition as it is now, if that is not what it was.
    fn changed(&self, condition: ConditionType) -> Option<&Condition> {
        let own = self.status.conditions.iter().flatten();
        let now = own.into_iter().find(|known| known.type_ == condition.as_str())?;
        let content = |condition: &Condition| {
            (condition.status.clone(), condition.reason.clone(), condition.message.clone())
        };
        (self.situation.previous.condition(condition).map(content) != Some(content(now)))
            .then_some(now)
    }

    fn turned_false(&self, condition: ConditionType) -> Option<&Condition> {
        self.changed(condition).filter(|now| now.status == Truth::False.as_str())
    }

    fn config_failed(&self) -> Option<Event> {
        let failed = self.turned_false(ConditionType::ConfigGenerated)?;
        let reason = if failed.reason == ConditionReason::RegistryUnavailable.as_str() {
            EventReason::RegistryUnavailable
        } else {
            EventReason::ConfigGenerationFailed
        };
        Some(reason.event(&failed.message))
    }

    fn secrets_failed(&self) -> Option<Event> {
        let failed = self.turned_false(ConditionType::SecretsResolved)?;
        Some(EventReason::SecretResolutionFailed.event(&failed.message))
    }

    /// The name of a generated ConfigMap that is another than before.
    fn new_config_map(&self) -> Option<&str> {
        let name = |status: &'_ ConfigGenerationStatus| status.config_map_name.clone();
        let now = self.status.config_generation.as_ref()?;
        let before = self.situation.previous.generation.as_ref().and_then(name);
        (before != name(now)).then_some(now.config_map_name.as_deref()?)
    }

    fn config_generated(&self, plan: &Plan) -> Option<Event> {
        let name = self.new_config_map()?;
        let (_, sentence) = config_source(plan, self.situation.observed.resource);
        Some(EventReason::ConfigGenerated.event(&format!("{sentence}, in ConfigMap {name}")))
    }

    fn warnings(&self, plan: &Plan) -> Vec<Event> {
        let news = self.changed(ConditionType::ConfigGenerated).is_some()
            || self.new_config_map().is_some();
        if news { remarks(&plan.warnings) } else { Vec::new() }
    }

    fn applied(&self) -> Vec<Event> {
        let Some(applied) = self.situation.stage.applied() else { return Vec::new() };
        let mut events = Vec::new();
        let written = applied.written.iter().find(|object| object.starts_with("Deployment "));
        events.extend(written.map(|object| {
            let because = match &applied.causes[..] {
                [] => String::new(),
                causes => format!("; its pod template changed because of: {}", causes.join(", ")),
            };
            EventReason::DeploymentUpdated.event(&format!("Wrote {object}{because}"))
        }));
        if self.changed(ConditionType::DeploymentUpdated).is_some() {
            events.extend(remarks(&applied.warnings));
        }
        events
    }

    fn not_written(&self) -> Option<Event> {
        let Stage::NotWritten(_, failure) = &self.situation.stage else { return None };
        self.changed(ConditionType::Ready)?;
        let reason = match failure.refused {
            // That it is forbidden is an event of its own.
            Refused::Forbidden => return None,
            Refused::NotOurs | Refused::OtherContent => EventReason::ObjectNotOurs,
            Refused::Invalid | Refused::Denied => EventReason::ObjectRefused,
            Refused::Unavailable => EventReason::ApplyFailed,
        };
        Some(reason.event(&failure.sentence()))
    }

    /// That something waits. How many servers are ahead of one that waits for its turn is no news, but that the
    /// others do not continue is.
    fn update_pending(&self) -> Option<Event> {
        let told = self.told(ConditionType::UpdatePending, EventReason::UpdatePending)?;
        let waits =
            |condition: &&Condition| condition.reason == ConditionReason::WaitingForTurn.as_str();
        let before = self.situation.previous.condition(ConditionType::UpdatePending).filter(waits);
        let now = self.changed(ConditionType::UpdatePending).filter(waits);
        let is_stopped = |condition: &Condition| condition.message.starts_with(Waiting::STOPPED);
        let is_known =
            before.zip(now).is_some_and(|(before, now)| is_stopped(before) == is_stopped(now));
        (!is_known).then_some(told)
    }

    /// A condition of which every change is told.
    fn told(&self, condition: ConditionType, reason: EventReason) -> Option<Event> {
        self.changed(condition).map(|now| reason.event(&now.message))
    }

    /// That the server is not ready for this cause.
    fn unready(&self, cause: ConditionReason, reason: EventReason) -> Option<Event> {
        let now = self.turned_false(ConditionType::Ready)?;
        (now.reason == cause.as_str()).then(|| reason.event(&now.message))
    }

    fn checked(&self) -> Option<Event> {
        self.situation.stage.preflight()?;
        let hash = |known: &Option<PreflightStatus>| known.as_ref().map(|it| it.hash.clone());
        let checked = if hash(&self.status.preflight) == hash(&self.situation.previous.preflight) {
            self.changed(ConditionType::Preflight)?
        } else {
            // Of another change the same may be said.
            self.status
                .conditions
                .iter()
                .flatten()
                .find(|known| known.type_ == ConditionType::Preflight.as_str())?
        };
        let news = [
            (ConditionReason::PreflightPassed, EventReason::PreflightPassed),
            (ConditionReason::PreflightFailed, EventReason::PreflightFailed),
            (ConditionReason::PreflightSkipped, EventReason::PreflightSkipped),
        ];
        let (_, reason) = news.into_iter().find(|(reason, _)| checked.reason == reason.as_str())?;
        Some(reason.event(&checked.message))
    }

    /// The kind of a trouble decides whether it is new: its details change with every try.
    fn server_failing(&self) -> Option<Event> {
        if matches!(self.situation.stage, Stage::Hindered(_)) {
            return None;
        }
        let before = self.situation.previous.condition(ConditionType::DeploymentReady);
        let before = before.map(|before| before.message.as_str()).unwrap_or_default();
        let known: Vec<&str> = before.split("; ").map(kind_of).collect();
        let new = |trouble: &String| !known.contains(&kind_of(trouble));
        let troubles = &self.situation.rollout.troubles;
        troubles.iter().any(new).then(|| EventReason::ServerFailing.event(&troubles.join("; ")))
    }

    /// v0.9 had no `Ready`; its phase tells whether the server was ready already.
    fn turned_ready(&self) -> Option<Event> {
        let was = match self.situation.previous.condition(ConditionType::Ready) {
            Some(before) => before.status == Truth::True.as_str(),
            None => self.situation.previous.phase == Some(Phase::Ready),
        };
        let now = self.changed(ConditionType::Ready)?;
        let turned = !was && now.status == Truth::True.as_str();
        turned.then(|| EventReason::Ready.event(&now.message))
    }
}

/// The word before the colon.
fn kind_of(trouble: &str) -> &str {
    trouble.split(':').next().unwrap_or_default()
}

/// A separate event for each remark that has a name, and one for all others.
fn remarks(warnings: &[Problem]) -> Vec<Event> {
    let named = |warning: &Problem| match warning.reason {
        Reason::ProviderOverridden => Some(EventReason::ProviderOverridden),
        Reason::DisabledProviderIgnored => Some(EventReason::DisabledProviderIgnored),
        _ => None,
    };
    let mut events: Vec<Event> = warnings
        .iter()
        .filter_map(|warning| Some(named(warning)?.event(&messages::problem(warning))))
        .collect();
    let others: Vec<&Problem> =
        warnings.iter().filter(|warning| named(warning).is_none()).collect();
    if !others.is_empty() {
        events.push(EventReason::SpecWarning.event(&messages::problems_within(others, NOTE_BYTES)));
    }
    events
}
