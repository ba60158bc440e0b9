//! Whether a change may be rolled out now, by what its image said of it.

use std::ops::RangeInclusive;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use llsd_api::v1alpha2::{PreflightProblem, PreflightStatus, PreflightVerdict};

use super::provenance::{is_of_init, of_init};
use super::question::{self, Question};
use super::result::{Finding, IMAGE, PreflightResult};
use super::seen::Seen;
use crate::live::JobDetail;
use crate::objects::ObjectKind;
use crate::rollout::retention::Names;

/// What is denied for this part of the deadline is denied: an image that is not there, a pod that a quota
/// forbids. Where somebody does not answer, the whole deadline is waited for.
const PART_FOR_DENIED: i64 = 10;
/// A Job has this part of the deadline in any case, also where its change waited for the rest of it, or longer, for a
/// slot: other changes are no reason to roll one out that was not checked.
const LEAST_PART: i64 = 2;

/// How soon a Job that goes on is looked at again, in seconds, and how late at most: that it has ended is an event, but
/// what is in the way of its pod is none.
const LOOK: RangeInclusive<i64> = 2..=15;
/// The same for a change that waits for a slot: that one is free wakes it, so this is for what was missed.
const LOOK_AT_WAITING: i64 = 300;

const SKIPPED: &str =
    "the annotation llamastack.io/preflight asks for that; remove it to have later changes checked";
const NO_SLOT: &str = "other changes have their turn first";

/// What is known of the asking.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// The Job, if it is there.
    pub job: Option<&'a JobDetail>,
    pub seen: Seen,
    /// Why no Job could be made when that was last tried.
    pub not_made: Option<NotMade>,
    /// Whether a Job may be made now, as far as the Jobs of other changes leave a slot.
    pub has_slot: bool,
    /// In seconds.
    pub now: i64,
    /// In seconds: how long a change waits for its preflight.
    pub deadline: i64,
}

/// A Job that could not be made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotMade {
    pub why: String,
    /// The cluster said no, and does so again unless somebody acts.
    pub is_denied: bool,
}

/// What became of a question.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preflight {
    pub job: String,
    pub state: State,
    /// What was said is in the status: the Job is needed no more.
    pub is_recorded: bool,
    /// In how many seconds it is looked at again, if nothing happens before.
    pub again: i64,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no Job, and one may be made now; since when it is wished for, and why it could not be made, where that
    /// was tried.
    ToBeAsked(Box<PreflightStatus>),
    /// There is no Job, and no slot for one.
    Waiting(Box<PreflightStatus>),
    /// The Job goes on; what is in its way, where something is.
    Asking(Option<String>, Box<PreflightStatus>),
    Checked(PreflightStatus),
}

impl Preflight {
    /// Whether the Deployment keeps its template for it.
    pub fn holds(&self) -> bool {
        match &self.state {
            State::ToBeAsked(_) | State::Waiting(_) | State::Asking(..) => true,
            State::Checked(_) => self.is_refused(),
        }
    }

    /// The objects that stay for it.
    pub fn needs(&self) -> Names {
        let job = (!self.is_recorded).then(|| (ObjectKind::Job, self.job.clone()));
        job.into_iter().collect()
    }

    pub fn is_refused(&self) -> bool {
        let State::Checked(checked) = &self.state else { return false };
        checked.verdict == PreflightVerdict::Refused
    }
}

/// Decides what a question came to. `field` names the field of the resource that a place in config.yaml
/// comes from.
pub fn decide(question: &Question, asked: &Asked<'_>, field: impl Fn(&str) -> String) -> Preflight {
    let checked = |result: PreflightResult| {
        State::Checked(question.still_refused(status(question, result, asked.now, &field)))
    };
    let is_recorded = question.remembered.is_some();
    let state = match (&question.remembered, asked.job) {
        (Some(remembered), _) => State::Checked(remembered.clone()),
        // Also where it was refused before: who asks for that knows better.
        (None, _) if question.is_skipped => {
            let result = PreflightResult::not_checked(SKIPPED);
            State::Checked(status(question, result, asked.now, &field))
        }
        (None, None) => without_job(question, asked).unwrap_or_else(checked),
        (None, Some(job)) => match of_job(question, job, asked) {
            Ok(result) => checked(result),
            Err(waits) => State::Asking(waits, Box::new(question.pending(None, job.created))),
        },
    };
    let again = again(question, asked, &state);
    Preflight { job: question.job.clone(), state, is_recorded, again }
}

/// What is recorded while there is no Job; the error is a result without one.
fn without_job(question: &Question, asked: &Asked<'_>) -> Result<State, PreflightResult> {
    let waits = |why: Option<&str>| {
        let pending = question.pending(why.or((!asked.has_slot).then_some(NO_SLOT)), asked.now);
        let pending = Box::new(pending);
        if asked.has_slot { State::ToBeAsked(pending) } else { State::Waiting(pending) }
    };
    let Some(NotMade { why, is_denied }) = &asked.not_made else { return Ok(waits(None)) };
    let patience = if *is_denied { asked.deadline / PART_FOR_DENIED } else { asked.deadline };
    if asked.now - question.since(asked.now) >= patience {
        return Err(PreflightResult::not_checked(format!("the Job could not be made: {why}")));
    }
    Ok(waits(Some(why)))
}

/// In how many seconds to look again: soon at first, later with time, and at the moments at which the answer may be
/// another although nothing happened.
fn again(question: &Question, asked: &Asked<'_>, state: &State) -> i64 {
    let (first, moments) = match (state, asked.job) {
        (State::Waiting(_), _) if asked.not_made.is_none() => return LOOK_AT_WAITING,
        (State::Checked(_), _) => return *LOOK.start(),
        (_, Some(job)) => {
            let denied = job.created.saturating_add(asked.deadline / PART_FOR_DENIED);
            (job.created, [denied, end(question, job, asked)])
        }
        (_, None) => {
            let first = question.since(asked.now);
            let after = |seconds| first.saturating_add(seconds);
            (first, [after(asked.deadline / PART_FOR_DENIED), after(asked.deadline)])
        }
    };
    let soon = ((asked.now - first) / 4).clamp(*LOOK.start(), *LOOK.end());
    let moments = moments.into_iter().map(|moment| moment - asked.now);
    moments.filter(|seconds| *seconds > 0).fold(soon, i64::min)
}

/// Until when a Job has time. The deadline counts from the moment at which the change first wished for one.
fn end(question: &Question, job: &JobDetail, asked: &Asked<'_>) -> i64 {
    let first = question.since(job.created).min(job.created);
    let least = job.created.saturating_add(asked.deadline / LEAST_PART);
    first.saturating_add(asked.deadline).max(least)
}

impl Question {
    /// Since when a Job is wished for, in seconds.
    pub fn since(&self, now: i64) -> i64 {
        self.pending_since.unwrap_or(now)
    }

    /// What is recorded while there is no answer, so that another leader does not begin again.
    fn pending(&self, why: Option<&str>, since: i64) -> PreflightStatus {
        let unknown = PreflightResult::not_checked(why.unwrap_or_default());
        let pending = PreflightResult { outcome: PreflightVerdict::Pending, ..unknown };
        self.still_refused(status(self, pending, self.since(since), |_| String::new()))
    }

    /// What was refused stays refused where nothing can be said of it now: with another value of a Secret it would most
    /// likely be refused again.
    fn still_refused(&self, status: PreflightStatus) -> PreflightStatus {
        let Some(refused) = &self.refused else { return status };
        let not_pulled = question::of_image(&status).map(str::to_owned);
        let verdict = match status.verdict {
            PreflightVerdict::NotJudged => PreflightVerdict::Refused,
            PreflightVerdict::Refused if not_pulled.is_some() => PreflightVerdict::Refused,
            PreflightVerdict::Pending => PreflightVerdict::Pending,
            PreflightVerdict::Good | PreflightVerdict::Refused => return status,
        };
        let why = status.why.clone().or(not_pulled);
        let PreflightStatus { server, problems, more, .. } = refused.clone();
        PreflightStatus { verdict, server, problems, more, why, ..status }
    }
}

/// The result, or what is in its way.
fn of_job(
    question: &Question,
    job: &JobDetail,
    asked: &Asked<'_>,
) -> Result<PreflightResult, Option<String>> {
    let is_late = asked.now >= end(question, job, asked);
    let is_denied = asked.now - job.created >= asked.deadline / PART_FOR_DENIED;
    let (waits, late) = match &asked.seen {
        Seen::Checked(result) => return Ok(result.clone()),
        Seen::CannotPull { container, why, is_final } if is_late || *is_final && is_denied => {
            let message = format!("the image cannot be pulled: {why}");
            return Ok(PreflightResult::refused(IMAGE, &of_init(container), message));
        }
        Seen::NotCreated(why) if is_denied => {
            return Ok(PreflightResult::not_checked(format!("no pod could be made for it: {why}")));
        }
        Seen::CannotPull { why, .. } | Seen::NotCreated(why) | Seen::Pending(Some(why)) => {
            (Some(why.clone()), why.clone())
        }
        Seen::Running => (None, "the judge took too long".to_owned()),
        Seen::Pending(None) => (None, "its pod did not start".to_owned()),
        Seen::NoPod => (None, "no pod was made for it".to_owned()),
    };
    match &job.ended {
        Some(why) => {
            Ok(PreflightResult::not_checked(format!("the Job ended without a verdict ({why})")))
        }
        None if is_late => Ok(PreflightResult::not_checked(late)),
        None => Err(waits),
    }
}

fn status(
    question: &Question,
    result: PreflightResult,
    now: i64,
    field: impl Fn(&str) -> String,
) -> PreflightStatus {
    let problem = |found: Finding| PreflightProblem {
        field: field(&found.path),
        kind: found.kind,
        path: Some(found.path).filter(|path| !path.is_empty() && !is_of_init(path)),
        message: found.message,
    };
    let problems: Vec<PreflightProblem> = result.findings.into_iter().map(problem).collect();
    PreflightStatus {
        hash: question.hash.clone(),
        verdict: result.outcome,
        server: result.server,
        why: result.why.filter(|why| !why.is_empty()),
        problems: Some(problems).filter(|problems| !problems.is_empty()),
        more: Some(result.more).filter(|more| *more > 0),
        judged_at: Timestamp::from_second(now).ok().map(Time),
        spec_hash: question.spec_hash.clone(),
    }
}

#[cfg(test)]
mod tests;
