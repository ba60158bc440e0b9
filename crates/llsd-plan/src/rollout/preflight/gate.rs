//! Whether a change may be rolled out now, by what its image said of it.

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

/// What is known of the asking.
#[derive(Clone, Debug)]
pub struct Asked<'a> {
    /// The Job, if it is there.
    pub job: Option<&'a JobDetail>,
    pub seen: Seen,
    /// Why no Job could be made when that was last tried.
    pub not_made: Option<NotMade>,
    /// In seconds.
    pub now: i64,
    /// In seconds: how long a preflight may take.
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
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// There is no Job yet; why and since when, where it could not be made.
    ToBeAsked(Option<Box<PreflightStatus>>),
    /// The Job goes on; what is in its way, where something is.
    Asking(Option<String>),
    Checked(PreflightStatus),
}

impl Preflight {
    /// Whether the Deployment keeps its template for it.
    pub fn holds(&self) -> bool {
        match &self.state {
            State::ToBeAsked(_) | State::Asking(_) => true,
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
    let state = match (&question.remembered, asked.job) {
        (Some(remembered), _) => State::Checked(remembered.clone()),
        (None, None) => match &asked.not_made {
            Some(not_made) => without_job(question, not_made, asked)
                .map_or_else(|pending| State::ToBeAsked(Some(pending)), checked),
            None => State::ToBeAsked(None),
        },
        (None, Some(job)) => of_job(job, asked).map_or_else(State::Asking, checked),
    };
    Preflight { job: question.job.clone(), state, is_recorded: question.remembered.is_some() }
}

/// The result, or what is recorded while the Job is tried again.
fn without_job(
    question: &Question,
    NotMade { why, is_denied }: &NotMade,
    asked: &Asked<'_>,
) -> Result<PreflightResult, Box<PreflightStatus>> {
    let since = question.pending_since.unwrap_or(asked.now);
    let patience = if *is_denied { asked.deadline / PART_FOR_DENIED } else { asked.deadline };
    if asked.now - since >= patience {
        let why = format!("the Job could not be made: {why}");
        return Ok(PreflightResult::not_checked(why));
    }
    let pending =
        PreflightResult { outcome: PreflightVerdict::Pending, ..PreflightResult::not_checked(why) };
    Err(Box::new(question.still_refused(status(question, pending, since, |_| String::new()))))
}

impl Question {
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
fn of_job(job: &JobDetail, asked: &Asked<'_>) -> Result<PreflightResult, Option<String>> {
    let age = asked.now - job.created;
    let is_late = age >= asked.deadline;
    let is_denied = age >= asked.deadline / PART_FOR_DENIED;
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
mod tests {
    use super::*;

    fn question(remembered: Option<PreflightStatus>) -> Question {
        let (hash, job) = ("1".into(), "llama-preflight-1".into());
        Question { hash, job, remembered, refused: None, pending_since: None, spec_hash: None }
    }

    fn state(job: Option<&JobDetail>, seen: Seen, now: i64) -> State {
        let asked = Asked { job, seen, not_made: None, now, deadline: 600 };
        decide(&question(None), &asked, |path| format!("field of {path}")).state
    }

    fn outcome(state: &State) -> Option<PreflightVerdict> {
        match state {
            State::Checked(checked) => Some(checked.verdict),
            _ => None,
        }
    }

    #[test]
    fn what_was_said_before_stands() {
        let refused =
            PreflightStatus { verdict: PreflightVerdict::Refused, ..PreflightStatus::default() };
        let asked = Asked { job: None, seen: Seen::NoPod, not_made: None, now: 0, deadline: 600 };
        let found = decide(&question(Some(refused)), &asked, |_| String::new());
        assert!(found.holds() && found.is_recorded, "{found:?}");
    }

    #[test]
    fn a_job_is_waited_for_until_it_has_spoken_or_the_deadline_is_over() {
        let job = JobDetail { created: 1000, active: 1, ended: None };
        assert_eq!(state(None, Seen::NoPod, 0), State::ToBeAsked(None));
        let late = |seen: Seen| {
            let early = state(Some(&job), seen.clone(), 1599);
            assert!(matches!(early, State::Asking(_)), "{early:?}");
            outcome(&state(Some(&job), seen, 1600))
        };
        for seen in [Seen::NoPod, Seen::Running, Seen::Pending(Some("Unschedulable".into()))] {
            assert_eq!(late(seen), Some(PreflightVerdict::NotJudged));
        }
        let good = Seen::Checked(PreflightResult::parse(r#"{"verdict": "good"}"#));
        assert_eq!(outcome(&state(Some(&job), good, 1001)), Some(PreflightVerdict::Good));
        let over = JobDetail { ended: Some("DeadlineExceeded".into()), ..job.clone() };
        let over = state(Some(&over), Seen::NoPod, 1001);
        assert_eq!(outcome(&over), Some(PreflightVerdict::NotJudged));
    }

    #[test]
    fn an_image_that_cannot_be_pulled_is_refused_after_a_moment() {
        let job = JobDetail { created: 1000, active: 1, ended: None };
        let why = "server:2 (ImagePullBackOff): not found".to_owned();
        let seen = |is_final| Seen::CannotPull {
            container: "llama-stack".into(),
            why: why.clone(),
            is_final,
        };
        assert_eq!(outcome(&state(Some(&job), seen(true), 1059)), None);
        assert_eq!(outcome(&state(Some(&job), seen(false), 1599)), None, "it may come back");
        let away = state(Some(&job), seen(false), 1600);
        assert_eq!(outcome(&away), Some(PreflightVerdict::Refused));
        let refused = state(Some(&job), seen(true), 1060);
        assert_eq!(outcome(&refused), Some(PreflightVerdict::Refused));
        let State::Checked(checked) = refused else { panic!() };
        assert_eq!(checked.problems.unwrap()[0].field, "field of initContainers.llama-stack");
    }

    #[test]
    fn a_job_that_cannot_be_made_is_done_without_after_a_while_also_under_another_leader() {
        let state = |is_denied, pending_since, now| {
            let not_made = Some(NotMade { why: "exceeded quota".into(), is_denied });
            let asked = Asked { job: None, seen: Seen::NoPod, not_made, now, deadline: 600 };
            let question = Question { pending_since, ..question(None) };
            decide(&question, &asked, |_| String::new()).state
        };
        let State::ToBeAsked(Some(recorded)) = state(false, None, 1000) else { panic!() };
        assert_eq!(recorded.verdict, PreflightVerdict::Pending);
        assert_eq!(recorded.judged_at.unwrap().0.as_second(), 1000);
        let State::ToBeAsked(Some(later)) = state(false, Some(1000), 1599) else { panic!() };
        assert_eq!(later.judged_at.unwrap().0.as_second(), 1000, "it counts from the first time");
        assert_eq!(outcome(&state(false, Some(1000), 1600)), Some(PreflightVerdict::NotJudged));
        assert_eq!(outcome(&state(true, Some(1000), 1059)), None);
        assert_eq!(outcome(&state(true, Some(1000), 1060)), Some(PreflightVerdict::NotJudged));
    }

    #[test]
    fn a_spec_that_was_refused_stays_refused_while_nothing_can_be_asked() {
        let found = PreflightProblem { message: "no such field".into(), ..<_>::default() };
        let refused = PreflightStatus {
            verdict: PreflightVerdict::Refused,
            problems: Some(vec![found]),
            ..PreflightStatus::default()
        };
        let question = Question { refused: Some(refused.clone()), ..question(None) };
        let job = JobDetail { created: 1000, active: 0, ended: None };
        let decide = |job, seen, not_made, now| {
            let asked = Asked { job, seen, not_made, now, deadline: 600 };
            super::decide(&question, &asked, str::to_owned)
        };
        let denied = || Seen::NotCreated("exceeded quota".into());
        let held = decide(Some(&job), denied(), None, 1060);
        let State::Checked(checked) = &held.state else { panic!("{held:?}") };
        assert!(held.is_refused() && checked.why.as_ref().unwrap().ends_with("exceeded quota"));
        assert_eq!((&checked.hash, &checked.problems), (&question.hash, &refused.problems));
        let not_made = Some(NotMade { why: "exceeded quota".into(), is_denied: true });
        let State::ToBeAsked(Some(pending)) = decide(None, Seen::NoPod, not_made, 1000).state
        else {
            panic!("it is tried again")
        };
        assert_eq!(pending.verdict, PreflightVerdict::Pending);
        assert_eq!(pending.problems, refused.problems, "what was found is not forgotten meanwhile");
        let not_pulled = Seen::CannotPull {
            container: "llama-stack".into(),
            why: "server:2 (ImagePullBackOff): not found".into(),
            is_final: true,
        };
        let State::Checked(checked) = decide(Some(&job), not_pulled, None, 1060).state else {
            panic!("an image that is not there is no news of the spec")
        };
        assert_eq!(checked.problems, refused.problems);
        assert!(checked.why.unwrap().ends_with("not found"));
        let passed = PreflightResult::parse(r#"{"verdict": "good"}"#);
        assert!(!decide(Some(&job), Seen::Checked(passed), None, 1060).holds());
    }

    #[test]
    fn a_pod_that_the_cluster_denies_is_done_without_after_a_moment() {
        let job = JobDetail { created: 1000, active: 0, ended: None };
        let seen = || Seen::NotCreated("exceeded quota: memory".into());
        let waits = State::Asking(Some("exceeded quota: memory".into()));
        assert_eq!(state(Some(&job), seen(), 1059), waits);
        let State::Checked(checked) = state(Some(&job), seen(), 1060) else { panic!() };
        assert_eq!(checked.verdict, PreflightVerdict::NotJudged);
        assert!(checked.why.unwrap().ends_with("exceeded quota: memory"));
    }
}
