//! What must hold in every order of events: as many change as may and no more, what is stopped is told, and nothing
//! hangs.

use proptest::prelude::*;

use super::*;

const SERVERS: usize = 12;
const NAMESPACES: usize = 4;

/// What happens in a simulated cluster.
#[derive(Clone, Copy, Debug)]
enum Step {
    /// Some resource is reconciled, for whatever reason.
    Reconcile(usize),
    /// The same, while its change is being checked.
    Preflight(usize),
    /// The reconcile could not write what it was allowed to.
    Unwritten(usize),
    Completes(usize),
    Fails(usize),
    /// One that failed serves as before.
    Returns(usize),
    /// The user tries a server that failed again.
    Retries(usize),
    /// The user changes a server that failed.
    Edits(usize),
    /// Another operator leads.
    Leader,
}

fn step() -> impl Strategy<Value = Step> {
    let any = 0..SERVERS;
    prop_oneof![
        8 => any.clone().prop_map(Step::Reconcile),
        1 => any.clone().prop_map(Step::Preflight),
        1 => any.clone().prop_map(Step::Unwritten),
        4 => any.clone().prop_map(Step::Completes),
        2 => any.clone().prop_map(Step::Fails),
        1 => any.clone().prop_map(Step::Returns),
        1 => any.clone().prop_map(Step::Retries),
        1 => any.prop_map(Step::Edits),
        1 => Just(Step::Leader),
    ]
}

/// Servers, each of which one of several changes is to reach, and how far each is.
struct Simulation {
    waves: Waves,
    keys: Vec<Key>,
    /// `None` before the change reached it, and after.
    state: Vec<Option<Member>>,
    done: Vec<bool>,
    /// What each was told when it asked last.
    told: Vec<Option<Box<Waiting>>>,
}

impl Simulation {
    fn new(fleet: Fleet) -> Self {
        let key = |n: usize| Key::new(&format!("ns{}", n % NAMESPACES), &format!("llama{n}"));
        Self {
            waves: waves(fleet),
            keys: (0..SERVERS).map(key).collect(),
            state: vec![None; SERVERS],
            done: vec![false; SERVERS],
            told: vec![None; SERVERS],
        }
    }

    /// One in three changes with a Secret of its namespace.
    fn input(&self, at: usize) -> String {
        let namespace = &self.keys[at].namespace;
        if at.is_multiple_of(3) { format!("{namespace}/secret=1") } else { "image=1".to_owned() }
    }

    /// Every fifth, so that there are some of both inputs.
    fn is_canary(at: usize) -> bool {
        at % 5 == 1
    }

    fn member(&self, at: usize, stage: MemberStage) -> Member {
        let member = member(&self.input(at), stage);
        Member { wave: Wave { canary: Self::is_canary(at), ..member.wave }, ..member }
    }

    fn waits(&self, at: usize) -> bool {
        !self.done[at] && self.state[at].is_none()
    }

    fn stage(&self, at: usize) -> Option<MemberStage> {
        self.state[at].as_ref().map(|member| member.stage)
    }

    fn is_changing(&self, at: usize) -> bool {
        self.stage(at) == Some(CHANGING) || self.waves.granted.contains_key(&self.keys[at])
    }

    fn reconcile(&mut self, at: usize, is_ready: bool, is_written: bool) {
        let key = self.keys[at].clone();
        if self.waits(at) {
            let input = self.input(at);
            let mut candidate = Candidate { is_ready, ..candidate(&key, &input, at % 3) };
            candidate.wave.canary = Self::is_canary(at);
            let answer = self.waves.ask(&candidate);
            if answer.is_ok() && is_written {
                self.state[at] = Some(self.member(at, CHANGING));
            }
            self.told[at] = answer.err();
        }
        self.waves.ended(&key, self.state[at].clone());
    }

    fn becomes(&mut self, at: usize, stage: Option<MemberStage>) {
        self.done[at] = stage.is_none();
        self.state[at] = stage.map(|stage| self.member(at, stage));
        self.reconcile(at, true, true);
    }

    fn run(&mut self, step: Step) {
        match step {
            Step::Reconcile(at) => self.reconcile(at, true, true),
            Step::Preflight(at) => self.reconcile(at, false, true),
            Step::Unwritten(at) => self.reconcile(at, true, false),
            Step::Leader => {
                let members = self.keys.iter().cloned().zip(self.state.iter().cloned());
                let members = members.filter_map(|(key, member)| Some((key, member?)));
                self.waves = Waves::of_members(members, self.waves.fleet, 0);
            }
            Step::Completes(at) if self.stage(at) == Some(CHANGING) => self.becomes(at, None),
            Step::Fails(at) if self.stage(at) == Some(CHANGING) => self.becomes(at, Some(DOWN)),
            Step::Returns(at) if self.stage(at) == Some(DOWN) => self.becomes(at, Some(SERVES)),
            Step::Retries(at) if self.stage(at).is_some_and(|it| it != CHANGING) => {
                self.becomes(at, Some(CHANGING));
            }
            Step::Edits(at) if self.stage(at).is_some_and(|it| it != CHANGING) => {
                self.becomes(at, None);
            }
            _ => {}
        }
    }

    /// Counted one by one: those that are changing or may, and those that failed with an input and do not serve.
    fn load(&self, input: &str, is_counted: impl Fn(&Key) -> bool) -> (usize, usize) {
        let counted = || (0..SERVERS).filter(|at| is_counted(&self.keys[*at]));
        let changing = counted().filter(|at| self.is_changing(*at));
        let down = |at: usize| self.stage(at) == Some(DOWN) && self.input(at) == input;
        (changing.count(), counted().filter(|at| down(*at)).count())
    }

    fn load_beside(&self, at: usize) -> (usize, usize) {
        self.load(&self.input(at), |key| key.namespace == self.keys[at].namespace)
    }

    fn is_stopped(&self, at: usize) -> bool {
        let (input, budget) = (self.input(at), self.waves.fleet.budget);
        let has_failed = |at: usize| self.stage(at).is_some_and(|stage| stage != CHANGING);
        let failed = || (0..SERVERS).filter(|at| has_failed(*at) && self.input(*at) == input);
        let ((_, down), (_, down_beside)) = (self.load(&input, |_| true), self.load_beside(at));
        failed().count() >= budget.stop_after_failures
            || failed().any(Self::is_canary)
            || down >= self.waves.fleet.allowed()
            || down_beside >= budget.per_namespace
            || (0..SERVERS).any(|other| {
                let (_, down) =
                    self.load(&input, |key| key.namespace == self.keys[other].namespace);
                self.is_awaited(other, &input) && down >= budget.per_namespace
            })
    }

    /// Whether it is a canary that changes because of this input, or waits for it.
    fn is_awaited(&self, at: usize, input: &str) -> bool {
        let waits = self.waves.waiters.contains_key(&self.keys[at]);
        Self::is_canary(at) && self.input(at) == input && (waits || self.is_changing(at))
    }

    /// Whether a canary comes first.
    fn awaits_canary(&self, at: usize) -> bool {
        let input = self.input(at);
        !Self::is_canary(at) && (0..SERVERS).any(|other| self.is_awaited(other, &input))
    }

    /// Whether nothing is in the way of one that waits.
    fn could_go(&self, at: usize) -> bool {
        let (changing, down) = self.load(&self.input(at), |_| true);
        let (beside, down_beside) = self.load_beside(at);
        !self.is_stopped(at)
            && !self.awaits_canary(at)
            && changing + down < self.waves.fleet.allowed()
            && beside + down_beside < self.waves.fleet.budget.per_namespace
    }

    /// Reconciles who is woken, until nobody is.
    fn settle(&mut self) {
        loop {
            let woken = self.waves.take_woken();
            if woken.is_empty() {
                return;
            }
            for key in woken {
                let at = self.keys.iter().position(|it| *it == key).unwrap();
                self.reconcile(at, true, true);
            }
        }
    }
}

fn budgets() -> impl Strategy<Value = Fleet> {
    (1usize..4, 1usize..3).prop_map(|(at_a_time, each)| fleet(SERVERS, at_a_time, each))
}

proptest! {
    #[test]
    fn never_more_than_the_budget_change_and_none_begins_after_the_stop(
        fleet in budgets(),
        steps in proptest::collection::vec(step(), 1..120),
    ) {
        let mut simulation = Simulation::new(fleet);
        for step in steps {
            let all = || 0..SERVERS;
            let stopped: Vec<bool> = all().map(|at| simulation.is_stopped(at)).collect();
            let waited: Vec<bool> = all().map(|at| simulation.waits(at)).collect();
            let before: Vec<bool> = all().map(|at| simulation.is_changing(at)).collect();
            simulation.run(step);
            // A server that is tried again by its user waits for no other.
            if matches!(step, Step::Retries(_)) {
                continue;
            }
            let new: Vec<usize> = all().filter(|at| simulation.is_changing(*at) && !before[*at]).collect();
            for at in &new {
                let has_begun = waited[*at] && simulation.stage(*at).is_some();
                prop_assert!(!(has_begun && stopped[*at]), "{at} began");
            }
            let is_early = |at: &&usize| waited[**at] && simulation.awaits_canary(**at);
            prop_assert_eq!(new.iter().find(is_early), None, "a canary comes first");
            // For others one that failed is down for reasons that are none of theirs.
            if let [at] = new[..] {
                let (changing, down) = simulation.load(&simulation.input(at), |_| true);
                prop_assert!(changing + down <= fleet.allowed(), "{changing} and {down}");
                let (changing, down) = simulation.load_beside(at);
                prop_assert!(changing + down <= fleet.budget.per_namespace, "{changing} and {down}");
            }
        }
    }

    #[test]
    fn at_any_time_who_waits_has_a_reason_and_knows_whether_it_is_stopped(
        fleet in budgets(),
        steps in proptest::collection::vec(step(), 1..120),
    ) {
        let mut simulation = Simulation::new(fleet);
        for step in steps {
            simulation.run(step);
            let waiters = simulation.waves.waiters.clone();
            for at in 0..SERVERS {
                let Some(waiter) = waiters.get(&simulation.keys[at]) else { continue };
                prop_assert!(!waiter.is_ready || !simulation.could_go(at), "{at} may go");
                let line = &simulation.waves.lines[&waiter.inputs];
                let is_stopped = !line.stopped_by(&simulation.keys[at].namespace).is_empty();
                prop_assert_eq!(is_stopped, simulation.is_stopped(at), "{}", at);
            }
            let mut lines = simulation.waves.lines.values();
            let is_any = lines.any(WaveLine::is_stopped_somewhere);
            prop_assert_eq!(simulation.waves.course().1 == Course::Stopped, is_any);
        }
    }

    #[test]
    fn every_change_ends_or_is_stopped_and_no_other_hangs_for_it(
        fleet in budgets(),
        steps in proptest::collection::vec(step(), 0..60),
        fails in proptest::collection::vec(any::<bool>(), SERVERS),
        does_image_fail: bool,
    ) {
        let mut simulation = Simulation::new(fleet);
        for step in steps {
            simulation.run(step);
        }
        for at in 0..SERVERS {
            simulation.reconcile(at, true, true);
        }
        simulation.settle();
        // Each that is changing comes to an end, and whoever is woken is reconciled.
        for _ in 0..SERVERS {
            for (at, fails) in fails.iter().enumerate() {
                if simulation.stage(at) == Some(CHANGING) {
                    let may_fail = does_image_fail || !simulation.input(at).starts_with("image");
                    simulation.becomes(at, (*fails && may_fail).then_some(DOWN));
                    simulation.settle();
                }
            }
        }
        for at in 0..SERVERS {
            let is_told = simulation.told[at].as_ref().is_some_and(|told| told.is_stopped());
            let is_stopped = is_told && simulation.is_stopped(at);
            prop_assert!(!simulation.waits(at) || is_stopped, "{at} hangs");
        }
    }
}
