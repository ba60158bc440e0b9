//! When a change may be rolled out, by what is known of its preflight.

use super::*;
use crate::live::LiveObject;
use crate::objects::labels;
use crate::rollout::preflight::Urgency;

fn question(remembered: Option<PreflightStatus>) -> Question {
    let (hash, job) = ("1".into(), "llama-preflight-1".into());
    Question {
        hash,
        job,
        remembered,
        refused: None,
        pending_since: None,
        spec_hash: None,
        is_skipped: false,
    }
}

fn asked(job: Option<&JobDetail>, seen: Seen, now: i64) -> Asked<'_> {
    Asked { job, seen, not_made: None, has_slot: true, now, deadline: 600 }
}

fn state(job: Option<&JobDetail>, seen: Seen, now: i64) -> State {
    decide(&question(None), &asked(job, seen, now), |path| format!("field of {path}")).state
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
    let asked = asked(None, Seen::NoPod, 0);
    let found = decide(&question(Some(refused)), &asked, |_| String::new());
    assert!(found.holds() && found.is_recorded, "{found:?}");
}

#[test]
fn a_job_is_waited_for_until_it_has_spoken_or_the_deadline_is_over() {
    let job = JobDetail { created: 1000, active: 1, ended: None };
    assert!(matches!(state(None, Seen::NoPod, 0), State::ToBeAsked(_)));
    let late = |seen: Seen| {
        let early = state(Some(&job), seen.clone(), 1599);
        assert!(matches!(early, State::Asking(..)), "{early:?}");
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
    let seen =
        |is_final| Seen::CannotPull { container: "llama-stack".into(), why: why.clone(), is_final };
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
        let asked = Asked { not_made, ..asked(None, Seen::NoPod, now) };
        let question = Question { pending_since, ..question(None) };
        decide(&question, &asked, |_| String::new()).state
    };
    let State::ToBeAsked(recorded) = state(false, None, 1000) else { panic!() };
    assert_eq!(recorded.verdict, PreflightVerdict::Pending);
    assert_eq!(recorded.judged_at.unwrap().0.as_second(), 1000);
    let State::ToBeAsked(later) = state(false, Some(1000), 1599) else { panic!() };
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
        let asked = Asked { not_made, ..asked(job, seen, now) };
        super::decide(&question, &asked, str::to_owned)
    };
    let denied = || Seen::NotCreated("exceeded quota".into());
    let held = decide(Some(&job), denied(), None, 1060);
    let State::Checked(checked) = &held.state else { panic!("{held:?}") };
    assert!(held.is_refused() && checked.why.as_ref().unwrap().ends_with("exceeded quota"));
    assert_eq!((&checked.hash, &checked.problems), (&question.hash, &refused.problems));
    let not_made = Some(NotMade { why: "exceeded quota".into(), is_denied: true });
    let State::ToBeAsked(pending) = decide(None, Seen::NoPod, not_made, 1000).state else {
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
    let State::Asking(waits, _) = state(Some(&job), seen(), 1059) else { panic!() };
    assert_eq!(waits.as_deref(), Some("exceeded quota: memory"));
    let State::Checked(checked) = state(Some(&job), seen(), 1060) else { panic!() };
    assert_eq!(checked.verdict, PreflightVerdict::NotJudged);
    assert!(checked.why.unwrap().ends_with("exceeded quota: memory"));
}

fn waiting(pending_since: Option<i64>, has_slot: bool, now: i64) -> Preflight {
    let question = Question { pending_since, ..question(None) };
    let asked = Asked { has_slot, ..asked(None, Seen::NoPod, now) };
    decide(&question, &asked, |_| String::new())
}

#[test]
fn a_change_that_waits_for_a_slot_is_never_rolled_out_for_that_and_asks_rarely() {
    for now in [1000, 1599, 1600, 100_000] {
        let found = waiting(Some(1000), false, now);
        let State::Waiting(pending) = &found.state else { panic!("{found:?}") };
        assert!(found.holds() && found.again >= 300, "{found:?}");
        assert_eq!(pending.verdict, PreflightVerdict::Pending);
        assert_eq!(pending.judged_at.as_ref().unwrap().0.as_second(), 1000);
    }
    let first = waiting(None, false, 1000);
    assert!(matches!(&first.state, State::Waiting(pending) if pending.judged_at.is_some()));
    assert!(matches!(waiting(Some(1000), true, 1700).state, State::ToBeAsked(_)));
}

#[test]
fn the_deadline_counts_from_the_first_wish_and_leaves_every_job_half_of_it() {
    let ends = |pending_since, created| {
        let question = Question { pending_since, ..question(None) };
        let job = JobDetail { created, active: 1, ended: None };
        let is_over = |now: &i64| {
            let asked = asked(Some(&job), Seen::Running, *now);
            !matches!(decide(&question, &asked, |_| String::new()).state, State::Asking(..))
        };
        (created..created + 1000).find(is_over).unwrap() - created
    };
    assert_eq!(ends(None, 1000), 600, "of an operator that had no record");
    assert_eq!(ends(Some(1000), 1000), 600);
    assert_eq!(ends(Some(1000), 1200), 400, "it waited for 200 seconds");
    assert_eq!(ends(Some(1000), 1500), 300, "the rest would be too short");
    assert_eq!(ends(Some(1000), 90_000), 300);
}

#[test]
fn while_a_job_goes_on_another_leader_learns_since_when_the_change_waits() {
    let question = Question { pending_since: Some(900), ..question(None) };
    let job = JobDetail { created: 1000, active: 1, ended: None };
    let found = decide(&question, &asked(Some(&job), Seen::Running, 1100), str::to_owned);
    let State::Asking(None, pending) = &found.state else { panic!("{found:?}") };
    assert_eq!(pending.judged_at.as_ref().unwrap().0.as_second(), 900);
}

#[test]
fn a_job_is_looked_at_soon_at_first_and_then_less_often_but_never_late() {
    let again = |seen, now| {
        let job = JobDetail { created: 1000, active: 1, ended: None };
        let question = Question { pending_since: Some(1000), ..question(None) };
        decide(&question, &asked(Some(&job), seen, now), |_| String::new()).again
    };
    let looks = [1000, 1008, 1020, 1055, 1059, 1100, 1598].map(|now| again(Seen::Running, now));
    assert_eq!(
        looks,
        [2, 2, 5, 5, 1, 15, 2],
        "what is denied for a tenth of the deadline is denied"
    );
}

#[test]
fn who_asks_to_skip_it_has_the_change_rolled_out_whatever_was_said_of_it() {
    let refused =
        PreflightStatus { verdict: PreflightVerdict::Refused, ..PreflightStatus::default() };
    let question = Question { is_skipped: true, refused: Some(refused), ..question(None) };
    let job = JobDetail { created: 1000, active: 1, ended: None };
    for job in [None, Some(&job)] {
        let found = decide(&question, &asked(job, Seen::Running, 1001), |_| String::new());
        let State::Checked(checked) = &found.state else { panic!("{found:?}") };
        assert!(!found.holds() && !found.is_recorded, "{found:?}");
        assert_eq!(checked.verdict, PreflightVerdict::NotJudged);
        assert!(checked.why.as_ref().unwrap().contains("llamastack.io/preflight"), "{checked:?}");
    }
}

#[test]
fn a_change_is_urgent_while_no_wanted_pod_is_available_unless_it_was_refused() {
    let deployment = |wanted: i32, available: i32| {
        let object = serde_json::json!({
            "metadata": {"name": "llama", "namespace": "ns", "uid": "1"},
            "spec": {
                "replicas": wanted,
                "selector": {"matchLabels": {labels::INSTANCE: "llama"}},
            },
            "status": {"availableReplicas": available},
        });
        LiveObject::parse(ObjectKind::Deployment, &object).unwrap().1
    };
    let question = question(None);
    assert_eq!(question.urgency(Some(&deployment(1, 0))), Urgency::Down);
    assert_eq!(question.urgency(Some(&deployment(2, 1))), Urgency::Serving);
    assert_eq!(question.urgency(Some(&deployment(0, 0))), Urgency::Serving, "it sleeps");
    assert_eq!(question.urgency(None), Urgency::Serving);
    let refused = Question { refused: Some(PreflightStatus::default()), ..question };
    assert_eq!(refused.urgency(Some(&deployment(1, 0))), Urgency::Serving);
}
