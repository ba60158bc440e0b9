//! Waves of many servers: what must hold in every order of events, and what a server that waits is told.

use std::slice::from_ref;

use proptest::prelude::*;

use super::super::budget::{Budget, Share};
use super::*;

fn wave(input: &str) -> Wave {
    Wave { inputs: vec![input.to_owned()], ..Wave::default() }
}

fn candidate(key: &Key, input: &str, neighbours: usize) -> Candidate {
    let (wave, inputs) = (wave(input), vec!["ca-bundle".to_owned()]);
    Candidate { key: key.clone(), wave, inputs, neighbours }
}

#[expect(clippy::unnecessary_wraps, reason = "what Waves::ended takes")]
fn member(input: &str, is_changing: bool, has_failed: bool) -> Option<Member> {
    Some(Member { wave: wave(input), is_changing, has_failed })
}

fn fleet(managed: usize, at_a_time: usize, per_namespace: usize) -> Fleet {
    let max_unavailable = Share::Number(at_a_time);
    Fleet { managed, budget: Budget { max_unavailable, per_namespace, stop_after_failures: 2 } }
}

/// Asks, and reports that the reconcile wrote what it was allowed to.
fn reconcile(waves: &mut Waves, key: &Key, input: &str, fleet: Fleet) -> Result<(), Waiting> {
    let answer = waves.ask(candidate(key, input, 1), fleet);
    let known = waves.members.get(key).cloned();
    waves.ended(key, if answer.is_ok() { member(input, true, false) } else { known });
    answer
}

#[test]
fn a_server_that_waits_is_told_who_changes_and_how_many_are_ahead() {
    let (mut waves, fleet) = (Waves::default(), fleet(20, 2, 1));
    let keys: Vec<Key> = (0..5).map(|n| Key::new(&format!("ns{n}"), "llama")).collect();
    assert!(reconcile(&mut waves, &keys[0], "ca-bundle=1", fleet).is_ok());
    assert!(reconcile(&mut waves, &keys[1], "ca-bundle=1", fleet).is_ok());
    assert!(reconcile(&mut waves, &keys[2], "ca-bundle=1", fleet).is_err());
    let waiting = reconcile(&mut waves, &keys[3], "ca-bundle=1", fleet).unwrap_err();
    assert_eq!((waiting.ahead, waiting.changing.len(), waiting.is_stopped()), (1, 2, false));
    assert!(waves.next(fleet).is_empty());
    waves.ended(&keys[1], None);
    assert_eq!(waves.next(fleet), [keys[2].clone()], "who has waited longest is next");
    assert!(reconcile(&mut waves, &keys[3], "ca-bundle=1", fleet).is_err(), "it is not its turn");
    waves.ended(&keys[2], None);
    assert_eq!(waves.next(fleet), [keys[3].clone()], "who does not ask any more keeps no turn");
}

#[test]
fn a_namespace_changes_one_after_the_other_and_small_ones_come_first() {
    let (mut waves, fleet) = (Waves::default(), fleet(20, 3, 1));
    let (big, small) = (["a", "b"].map(|name| Key::new("big", name)), Key::new("small", "c"));
    waves.ended(&Key::new("other", "d"), member("image=1", true, false));
    waves.ended(&Key::new("another", "e"), member("image=1", true, false));
    let blocked =
        Fleet { budget: Budget { max_unavailable: Share::Number(2), ..fleet.budget }, ..fleet };
    for (key, neighbours) in [(&big[0], 2), (&big[1], 2), (&small, 1)] {
        assert!(waves.ask(candidate(key, "ca-bundle=1", neighbours), blocked).is_err());
    }
    assert_eq!(waves.next(fleet), from_ref(&small));
    waves.ended(&Key::new("other", "d"), None);
    assert_eq!(waves.next(fleet), [small, big[0].clone()]);
}

#[test]
fn after_two_failures_the_others_wait_until_one_is_tried_again_or_the_input_is_new() {
    let (mut waves, fleet) = (Waves::default(), fleet(20, 5, 5));
    let [first, second, third] = ["a", "b", "c"].map(|name| Key::new("ns", name));
    waves.ended(&first, member("ca-bundle=1", false, true));
    waves.ended(&second, member("ca-bundle=1", false, true));
    let waiting = reconcile(&mut waves, &third, "ca-bundle=1", fleet).unwrap_err();
    assert_eq!(waiting.failed, [first.clone(), second.clone()]);
    assert!(waves.to_wake(fleet).is_empty(), "it knows");
    let mut fixed = waves.clone();
    assert!(reconcile(&mut fixed, &third, "ca-bundle=2", fleet).is_ok(), "another value");
    waves.ended(&first, member("ca-bundle=1", true, false));
    assert_eq!(waves.next(fleet), from_ref(&third));
    assert!(reconcile(&mut waves, &third, "ca-bundle=1", fleet).is_ok());
}

#[test]
fn those_that_wait_are_woken_once_to_say_that_the_wave_is_stopped() {
    let (mut waves, fleet) = (Waves::default(), fleet(20, 2, 5));
    let [first, second, third] = ["a", "b", "c"].map(|name| Key::new("ns", name));
    for key in [&first, &second, &third] {
        let _ = reconcile(&mut waves, key, "ca-bundle=1", fleet);
    }
    assert_eq!(waves.course(fleet), (Course::Idle, Course::UnderWay));
    waves.ended(&first, member("ca-bundle=1", true, true));
    assert!(waves.to_wake(fleet).is_empty(), "one failure does not stop it");
    waves.ended(&second, member("ca-bundle=1", true, true));
    assert_eq!(waves.course(fleet), (Course::UnderWay, Course::Stopped));
    assert_eq!(waves.to_wake(fleet), from_ref(&third));
    assert!(reconcile(&mut waves, &third, "ca-bundle=1", fleet).unwrap_err().is_stopped());
    assert!(waves.to_wake(fleet).is_empty());
    waves.ended(&second, member("ca-bundle=1", true, false));
    assert_eq!(waves.to_wake(fleet), from_ref(&third), "it continues");
    assert_eq!(waves.course(fleet), (Course::Stopped, Course::UnderWay));
    for key in [&first, &second, &third] {
        waves.ended(key, None);
    }
    assert_eq!(waves.course(fleet), (Course::UnderWay, Course::Idle));
}

#[test]
fn two_that_ask_at_the_same_time_do_not_both_take_the_last_place() {
    let (mut waves, fleet) = (Waves::default(), fleet(5, 1, 1));
    let [first, second] = ["a", "b"].map(|name| Key::new(name, "llama"));
    assert!(waves.ask(candidate(&first, "ca-bundle=1", 1), fleet).is_ok());
    assert!(waves.ask(candidate(&second, "ca-bundle=1", 1), fleet).is_err());
    assert!(waves.ask(candidate(&first, "ca-bundle=1", 1), fleet).is_ok(), "it has its turn");
    waves.ended(&second, None);
    waves.ended(&first, None);
    assert_eq!(waves.next(fleet), [second], "the first could not write, and gives its turn back");
}

#[test]
fn progress_counts_each_server_once() {
    let members = [
        member("image=1", true, false),
        member("image=1", true, true),
        member("image=1", false, true),
    ];
    let progress = WaveProgress::of_members(members.iter().flatten(), 4);
    assert_eq!(progress, WaveProgress { changing: 1, failed: 2, waiting: 4 });
}

#[test]
fn another_operator_continues_where_the_first_stopped() {
    let fleet = fleet(20, 2, 2);
    let keys: Vec<Key> = (0..3).map(|n| Key::new("ns", &format!("llama{n}"))).collect();
    let running = keys[..2].iter().map(|key| (key.clone(), member("ca-bundle=1", true, false)));
    let mut waves = Waves::of_members(running.filter_map(|(key, it)| Some((key, it?))));
    assert!(reconcile(&mut waves, &keys[2], "ca-bundle=1", fleet).is_err());
    waves.ended(&keys[0], None);
    assert_eq!(waves.next(fleet), keys[2..]);
}

/// What happens in a simulated cluster.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Some resource is reconciled, for whatever reason.
    Reconcile(usize),
    /// The reconcile could not write what it was allowed to.
    Unwritten(usize),
    Completes(usize),
    Fails(usize),
    /// The user tries a server that failed again.
    Retries(usize),
    /// Another operator leads.
    Leader,
}

fn step(servers: usize) -> impl Strategy<Value = Step> {
    let any = 0..servers;
    prop_oneof![
        8 => any.clone().prop_map(Step::Reconcile),
        1 => any.clone().prop_map(Step::Unwritten),
        4 => any.clone().prop_map(Step::Completes),
        1 => any.clone().prop_map(Step::Fails),
        1 => any.prop_map(Step::Retries),
        1 => Just(Step::Leader),
    ]
}

/// Servers of one wave, and how far each is.
struct Simulation {
    waves: Waves,
    keys: Vec<Key>,
    /// `None` before the change reached it.
    state: Vec<Option<Member>>,
    done: Vec<bool>,
    fleet: Fleet,
}

impl Simulation {
    fn new(servers: usize, namespaces: usize, fleet: Fleet) -> Self {
        let key = |n: usize| Key::new(&format!("ns{}", n % namespaces), &format!("llama{n}"));
        let (state, done) = (vec![None; servers], vec![false; servers]);
        Self { waves: Waves::default(), keys: (0..servers).map(key).collect(), state, done, fleet }
    }

    fn has_begun(&self, at: usize) -> bool {
        self.done[at] || self.state[at].is_some()
    }

    fn reconcile(&mut self, at: usize, is_written: bool) {
        let key = &self.keys[at];
        if !self.has_begun(at) {
            let answer = self.waves.ask(candidate(key, "ca-bundle=1", at % 3), self.fleet);
            if answer.is_ok() && is_written {
                self.state[at] = member("ca-bundle=1", true, false);
            }
        }
        self.waves.ended(key, self.state[at].clone());
    }

    fn becomes(&mut self, at: usize, member: Option<Member>) {
        self.done[at] = member.is_none();
        self.state[at] = member;
        self.reconcile(at, true);
    }

    fn run(&mut self, step: Step) {
        let is = |state: &Option<Member>, failed: bool| {
            state.as_ref().is_some_and(|member| member.has_failed == failed)
        };
        match step {
            Step::Reconcile(at) => self.reconcile(at, true),
            Step::Unwritten(at) => self.reconcile(at, false),
            Step::Completes(at) if is(&self.state[at], false) => self.becomes(at, None),
            Step::Fails(at) if is(&self.state[at], false) => {
                self.becomes(at, member("ca-bundle=1", at % 2 == 0, true));
            }
            Step::Retries(at) if is(&self.state[at], true) => {
                self.becomes(at, member("ca-bundle=1", true, false));
            }
            Step::Completes(_) | Step::Fails(_) | Step::Retries(_) => {}
            Step::Leader => {
                let members = self.keys.iter().cloned().zip(self.state.iter().cloned());
                let members = members.filter_map(|(key, member)| Some((key, member?)));
                self.waves = Waves::of_members(members);
            }
        }
    }

    fn changing(&self) -> Vec<&Key> {
        let state = self.keys.iter().zip(&self.state);
        let changing = |member: &Option<Member>| member.as_ref().is_some_and(|it| it.is_changing);
        state.filter(|(_, member)| changing(member)).map(|(key, _)| key).collect()
    }

    fn failed(&self) -> usize {
        self.state.iter().flatten().filter(|member| member.has_failed).count()
    }
}

proptest! {
    #[test]
    fn never_more_than_the_budget_change_and_none_begins_after_the_stop(
        at_a_time in 1usize..4,
        per_namespace in 1usize..3,
        steps in proptest::collection::vec(step(12), 1..120),
    ) {
        let mut simulation = Simulation::new(12, 4, fleet(12, at_a_time, per_namespace));
        for step in steps {
            let before: Vec<Key> = simulation.changing().into_iter().cloned().collect();
            let failed = simulation.failed();
            simulation.run(step);
            let now = simulation.changing();
            // A server that went back and is tried again by its user waits for no other.
            let is_asked_for = matches!(step, Step::Retries(_));
            prop_assert!(is_asked_for || now.len() <= at_a_time.max(before.len()), "{now:?}");
            let begun = now.iter().find(|key| !before.contains(key)).filter(|_| !is_asked_for);
            let Some(begun) = begun else { continue };
            let neighbours = now.iter().filter(|key| key.namespace == begun.namespace).count();
            prop_assert!(neighbours <= per_namespace, "{now:?}");
            prop_assert!(failed < 2, "{failed} had failed");
        }
    }

    #[test]
    fn every_server_gets_its_turn_if_those_that_are_woken_are_reconciled(
        servers in 1usize..30,
        namespaces in 1usize..8,
        at_a_time in 1usize..6,
        per_namespace in 1usize..3,
    ) {
        let fleet = fleet(servers, at_a_time, per_namespace);
        let mut simulation = Simulation::new(servers, namespaces, fleet);
        for at in 0..servers {
            simulation.reconcile(at, true);
        }
        let place = |simulation: &Simulation, key: &Key| {
            simulation.keys.iter().position(|it| it == key).unwrap()
        };
        for _ in 0..servers {
            let Some(changing) = simulation.changing().first().map(|key| (*key).clone()) else {
                break;
            };
            simulation.becomes(place(&simulation, &changing), None);
            for key in simulation.waves.next(fleet) {
                simulation.reconcile(place(&simulation, &key), true);
            }
        }
        prop_assert!(simulation.done.iter().all(|done| *done), "{:?}", simulation.done);
        prop_assert_eq!(simulation.waves.waiting(), 0);
    }
}
