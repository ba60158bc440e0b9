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
        slots.ask(key, i64::try_from(since).unwrap(), Urgency::Serving);
    }
    assert_eq!(slots.give(&running(&[])), many[..2], "alone it may have them all, oldest first");
    for key in &many[..2] {
        slots.leave(key);
    }
    let single = key("one", "llama");
    slots.ask(&single, 1_000_000, Urgency::Serving);
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
        slots.ask(&key("many", name), LONG_AGO, Urgency::Serving);
    }
    let mut order = Vec::new();
    for round in 0..6 {
        slots.ask(&key("busy", &format!("{round}")), 100 + round, Urgency::Serving);
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
    slots.ask(&first, 1, Urgency::Serving);
    slots.ask(&second, 2, Urgency::Serving);
    assert_eq!(slots.give(&running(&[])), vec![first.clone()]);
    slots.ask(&first, 1, Urgency::Serving);
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
        slots.ask(key, i64::try_from(since).unwrap(), Urgency::Serving);
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
    slots.ask(&new, 200, Urgency::Serving);
    slots.ask(&old, 100, Urgency::Serving);
    let other = key("b", "other");
    slots.ask(&other, 300, Urgency::Serving);
    let going_on = key("a", "going-on");
    assert_eq!(slots.give(&running(&[&going_on])), vec![other], "a has a slot already");
    assert_eq!(slots.give(&JobsUnderWay::new()), vec![old]);
}

/// A reconcile of a resource that asks and has a slot.
fn told(slots: &mut Slots, key: &Key, since: i64) {
    slots.ask(key, since, Urgency::Serving);
    assert!(slots.has_slot(key), "{key}");
}

#[test]
fn a_slot_for_which_no_job_is_made_goes_to_the_next_and_who_had_it_stands_behind_the_others() {
    let mut slots = Slots::new(1);
    let [stuck, second, third] = ["stuck", "second", "third"].map(|name| key("a", name));
    for (since, key) in [&stuck, &second, &third].into_iter().enumerate() {
        slots.ask(key, i64::try_from(since).unwrap(), Urgency::Serving);
    }
    assert_eq!(slots.give(&running(&[])), vec![stuck.clone()]);
    told(&mut slots, &stuck, 0);
    // A quota forbids its ConfigMap: it comes to no Job.
    assert_eq!(slots.reconciled(&stuck, 100, &running(&[])), vec![second.clone()]);
    slots.ask(&stuck, 0, Urgency::Serving);
    assert!(!slots.has_slot(&stuck) && slots.reconciled(&stuck, 101, &running(&[])).is_empty());
    told(&mut slots, &second, 1);
    slots.job_made(&second);
    assert!(slots.reconciled(&second, 102, &running(&[])).is_empty(), "no watch shows its Job yet");
    assert!(slots.reconciled(&second, 103, &running(&[&second])).is_empty(), "it asks no more");
    assert_eq!(slots.give(&running(&[])), vec![third.clone()], "the one that waits for longest");
    slots.leave(&third);
    assert_eq!(slots.give(&running(&[])), vec![stuck.clone()]);
    told(&mut slots, &stuck, 0);
    slots.job_made(&stuck);
    slots.reconciled(&stuck, 105, &running(&[&stuck]));
    assert!(slots.returned.is_empty(), "it is one of them again");
}

#[test]
fn who_gets_a_slot_while_it_is_worked_on_keeps_it_until_it_knows() {
    let mut slots = Slots::new(1);
    let [first, second] = ["first", "second"].map(|name| key("a", name));
    slots.ask(&first, 1, Urgency::Serving);
    slots.give(&running(&[]));
    slots.ask(&second, 2, Urgency::Serving);
    assert!(!slots.has_slot(&second));
    assert_eq!(slots.reconciled(&first, 3, &running(&[])), Vec::new(), "it was not told");
    slots.ask(&first, 1, Urgency::Serving);
    assert!(slots.has_slot(&first));
    assert_eq!(slots.reconciled(&first, 4, &running(&[])), vec![second.clone()]);
    assert_eq!(slots.reconciled(&second, 5, &running(&[])), Vec::new());
    told(&mut slots, &second, 2);
}

#[test]
fn what_may_bring_a_server_back_goes_past_the_others_every_second_time() {
    let mut slots = Slots::new(1);
    for index in 0..4 {
        slots.ask(&key("many", &format!("{index}")), index, Urgency::Serving);
        slots.ask(&key("down", &format!("{index}")), 100 + index, Urgency::Down);
    }
    let down = key("other", "down");
    slots.ask(&down, 1_000, Urgency::Serving);
    slots.ask(&down, 1_000, Urgency::Down);
    let mut order = Vec::new();
    for _ in 0..6 {
        let next = slots.give(&running(&[]));
        order.extend(next.iter().map(|key| key.namespace.to_string()));
        for key in &next {
            slots.leave(key);
        }
    }
    assert_eq!(order[0], "down", "{order:?}");
    assert!(order[..4].contains(&"other".to_owned()), "of those, too, namespaces take turns");
    assert!(order[..4].contains(&"many".to_owned()), "the others are not kept waiting: {order:?}");
}

#[test]
fn nothing_is_kept_of_namespaces_at_rest() {
    let mut slots = Slots::new(1);
    for round in 0..100 {
        let key = key(&format!("ns-{round}"), "llama");
        slots.ask(&key, round, Urgency::Serving);
        slots.give(&running(&[]));
        slots.has_slot(&key);
        slots.reconciled(&key, round, &running(&[]));
        slots.reconciled(&key, round, &running(&[]));
    }
    slots.give(&running(&[]));
    assert!(slots.lines.is_empty() && slots.waiting.is_empty() && slots.granted.is_empty());
    assert!(slots.asking.is_empty() && slots.returned.is_empty());
}

/// What happens: a change comes up in one of four namespaces, one that can never have its Job, such a one tries
/// again, one is withdrawn, or a Job ends.
#[derive(Clone, Debug)]
enum Step {
    Ask(u8),
    AskInVain(u8),
    Retry,
    Withdraw(u8),
    End(u8),
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        3 => (0..4u8).prop_map(Step::Ask),
        1 => (0..4u8).prop_map(Step::AskInVain),
        1 => Just(Step::Retry),
        1 => any::<u8>().prop_map(Step::Withdraw),
        3 => any::<u8>().prop_map(Step::End),
    ];
    prop::collection::vec(step, 1..200)
}

/// What the cluster and those who wait are like, beside the slots.
#[derive(Default)]
struct Model {
    jobs: Vec<Key>,
    /// Who has a slot and was not worked on yet.
    granted: Vec<Key>,
    /// Since when each one stands in line.
    waiting: Vec<(i64, Key)>,
    /// Who can never have its Job, and since when it stands in line next time.
    stuck: BTreeMap<Key, i64>,
    /// For each waiting namespace without a slot, who was given one since it waits like that.
    passed: BTreeMap<Arc<str>, Vec<Arc<str>>>,
}

impl Model {
    fn taken(&self, namespace: &str) -> usize {
        let all = self.jobs.iter().chain(&self.granted);
        all.filter(|key| *key.namespace == *namespace).count()
    }

    fn ask(&mut self, slots: &mut Slots, key: &Key, since: i64) {
        slots.ask(key, since, Urgency::Serving);
        // The reconcile that asked ends without a slot.
        slots.asking.clear();
        self.waiting.push((since, key.clone()));
    }

    fn retry(&mut self, slots: &mut Slots) {
        let stuck: Vec<(Key, i64)> =
            self.stuck.iter().map(|(key, since)| (key.clone(), *since)).collect();
        for (key, since) in stuck {
            if !self.waiting.iter().any(|(_, waiting)| *waiting == key) {
                self.ask(slots, &key, since);
            }
        }
    }

    /// Takes note of who got a slot.
    fn given(&mut self, given: Vec<Key>) -> Result<(), TestCaseError> {
        for key in given {
            prop_assert!(self.waiting.iter().any(|(_, it)| *it == key), "{key} does not wait");
            let has = self.taken(&key.namespace);
            let hungry = |(_, other): &(i64, Key)| self.taken(&other.namespace) < has;
            prop_assert!(!self.waiting.iter().any(hungry), "{key} has more than one who waits");
            let of_namespace = self.waiting.iter().filter(|(_, it)| it.namespace == key.namespace);
            let first = of_namespace.min().map(|(_, key)| key);
            prop_assert_eq!(first, Some(&key), "the oldest of a namespace is first");
            self.waiting.retain(|(_, waiting)| *waiting != key);
            self.passed.remove(&key.namespace);
            for given in self.passed.values_mut() {
                given.push(Arc::clone(&key.namespace));
            }
            self.granted.push(key);
        }
        Ok(())
    }

    /// Whoever has a slot is worked on.
    fn take(&mut self, slots: &mut Slots, limit: usize, now: i64) -> Result<(), TestCaseError> {
        let given = slots.give(&running(&self.jobs.iter().collect::<Vec<_>>()));
        self.given(given)?;
        while let Some(key) = self.granted.first().cloned() {
            told(slots, &key, 0);
            self.granted.remove(0);
            if let Some(since) = self.stuck.get_mut(&key) {
                *since = now;
            } else {
                slots.job_made(&key);
                self.jobs.push(key.clone());
            }
            let given =
                slots.reconciled(&key, now, &running(&self.jobs.iter().collect::<Vec<_>>()));
            self.given(given)?;
            prop_assert!(self.jobs.len() + self.granted.len() <= limit, "more Jobs than slots");
        }
        self.no_one_is_passed_over(limit)
    }

    fn no_one_is_passed_over(&mut self, limit: usize) -> Result<(), TestCaseError> {
        prop_assert!(self.jobs.len() == limit || self.waiting.is_empty(), "a slot is not used");
        let waiting = &self.waiting;
        let waits = |namespace: &str| waiting.iter().any(|(_, key)| *key.namespace == *namespace);
        self.passed.retain(|namespace, _| waits(namespace));
        for (_, key) in &self.waiting {
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
                    model.ask(&mut slots, &key, now);
                }
                Step::AskInVain(namespace) => {
                    let key = key(&format!("ns-{namespace}"), &format!("{now:03}"));
                    model.stuck.insert(key.clone(), now);
                    model.ask(&mut slots, &key, now);
                }
                Step::Retry => model.retry(&mut slots),
                Step::Withdraw(which) if !model.waiting.is_empty() => {
                    let (_, gone) = model.waiting.remove(usize::from(which) % model.waiting.len());
                    model.stuck.remove(&gone);
                    slots.leave(&gone);
                }
                Step::End(which) if !model.jobs.is_empty() => {
                    let ended = model.jobs.remove(usize::from(which) % model.jobs.len());
                    // Its last reconcile needs no slot.
                    slots.leave(&ended);
                }
                Step::Withdraw(_) | Step::End(_) => {}
            }
            model.take(&mut slots, limit, now)?;
        }
        // With no one new, everyone who can have a Job has its turn, however often the others try.
        for round in 0..model.waiting.len() {
            if let Some(ended) = model.jobs.pop() {
                slots.leave(&ended);
            }
            model.retry(&mut slots);
            model.take(&mut slots, limit, 1_000 + i64::try_from(round).unwrap())?;
        }
        model.waiting.retain(|(_, key)| !model.stuck.contains_key(key));
        prop_assert!(model.waiting.is_empty(), "{:?} wait forever", model.waiting);
    }
}
