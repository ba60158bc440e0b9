//! What the operator says of a server's answers is what the server's own middleware and access control
//! answer: on generated rules, callers and requests, and on sentences that are nearly conditions. The newest
//! release is asked; with `LLSD_TEST_SERVERS`, those that it names.

use std::collections::BTreeMap;

use llsd_api::v1alpha2::{AccessSpec, Action};
use llsd_plan::policy::{
    self, Answer, Caller, DecidedBy, Outcome, Policies, Request, RuleDecision, decide_resource,
    route_policy,
};
use llsd_plan::releases::{Release as Row, Releases};
use llsd_testkit::{Decided, Release};
use serde_json::Value;

use super::cases::{Case, has_routes};
use super::sentences;

/// Cases that are checked here, for each release.
const CHECKED: usize = 500;
/// Some have a pattern that only the server reads.
const GENERATED: usize = 560;
const SENTENCES: usize = 400;

#[test]
fn the_operator_foresees_what_a_server_answers() {
    for release in releases() {
        agree(release);
    }
}

/// Those that have authentication: the first ones ask the probes of their own pods for a token.
fn releases() -> Vec<Release> {
    let under_test = if Release::is_thorough_test() {
        Release::under_test().unwrap()
    } else {
        vec![Release::newest()]
    };
    let has_access = |release: &Release| *release >= Release::V0_3_5;
    under_test
        .into_iter()
        .filter(|release| has_access(release) && release.install_or_skip())
        .collect()
}

fn agree(release: Release) {
    let row = Releases::shipped().all().iter().find(|row| row.name == release.name()).unwrap();
    let mut random = fastrand::Rng::with_seed(19);
    let cases: Vec<Case> =
        (0..GENERATED).map(|_| Case::generate(release, row, &mut random)).collect();
    let sentences: Vec<String> = (0..SENTENCES).map(|_| sentences::generate(&mut random)).collect();
    let asked: Vec<Value> = cases.iter().map(|case| case.for_server.clone()).collect();
    let decisions = release.decide(&sentences, &asked).unwrap();

    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    let mut count = |what: String| *seen.entry(what).or_default() += 1;
    for (sentence, understood) in sentences.iter().zip(&decisions.conditions) {
        let ours = policy::condition::parse(sentence, row);
        assert_eq!(ours.is_ok(), *understood, "{release}: {sentence:?}: {ours:?}");
        count(format!("sentence {understood}"));
    }
    for (case, theirs) in cases.iter().zip(&decisions.cases) {
        let Some(ours) = foreseen(case, row) else { continue };
        assert_eq!(ours, *theirs, "{release}: ours, then the server's, of {:#}", case.for_server);
        count("checked".to_owned());
        count(format!("status {}", theirs.status));
        if let Some(allowed) = theirs.allowed {
            count(format!("allowed {allowed}"));
        }
    }
    println!("{release}: {seen:?}");
    assert!(seen["checked"] >= CHECKED, "{release}: {seen:?}");
    let mut kinds = vec!["status 200", "status 401", "allowed true", "allowed false"];
    kinds.extend(["sentence true", "sentence false"]);
    kinds.extend(has_routes(release).then_some("status 403"));
    let rare = kinds.iter().filter(|kind| seen.get(**kind).is_none_or(|count| *count < 40));
    assert_eq!(rare.collect::<Vec<_>>(), Vec::<&&str>::new(), "{release}: {seen:?}");
}

/// What the operator says, in the server's terms; nothing where it says that only the server knows.
fn foreseen(case: &Case, row: &'static Row) -> Option<Decided> {
    let spec: AccessSpec = serde_json::from_value(case.access.clone()).unwrap();
    let releases = Releases::shipped();
    let policies = policy::parse_policies(&spec, row, releases)
        .unwrap_or_else(|problems| panic!("{problems:#?}"));
    let asked: Request =
        Request { method: case.method.clone(), path: case.path.clone(), told: case.told.clone() };
    let (caller, decision) = match policy::answer(&spec, &policies, &asked) {
        Answer::Undecided(_) => return None,
        Answer::Unknown(_) => return Some(stopped(401)),
        Answer::Failed(_) => return Some(stopped(500)),
        Answer::Decided { caller, decision } => (caller, decision),
    };
    let mut rules = route_policy(&spec, releases).into_iter();
    let route = rules.position(|server_rule| server_rule.by == decision.by);
    let status = match decision.outcome {
        Outcome::Allowed => 200,
        Outcome::Denied => 403,
        Outcome::Unsure => return None,
    };
    let resource_request =
        if status == 200 { resource_request(case, &policies, caller.as_ref()) } else { None };
    let (allowed, rule) = match resource_request {
        None => (None, None),
        Some(RuleDecision { outcome: Outcome::Unsure, .. }) => return None,
        Some(RuleDecision { outcome, by }) => {
            let rule = if let DecidedBy::Rule(index) = by { Some(index) } else { None };
            (Some(outcome == Outcome::Allowed), rule)
        }
    };
    Some(Decided { status, route, allowed, rule })
}

/// Nothing else is decided then.
fn stopped(status: u16) -> Decided {
    Decided { status, route: None, allowed: None, rule: None }
}

fn resource_request(
    case: &Case,
    policies: &Policies,
    caller: Option<&Caller>,
) -> Option<RuleDecision> {
    let resource_request = case
        .for_server
        .get("resource_request")
        .filter(|resource_request| !resource_request.is_null())?;
    let action: Action = serde_json::from_value(resource_request["action"].clone()).unwrap();
    let resource = resource_request["resource"].as_str().unwrap();
    let owner =
        resource_request.get("owner").filter(|owner| !owner.is_null()).map(|owner| Caller {
            principal: owner["principal"].as_str().unwrap().to_owned(),
            attributes: serde_json::from_value(owner["attributes"].clone()).unwrap(),
            tenant: owner["tenant"].as_str().map(str::to_owned),
        });
    Some(decide_resource(policies, caller, action, resource, owner.as_ref()))
}
