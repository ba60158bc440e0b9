//! Slots are shared by namespace in turn, all of them are used, no more than there are, and no one waits forever.

use proptest::prelude::*;

use super::*;

const LONG_AGO: i64 = 0;

fn key(namespace: &str, name: &str) -> Key {
    Key::new(namespace, name)
}

fn running(keys: &[&Key]) -> JobsUnderWay {
    keys.iter().map(|key| ((*key).clone(), 1)).collect()
}

#[test]
fn a_single_change_is_next_however_many_another_namespace_has_in_line() {
    let mut slots = Slots::new(2);
    let many: Vec<Key> = (0..500).map(|index| key("many", &format!("{index:03}"))).collect();
    for (since, key) in many.iter().enumerate() {
        slots.ask(key, i64::try_from(since).unwrap());
    }
    assert_eq!(slots.give(&running(&[])), many[..2], "alone it may have them all, oldest first");
    for key in &many[..2] {
        slots.leave(key);
    }
    let single = key("one", "llama");
    slots.ask(&single, 1_000_000);
    assert!(slots.give(&running(&[&many[0], &many[1]])).is_empty(), "both slots are taken");
    assert_eq!(slots.give(&running(&[&many[1]])), vec![single.clone()]);
    assert!(slots.has_slot(&single) && !slots.has_slot(&many[2]));
    slots.leave(&single);
    assert_eq!(slots.give(&running(&[&single])), vec![many[2].clone()]);
}

#[test]
fn a_namespace_that_comes_back_at_once_does_not_overtake_those_that_wait() {
    let mut slots = Slots::new(1);
    for name in ["1", "2", "3"] {
        slots.ask(&key("many", name), LONG_AGO);
    }
    let mut order = Vec::new();
    for round in 0..6 {
        slots.ask(&key("busy", &format!("{round}")), 100 + round);
        let next = slots.give(&running(&[]));
        order.extend(next.iter().map(|key| key.namespace.to_string()));
        for key in &next {
            slots.leave(key);
        }
    }
    assert_eq!(order.iter().filter(|namespace| *namespace == "many").count(), 3, "{order:?}");
    assert!(order.windows(2).all(|two| two[0] != two[1]), "they take turns: {order:?}");
}

#[test]
fn a_slot_that_was_given_is_taken_until_its_job_is_there_and_counts_once() {
    let mut slots = Slots::new(1);
    let (first, second) = (key("a", "first"), key("a", "second"));
    slots.ask(&first, 1);
    slots.ask(&second, 2);
    assert_eq!(slots.give(&running(&[])), vec![first.clone()]);
    slots.ask(&first, 1);
    assert!(slots.give(&running(&[])).is_empty(), "its Job is being made");
    assert!(slots.give(&running(&[&first])).is_empty());
    slots.leave(&first);
    assert!(slots.give(&running(&[&first])).is_empty());
    assert_eq!(slots.give(&running(&[])), vec![second], "the Job has ended");
}

#[test]
fn who_needs_no_slot_any_more_leaves_it_to_the_next() {
    let mut slots = Slots::new(1);
    let (first, second, third) = (key("a", "first"), key("a", "second"), key("a", "third"));
    for (since, key) in [&first, &second, &third].into_iter().enumerate() {
        slots.ask(key, i64::try_from(since).unwrap());
    }
    slots.give(&running(&[]));
    slots.leave(&second);
    slots.leave(&first);
    assert_eq!(slots.give(&running(&[])), vec![third]);
}

#[test]
fn another_leader_counts_the_jobs_that_go_on_and_builds_the_same_line() {
    let mut slots = Slots::new(2);
    let (old, new) = (key("a", "old"), key("a", "new"));
    // Resources ask in any order; the status says since when each one waits.
    slots.ask(&new, 200);
    slots.ask(&old, 100);
    let other = key("b", "other");
    slots.ask(&other, 300);
    let going_on = key("a", "going-on");
    assert_eq!(slots.give(&running(&[&going_on])), vec![other], "a has a slot already");
    assert_eq!(slots.give(&JobsUnderWay::new()), vec![old]);
}

#[test]
fn nothing_is_kept_of_namespaces_at_rest() {
    let mut slots = Slots::new(1);
    for round in 0..100 {
        let key = key(&format!("ns-{round}"), "llama");
        slots.ask(&key, round);
        slots.give(&running(&[]));
        slots.leave(&key);
    }
    slots.give(&running(&[]));
    assert!(slots.lines.is_empty() && slots.waiting.is_empty() && slots.granted.is_empty());
}

/// What happens: a change comes up in one of four namespaces, one is withdrawn, or a Job ends.
#[derive(Clone, Debug)]
enum Step {
    Ask(u8),
    Withdraw(u8),
    End(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..4u8).prop_map(Step::Ask),
        1 => any::<u8>().prop_map(Step::Withdraw),
        3 => any::<u8>().prop_map(Step::End),
    ];
    prop::collection::vec(step, 1..200)
}

/// What the cluster and those who wait are like, beside the slots.
#[derive(Default)]
struct Model {
    jobs: Vec<Key>,
    waiting: Vec<Key>,
    /// For each waiting namespace without a slot, who was given one since it waits like that.
    passed: BTreeMap<Arc<str>, Vec<Arc<str>>>,
}

impl Model {
    fn taken(&self, namespace: &str) -> usize {
        self.jobs.iter().filter(|key| *key.namespace == *namespace).count()
    }

    fn take(&mut self, slots: &mut Slots, limit: usize) -> Result<(), TestCaseError> {
        let jobs: Vec<&Key> = self.jobs.iter().collect();
        for key in slots.give(&running(&jobs)) {
            prop_assert!(self.waiting.contains(&key), "{key} does not wait");
            let has = self.taken(&key.namespace);
            let hungry = |other: &Key| self.taken(&other.namespace) < has;
            prop_assert!(!self.waiting.iter().any(hungry), "{key} has more than one who waits");
            let first = self.waiting.iter().find(|other| other.namespace == key.namespace);
            prop_assert_eq!(first, Some(&key), "the oldest of a namespace is first");
            self.waiting.retain(|waiting| *waiting != key);
            self.passed.remove(&key.namespace);
            for given in self.passed.values_mut() {
                given.push(Arc::clone(&key.namespace));
            }
            self.jobs.push(key.clone());
            slots.leave(&key);
        }
        prop_assert!(self.jobs.len() <= limit, "more Jobs than slots");
        prop_assert!(self.jobs.len() == limit || self.waiting.is_empty(), "a slot is not used");
        let waiting = &self.waiting;
        self.passed.retain(|namespace, _| waiting.iter().any(|key| key.namespace == *namespace));
        for key in &self.waiting {
            if self.jobs.iter().all(|job| job.namespace != key.namespace) {
                self.passed.entry(Arc::clone(&key.namespace)).or_default();
            }
        }
        for (namespace, given) in &self.passed {
            for other in given {
                let times = given.iter().filter(|it| *it == other).count();
                prop_assert!(
                    times <= 2,
                    "{other} was given {times} slots while {namespace} waited"
                );
            }
        }
        Ok(())
    }
}

proptest! {
    #[test]
    fn slots_are_all_used_never_exceeded_and_no_namespace_waits_for_another_twice(
        limit in 1..4usize,
        steps in steps(),
    ) {
        let mut slots = Slots::new(limit);
        let mut model = Model::default();
        for (now, step) in (0..).zip(steps) {
            match step {
                Step::Ask(namespace) => {
                    let key = key(&format!("ns-{namespace}"), &format!("{now:03}"));
                    slots.ask(&key, now);
                    model.waiting.push(key);
                }
                Step::Withdraw(which) if !model.waiting.is_empty() => {
                    let gone = model.waiting.remove(usize::from(which) % model.waiting.len());
                    slots.leave(&gone);
                }
                Step::End(which) if !model.jobs.is_empty() => {
                    model.jobs.remove(usize::from(which) % model.jobs.len());
                }
                Step::Withdraw(_) | Step::End(_) => {}
            }
            model.take(&mut slots, limit)?;
        }
        // With no one new, everyone who waits has a turn.
        let waits = model.waiting.len();
        for _ in 0..waits {
            model.jobs.pop();
            model.take(&mut slots, limit)?;
        }
        prop_assert!(model.waiting.is_empty(), "{:?} wait forever", model.waiting);
    }
}
