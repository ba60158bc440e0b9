//! Who comes first: canaries, and those that gather before the first has its turn; and when no turn begins.

use super::*;

fn canary(key: &Key, input: &str) -> Candidate {
    let mut candidate = candidate(key, input, 9);
    candidate.wave.canary = true;
    candidate
}

fn canary_member(input: &str, stage: MemberStage) -> Member {
    Member { wave: canary(&Key::new("ns", "canary"), input).wave, stage }
}

fn keys<const N: usize>(names: [&str; N]) -> [Key; N] {
    names.map(|name| Key::new(name, "llama"))
}

#[test]
fn others_wait_until_the_canaries_run_well() {
    let mut waves = waves(fleet(20, 5, 1));
    let [first, second, other] = keys(["a", "b", "c"]);
    let checked = Candidate { is_ready: false, ..canary(&second, "image=1") };
    assert!(waves.ask(&checked).is_err(), "its preflight goes on");
    assert!(waves.ask(&canary(&first, "image=1")).is_ok());
    waves.ended(&first, Some(canary_member("image=1", CHANGING)));
    let waiting = reconcile(&mut waves, &other, "image=1").unwrap_err();
    assert_eq!((waiting.canaries.elsewhere, waiting.ahead), (2, 1));
    assert!(reconcile(&mut waves, &other, "image=2").is_ok(), "it is another change");
    waves.ended(&other, None);
    assert!(reconcile(&mut waves, &other, "image=1").is_err());

    waves.ended(&first, None);
    assert!(waves.take_woken().is_empty(), "the second has not even begun");
    assert!(waves.ask(&canary(&second, "image=1")).is_ok());
    waves.ended(&second, Some(canary_member("image=1", CHANGING)));
    assert!(waves.take_woken().is_empty());
    waves.ended(&second, None);
    assert_eq!(waves.take_woken(), [other]);
}

#[test]
fn a_canary_whose_preflight_refuses_the_change_holds_up_no_other() {
    let mut waves = waves(fleet(20, 5, 1));
    let [first, other] = keys(["a", "b"]);
    let checked = Candidate { is_ready: false, ..canary(&first, "image=1") };
    assert!(waves.ask(&checked).is_err());
    assert!(reconcile(&mut waves, &other, "image=1").is_err());
    waves.ended(&first, None);
    waves.ended(&first, None);
    assert_eq!(waves.take_woken(), [other]);
}

#[test]
fn one_failed_canary_stops_the_change_also_for_another_operator() {
    let [first, other] = keys(["a", "b"]);
    for stage in [DOWN, SERVES] {
        let members = [(first.clone(), canary_member("image=1", stage))];
        let mut waves = Waves::of_members(members, fleet(20, 5, 5), 0);
        let waiting = reconcile(&mut waves, &other, "image=1").unwrap_err();
        assert!(waiting.is_stopped() && waiting.canaries.is_empty());
        waves.ended(&first, Some(canary_member("image=1", CHANGING)));
        assert_eq!(waves.take_woken(), from_ref(&other), "it is told that the change continues");
        let waiting = reconcile(&mut waves, &other, "image=1").unwrap_err();
        assert!(!waiting.is_stopped() && !waiting.canaries.is_empty());
    }
}

#[test]
fn those_that_a_change_reaches_gather_before_the_first_has_its_turn() {
    let mut waves = Waves::of_members([], fleet(20, 1, 1), GATHERING);
    waves.set_time(100);
    let [big, small, late] = keys(["a", "b", "c"]);
    for (key, neighbours) in [(&big, 7), (&small, 1)] {
        assert!(waves.ask(&candidate(key, "image=1", neighbours)).is_err());
        waves.ended(key, None);
        assert!(waves.ask(&candidate(key, "image=1", neighbours)).is_err());
    }
    waves.set_time(100 + GATHERING - 1);
    assert!(waves.take_woken().is_empty());
    waves.set_time(100 + GATHERING);
    assert_eq!(waves.take_woken(), from_ref(&small), "its namespace is the smaller one");
    waves.ended(&small, None);
    waves.ended(&small, None);
    assert_eq!(waves.take_woken(), from_ref(&big));
    assert!(waves.ask(&candidate(&late, "image=1", 1)).is_err(), "the place is taken");
}

#[test]
fn no_turn_begins_while_no_window_is_open() {
    let closed = |until| Fleet { opens_at: until, ..fleet(20, 2, 1) };
    let mut waves = waves(closed(Some(500)));
    let [first, second, third] = keys(["a", "b", "c"]);
    let waiting = reconcile(&mut waves, &first, "image=1").unwrap_err();
    assert_eq!(waiting.fleet.opens_at, Some(500));
    assert!(reconcile(&mut waves, &second, "image=1").is_err());
    waves.set_fleet(closed(None));
    assert_eq!(waves.take_woken(), [first.clone(), second.clone()]);
    assert!(reconcile(&mut waves, &first, "image=1").is_ok());
    assert!(reconcile(&mut waves, &second, "image=1").is_ok());
    waves.set_fleet(closed(Some(900)));
    assert!(reconcile(&mut waves, &third, "image=1").is_err());
    waves.ended(&first, None);
    assert!(waves.take_woken().is_empty(), "what has begun ends, and nothing begins");
}
