//! Sequences that once failed, each in the shortest form that the explorer found, and a small part of what
//! `make explore` tries.

use llsd_explorer::explore::{Finding, as_test, exhaustive, minimised, random, run};
use llsd_explorer::step::Step;
use llsd_explorer::wish::Mood;

/// Panics with all sequences that fail, as tests.
fn none(found: Vec<Finding>) {
    let shortest: Vec<String> =
        found.into_iter().take(5).map(|finding| as_test(&minimised(finding))).collect();
    assert!(shortest.is_empty(), "{}", shortest.join("\n"));
}

#[test]
fn every_two_things_at_once_leave_the_server_right() {
    let mut found = Vec::new();
    for length in 1..=2 {
        exhaustive(length, Step::ALL, |finding| found.push(finding));
    }
    none(found);
}

#[test]
fn random_sequences_leave_the_server_right() {
    let mut found = Vec::new();
    random(200, 1, |finding| found.push(finding));
    none(found);
}

#[test]
fn what_leads_to_the_pods_follows_those_that_serve() {
    assert_eq!(run(&[Step::Edit(Mood::Refused), Step::EditPort]), Ok(()));
    assert_eq!(run(&[Step::Edit(Mood::Broken), Step::EditPort]), Ok(()));
}

#[test]
fn a_lost_label_rolls_out_nothing_that_was_refused() {
    assert_eq!(run(&[Step::Edit(Mood::Refused), Step::LoseLabel]), Ok(()));
    assert_eq!(run(&[Step::Edit(Mood::Broken), Step::Settle, Step::LoseLabel]), Ok(()));
}

#[test]
fn a_rotated_secret_reaches_a_server_that_was_rolled_back_and_undoes_nothing() {
    assert_eq!(run(&[Step::Edit(Mood::Broken), Step::Settle, Step::Rotate(0)]), Ok(()));
    let at_once = [Step::Scale(2), Step::Edit(Mood::Broken), Step::Tick, Step::Rotate(0)];
    assert_eq!(run(&at_once), Ok(()));
}

#[test]
fn a_rotated_secret_reaches_a_server_whose_next_change_is_refused() {
    assert_eq!(run(&[Step::Edit(Mood::Refused), Step::Rotate(0)]), Ok(()));
    assert_eq!(run(&[Step::Edit(Mood::Refused), Step::LoseKey, Step::Rotate(0)]), Ok(()));
}

#[test]
fn what_never_ran_is_not_good() {
    let at_zero = [Step::Scale(0), Step::Settle, Step::Edit(Mood::Broken), Step::Settle];
    assert_eq!(run(&[&at_zero[..], &[Step::Edit(Mood::Good)]].concat()), Ok(()));
    assert_eq!(run(&[&at_zero[..], &[Step::Scale(1)]].concat()), Ok(()));
}

#[test]
fn another_key_of_the_operator_restarts_nothing() {
    assert_eq!(run(&[Step::LoseKey]), Ok(()));
}

#[test]
fn what_failed_goes_back_whatever_became_of_the_next_change() {
    let broken = [Step::Edit(Mood::Broken), Step::Tick, Step::Tick, Step::Tick];
    assert_eq!(run(&[&broken[..], &[Step::Edit(Mood::Refused)]].concat()), Ok(()));
}

#[test]
fn a_former_leader_undoes_nothing() {
    let sequence = [
        Step::Edit(Mood::Good),
        Step::StallLeader,
        Step::Edit(Mood::Good),
        Step::Settle,
        Step::WakeStalled,
    ];
    assert_eq!(run(&sequence), Ok(()));
}
