//! Waves of many servers: what a server that waits is told, and who goes next.

mod canaries;
mod many;
mod orders;

use std::slice::from_ref;

use super::super::budget::{Budget, Share};
use super::super::record::MemberStage;
use super::*;

const CHANGING: MemberStage = MemberStage::Changing;
const DOWN: MemberStage = MemberStage::Failed { is_down: true };
const SERVES: MemberStage = MemberStage::Failed { is_down: false };

fn wave(input: &str) -> Wave {
    Wave { inputs: vec![input.to_owned()], ..Wave::default() }
}

fn candidate(key: &Key, input: &str, neighbours: usize) -> Candidate {
    let (wave, inputs) = (wave(input), vec!["ca-bundle".to_owned()]);
    Candidate { key: key.clone(), wave, inputs, neighbours, is_ready: true }
}

fn member(input: &str, stage: MemberStage) -> Member {
    Member { wave: wave(input), stage }
}

fn fleet(managed: usize, at_a_time: usize, per_namespace: usize) -> Fleet {
    let max_unavailable = Share::Number(at_a_time);
    let budget = Budget { max_unavailable, per_namespace, stop_after_failures: 2 };
    Fleet { managed, budget, opens_at: None }
}

fn waves(fleet: Fleet) -> Waves {
    Waves::of_members([], fleet, 0)
}

/// Asks, and reports that the reconcile wrote what it was allowed to.
fn reconcile(waves: &mut Waves, key: &Key, input: &str) -> Result<(), Box<Waiting>> {
    let answer = waves.ask(&candidate(key, input, 1));
    let known = waves.members.get(key).cloned();
    waves.ended(key, if answer.is_ok() { Some(member(input, CHANGING)) } else { known });
    answer
}

#[test]
fn a_server_that_waits_is_told_who_changes_and_how_many_are_ahead() {
    let mut waves = waves(fleet(20, 2, 1));
    let keys: Vec<Key> = (0..5).map(|n| Key::new(&format!("ns{n}"), "llama")).collect();
    assert!(reconcile(&mut waves, &keys[0], "ca-bundle=1").is_ok());
    assert!(reconcile(&mut waves, &keys[1], "ca-bundle=1").is_ok());
    assert!(reconcile(&mut waves, &keys[2], "ca-bundle=1").is_err());
    let waiting = reconcile(&mut waves, &keys[3], "ca-bundle=1").unwrap_err();
    assert_eq!((waiting.ahead, waiting.changing.elsewhere, waiting.is_stopped()), (1, 2, false));
    assert!(waves.take_woken().is_empty());
    waves.ended(&keys[1], None);
    assert_eq!(waves.take_woken(), from_ref(&keys[2]), "who has waited longest is next");
    assert!(waves.take_woken().is_empty(), "it was told");
    assert!(reconcile(&mut waves, &keys[3], "ca-bundle=1").is_err(), "it is not its turn");
    waves.ended(&keys[2], None);
    assert_eq!(waves.take_woken(), from_ref(&keys[3]), "who does not ask keeps no turn");
}

#[test]
fn a_namespace_changes_one_after_the_other_and_small_ones_come_first() {
    let mut waves = waves(fleet(20, 2, 1));
    let (big, small) = (["a", "b"].map(|name| Key::new("big", name)), Key::new("small", "c"));
    let others = ["d", "e"].map(|namespace| Key::new(namespace, "llama"));
    for other in &others {
        waves.ended(other, Some(member("image=1", CHANGING)));
    }
    for (key, neighbours) in [(&big[0], 2), (&big[1], 2), (&small, 1)] {
        assert!(waves.ask(&candidate(key, "ca-bundle=1", neighbours)).is_err());
    }
    waves.set_fleet(fleet(20, 3, 1));
    assert_eq!(waves.take_woken(), from_ref(&small));
    for other in &others {
        waves.ended(other, None);
    }
    assert_eq!(waves.take_woken(), big[..1], "the other one of its namespace comes later");
}

#[test]
fn after_two_failures_the_others_wait_until_one_is_tried_again_or_the_input_is_new() {
    let mut waves = waves(fleet(20, 5, 5));
    let [first, second, third] = ["a", "b", "c"].map(|name| Key::new("ns", name));
    waves.ended(&first, Some(member("ca-bundle=1", SERVES)));
    waves.ended(&second, Some(member("ca-bundle=1", SERVES)));
    let waiting = reconcile(&mut waves, &third, "ca-bundle=1").unwrap_err();
    assert_eq!(waiting.failed.here, [first.clone(), second]);
    assert!(waves.take_woken().is_empty(), "it knows");
    let mut fixed = waves.clone();
    assert!(reconcile(&mut fixed, &third, "ca-bundle=2").is_ok(), "another value");
    waves.ended(&first, Some(member("ca-bundle=1", CHANGING)));
    assert_eq!(waves.take_woken(), from_ref(&third));
    assert!(reconcile(&mut waves, &third, "ca-bundle=1").is_ok());
}

#[test]
fn those_that_wait_are_woken_once_to_say_that_the_wave_is_stopped() {
    let mut waves = waves(fleet(20, 2, 5));
    let [first, second, third] = ["a", "b", "c"].map(|name| Key::new("ns", name));
    for key in [&first, &second, &third] {
        let _ = reconcile(&mut waves, key, "ca-bundle=1");
    }
    assert_eq!(waves.course(), (Course::Idle, Course::UnderWay));
    waves.ended(&first, Some(member("ca-bundle=1", DOWN)));
    assert!(waves.take_woken().is_empty(), "one failure does not stop it");
    waves.ended(&second, Some(member("ca-bundle=1", DOWN)));
    assert_eq!(waves.course(), (Course::UnderWay, Course::Stopped));
    assert_eq!(waves.take_woken(), from_ref(&third));
    assert!(reconcile(&mut waves, &third, "ca-bundle=1").unwrap_err().is_stopped());
    assert!(waves.take_woken().is_empty());
    waves.ended(&second, Some(member("ca-bundle=1", CHANGING)));
    assert_eq!(waves.take_woken(), from_ref(&third), "it continues");
    assert_eq!(waves.course(), (Course::Stopped, Course::UnderWay));
    for key in [&first, &second, &third] {
        waves.ended(key, None);
    }
    assert_eq!(waves.course(), (Course::UnderWay, Course::Idle));
}

#[test]
fn one_that_failed_and_takes_the_only_place_stops_its_own_change_and_no_other() {
    let mut waves = waves(fleet(10, 1, 1));
    let [failed, same, image] = ["a", "b", "c"].map(|name| Key::new("team", name));
    let elsewhere = Key::new("other", "d");
    let secret = "team/secret:keys/token=1";
    waves.ended(&failed, Some(member(secret, DOWN)));
    let waiting = reconcile(&mut waves, &same, secret).unwrap_err();
    assert_eq!(waiting.failed.here, from_ref(&failed), "no place is left");
    assert_eq!(waves.course().1, Course::Stopped);
    assert!(reconcile(&mut waves, &image, "image=1").is_ok(), "it is another change");
    assert!(!reconcile(&mut waves, &elsewhere, "image=1").unwrap_err().is_stopped());
    waves.ended(&image, None);
    assert_eq!(waves.take_woken(), [elsewhere]);
    waves.ended(&failed, Some(member(secret, SERVES)));
    assert!(!reconcile(&mut waves, &same, secret).unwrap_err().is_stopped(), "only one failed");
}

#[test]
fn one_that_failed_and_does_not_serve_keeps_its_place_for_its_own_change() {
    let mut waves = waves(fleet(20, 2, 5));
    let [failed, first, second, image] = ["a", "b", "c", "d"].map(|name| Key::new("ns", name));
    waves.ended(&failed, Some(member("ca-bundle=1", DOWN)));
    assert!(reconcile(&mut waves, &first, "ca-bundle=1").is_ok());
    let waiting = reconcile(&mut waves, &second, "ca-bundle=1").unwrap_err();
    assert!(!waiting.is_stopped(), "the first may come back");
    assert!(reconcile(&mut waves, &image, "image=1").is_ok());
}

#[test]
fn one_whose_change_is_checked_takes_part_and_holds_up_no_other() {
    let mut waves = waves(fleet(5, 1, 1));
    let [first, second] = ["a", "b"].map(|name| Key::new(name, "llama"));
    let checked = Candidate { is_ready: false, ..candidate(&first, "ca-bundle=1", 1) };
    assert!(!waves.ask(&checked).unwrap_err().is_ready);
    waves.ended(&first, None);
    assert_eq!((waves.course().1, waves.progress().waiting), (Course::UnderWay, 1));
    assert!(reconcile(&mut waves, &second, "ca-bundle=1").is_ok());
    waves.ended(&second, None);
    assert!(waves.take_woken().is_empty());
    assert_eq!(waves.course().1, Course::UnderWay, "not all have it");
    assert!(reconcile(&mut waves, &first, "ca-bundle=1").is_ok());
}

#[test]
fn two_that_ask_at_the_same_time_do_not_both_take_the_last_place() {
    let mut waves = waves(fleet(5, 1, 1));
    let [first, second] = ["a", "b"].map(|name| Key::new(name, "llama"));
    assert!(waves.ask(&candidate(&first, "ca-bundle=1", 1)).is_ok());
    assert!(waves.ask(&candidate(&second, "ca-bundle=1", 1)).is_err());
    assert!(waves.ask(&candidate(&first, "ca-bundle=1", 1)).is_ok(), "it has its turn");
    waves.ended(&first, None);
    assert_eq!(waves.take_woken(), from_ref(&second), "the first could not write");
    waves.ended(&second, None);
    assert!(waves.ask(&candidate(&second, "ca-bundle=1", 1)).is_ok(), "it had asked before");
}

#[test]
fn a_turn_is_not_taken_any_more_once_the_change_is_stopped() {
    let mut waves = waves(fleet(20, 2, 5));
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| Key::new("ns", name));
    for key in [&a, &b, &c, &d] {
        let _ = reconcile(&mut waves, key, "ca-bundle=1");
    }
    waves.ended(&a, None);
    assert_eq!(waves.take_woken(), from_ref(&c));
    waves.ended(&a, Some(member("ca-bundle=1", SERVES)));
    waves.ended(&b, Some(member("ca-bundle=1", SERVES)));
    let waiting = reconcile(&mut waves, &c, "ca-bundle=1").unwrap_err();
    assert_eq!((waiting.failed.here, waiting.ahead), (vec![a, b], 0), "it keeps its place");
}

#[test]
fn progress_counts_each_server_once() {
    let key = |name: &str| Key::new("ns", name);
    let members = [("a", CHANGING), ("b", DOWN), ("c", SERVES)];
    let members = members.map(|(name, stage)| (key(name), member("image=1", stage)));
    let mut waves = Waves::of_members(members, fleet(20, 1, 5), 0);
    assert!(waves.ask(&candidate(&key("d"), "image=1", 1)).is_err());
    assert_eq!(waves.progress(), WaveProgress { changing: 1, failed: 2, waiting: 1 });
}

#[test]
fn another_operator_continues_where_the_first_stopped() {
    let keys: Vec<Key> = (0..3).map(|n| Key::new("ns", &format!("llama{n}"))).collect();
    let running = keys[..2].iter().map(|key| (key.clone(), member("ca-bundle=1", CHANGING)));
    let mut waves = Waves::of_members(running, fleet(20, 2, 2), 0);
    assert!(reconcile(&mut waves, &keys[2], "ca-bundle=1").is_err());
    waves.ended(&keys[0], None);
    assert_eq!(waves.take_woken(), keys[2..]);
}
