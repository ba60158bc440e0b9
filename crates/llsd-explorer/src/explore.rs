//! Runs sequences, finds those that fail, and makes them short.

use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hash, Hasher};

use crate::ending::Ending;
use crate::invariants::{self, Watcher};
use crate::operator;
use crate::say::say;
use crate::step::Step;
use crate::world::{ReplicaSet, World};

/// So many ticks everything may take to come to rest.
const SETTLES_WITHIN: u32 = 60;

/// So many ticks in a row nothing is written where everything is at rest.
const QUIET: u32 = 3;

/// Longer than the deadline of a rollout or a preflight, in seconds.
const LONG: i64 = 3600;

/// A sequence that does not hold, and what is wrong.
#[derive(Clone, Debug)]
pub struct Finding {
    pub steps: Vec<Step>,
    pub what: String,
}

/// Runs a sequence on a server that runs well, and lets everything come to rest at its end. What begins as
/// another sequence did goes on from there, and what is known to end well is not tried again.
pub fn run(steps: &[Step]) -> Result<(), String> {
    go_on(&mut Vec::new(), steps)
}

/// So many states are kept at a time, and so many ends.
const KEPT_STATES: usize = 1000;
const KEPT_ENDS: usize = 8_000_000;

thread_local! {
    /// A server that runs well, which every sequence begins with.
    static STARTED: Run = {
        let mut run = Run::default();
        run.settle().expect("a server that starts holds all invariants");
        run
    };
    /// What sequences came to, by their history.
    static STATES: RefCell<HashMap<u64, Run>> = RefCell::default();
    /// Histories that end well.
    static ENDS: RefCell<HashSet<u64>> = RefCell::default();
}

#[derive(Clone, Default)]
struct Run {
    world: World,
    watcher: Watcher,
    /// Stands for all that has happened in the cluster: with what is given, it is the same for the same world.
    history: u64,
    /// A line for each change of the Deployment, if a trace was requested.
    trace: Option<Vec<String>>,
}

impl Run {
    fn step(&mut self, step: Step) -> Result<(), String> {
        if step.is_only_said() {
            say(&mut self.world.given, step);
            return Ok(());
        }
        let key = self.key(Some(step));
        let known = STATES.with_borrow(|states| states.get(&key).cloned());
        if let Some(known) = known.filter(|_| self.trace.is_none()) {
            *self = known;
            return Ok(());
        }
        self.act(step)?;
        self.history = key;
        if matches!(step, Step::Tick | Step::Settle | Step::LoseKey) {
            STATES.with_borrow_mut(|states| {
                if states.len() >= KEPT_STATES {
                    states.clear();
                }
                states.insert(key, self.clone());
            });
        }
        Ok(())
    }

    /// Stands for the world as it is, and for a step that changes it.
    fn key(&self, step: Option<Step>) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.history, step).hash(&mut hasher);
        match step {
            // The first thing that happens is that the operator looks.
            None | Some(Step::Tick | Step::Settle) => self.world.given.seen().hash(&mut hasher),
            _ => self.world.given.hash(&mut hasher),
        }
        hasher.finish()
    }

    /// Lets everything come to rest at the end of a sequence.
    fn end(&mut self) -> Result<(), String> {
        let key = self.key(None);
        if ENDS.with_borrow(|ends| ends.contains(&key)) {
            return Ok(());
        }
        self.settle()?;
        ENDS.with_borrow_mut(|ends| {
            if ends.len() >= KEPT_ENDS {
                ends.clear();
            }
            ends.insert(key)
        });
        Ok(())
    }

    fn act(&mut self, step: Step) -> Result<(), String> {
        let world = &mut self.world;
        match step {
            Step::Autoscale(number) => {
                world.autoscale(number.into());
                world.observe();
            }
            Step::LoseLabel => world.lose_label(),
            Step::RollBack => world.ask_back(),
            Step::StallLeader => operator::stall(world),
            Step::WakeStalled => {
                if let Some(given) = operator::wake(world) {
                    self.watcher.note(world, &given);
                }
            }
            Step::LoseKey => self.lose_key()?,
            Step::Tick => self.tick()?,
            Step::Settle => self.settle()?,
            _ => unreachable!("{step:?} is only said"),
        }
        Ok(())
    }

    fn note(&mut self, line: String) {
        if let Some(trace) = &mut self.trace
            && trace.last() != Some(&line)
        {
            trace.push(line);
        }
    }

    fn tick(&mut self) -> Result<(), String> {
        operator::reconcile(&mut self.world);
        self.world.tick();
        if self.trace.is_some() {
            self.note(self.world.described());
        }
        invariants::after_tick(&mut self.watcher, &self.world)
    }

    /// Until nothing is written any more, and then it is looked at.
    fn settle(&mut self) -> Result<(), String> {
        let (mut quiet, mut waited) = (0, false);
        for _ in 0..SETTLES_WITHIN {
            let before = self.world.writes;
            self.tick()?;
            quiet = if self.world.writes == before { quiet + 1 } else { 0 };
            if quiet == QUIET && waited {
                return invariants::at_rest(&self.world);
            }
            if quiet == QUIET {
                // What has not become available by now misses its deadline.
                self.world.now += LONG;
                (quiet, waited) = (0, true);
            }
            waited &= self.world.writes == before;
        }
        Err("it does not come to rest: something is written again and again".to_owned())
    }

    /// The operator's key is another one from now on, which must not replace the pods of a server that ever ran. The
    /// operator cannot detect a rotation that happens before it reconciles with the new key, so a resource that is paused
    /// or cannot be planned is left out.
    fn lose_key(&mut self) -> Result<(), String> {
        if self.world.given.paused {
            return Ok(());
        }
        self.settle()?;
        if self.world.is_unplanned {
            return Ok(());
        }
        let has_run = self.world.replica_sets.iter().any(|set| set.has_served);
        let is_kept = |set: &&ReplicaSet| set.has_served || (has_run && !set.pods.is_empty());
        let kept = self.world.current_set().filter(is_kept).map(|set| set.template.hash.clone());
        self.world.given.key += 1;
        self.settle()?;
        let runs = self.world.current_set().map(|set| &set.template.hash);
        if kept.is_none() || kept.as_ref() == runs {
            return Ok(());
        }
        Err("another key of the operator restarts the server, although no value changed".to_owned())
    }
}

/// What happens in a sequence, tick by tick, for a person who wants to know why it fails.
pub fn trace(steps: &[Step]) -> String {
    let mut run = Run { trace: Some(Vec::new()), ..Run::default() };
    let mut ended = run.settle();
    for step in steps {
        if ended.is_err() {
            break;
        }
        run.note(format!("{step:?}"));
        ended = run.step(*step);
    }
    let ended = ended.and_then(|()| run.settle());
    run.note(format!("{ended:?}"));
    run.trace.unwrap_or_default().join("\n")
}

/// What there is at rest: at the beginning, after each [`Step::Settle`], and at the end.
pub fn endings(steps: &[Step]) -> Result<Vec<Ending>, String> {
    let mut run = STARTED.with(Clone::clone);
    let mut endings = vec![Ending::of_world(&run.world)];
    for step in steps.iter().chain([&Step::Settle]) {
        run.step(*step)?;
        if *step == Step::Settle {
            endings.push(Ending::of_world(&run.world));
        }
    }
    Ok(endings)
}

/// One of several threads that share the work.
#[derive(Clone, Copy, Debug)]
pub struct Share {
    pub number: usize,
    pub of: usize,
}

impl Share {
    /// All of it.
    pub const WHOLE: Self = Self { number: 0, of: 1 };
}

/// Tries all sequences of this length, or those of a share, and calls back with those that fail. Says how many
/// it tried.
pub fn exhaustive(length: usize, share: Share, mut found: impl FnMut(Finding)) -> u64 {
    let started = STARTED.with(Clone::clone);
    let first = Step::ALL.iter().skip(share.number).step_by(share.of);
    let mut steps = Vec::new();
    let below = first.map(|step| branch(&started, *step, &mut steps, length - 1, &mut found));
    below.sum()
}

/// Tries all sequences that begin with `steps` and then this one, and have so many more.
fn branch(
    run: &Run,
    step: Step,
    steps: &mut Vec<Step>,
    more: usize,
    found: &mut impl FnMut(Finding),
) -> u64 {
    let mut run = run.clone();
    steps.push(step);
    let tried = match run.step(step) {
        Ok(()) if more > 0 => {
            Step::ALL.iter().map(|step| branch(&run, *step, steps, more - 1, found)).sum()
        }
        // A sequence that fails on its way was found when it was shorter.
        Err(_) if more > 0 => 0,
        stepped => {
            if let Err(what) = stepped.and_then(|()| run.end()) {
                found(Finding { steps: steps.clone(), what: format!("at the end: {what}") });
            }
            1
        }
    };
    steps.pop();
    tried
}

/// So many random sequences are sorted at a time: the more, the longer the beginnings that they share.
const SORTED: u64 = 500_000;

/// Tries random sequences, and calls back with those that fail. They are sorted, so that each goes on from where it
/// differs from the one before.
pub fn random(number: u64, seed: u64, mut found: impl FnMut(Finding)) {
    let mut dice = fastrand::Rng::with_seed(seed);
    let mut left = number;
    while left > 0 {
        let mut sequences: Vec<Vec<u8>> =
            (0..left.min(SORTED)).map(|_| rolled(&mut dice)).collect();
        sequences.sort_unstable();
        left -= sequences.len() as u64;
        let mut path = Vec::new();
        let mut before: &[u8] = &[];
        for sequence in &sequences {
            let shared =
                before.iter().zip(sequence).take_while(|(one, other)| one == other).count();
            path.truncate(shared);
            let steps: Vec<Step> =
                sequence.iter().map(|step| Step::ALL[usize::from(*step)]).collect();
            if let Err(what) = go_on(&mut path, &steps) {
                found(Finding { steps, what });
            }
            before = sequence;
        }
    }
}

/// Up to ten steps, as their places in [`Step::ALL`].
fn rolled(dice: &mut fastrand::Rng) -> Vec<u8> {
    let length = dice.usize(2..=10);
    let steps = u8::try_from(Step::ALL.len()).unwrap_or(u8::MAX);
    (0..length).map(|_| dice.u8(..steps)).collect()
}

/// Runs a sequence whose first steps were run already: `path` has the state after each of them.
fn go_on(path: &mut Vec<Run>, steps: &[Step]) -> Result<(), String> {
    let last = |path: &[Run]| path.last().cloned().unwrap_or_else(|| STARTED.with(Clone::clone));
    while let Some(step) = steps.get(path.len()) {
        let (mut run, number) = (last(path), path.len() + 1);
        run.step(*step).map_err(|what| format!("after step {number} ({step:?}): {what}"))?;
        path.push(run);
    }
    last(path).end().map_err(|what| format!("at the end: {what}"))
}

/// The same failure with as few steps as possible.
pub fn minimised(finding: Finding) -> Finding {
    let mut best = finding;
    let mut place = 0;
    while place < best.steps.len() {
        let mut shorter = best.steps.clone();
        shorter.remove(place);
        match run(&shorter) {
            Err(what) => best = Finding { steps: shorter, what },
            Ok(()) => place += 1,
        }
    }
    best
}

/// A finding as a test.
pub fn as_test(finding: &Finding) -> String {
    let steps: Vec<String> = finding.steps.iter().map(|step| format!("Step::{step:?}")).collect();
    let steps = steps.join(", ").replace("Edit(", "Edit(Mood::");
    let steps = steps.replace("EditVolume(", "EditVolume(Volume::");
    format!("// {}\nassert_eq!(run(&[{steps}]), Ok(()));", finding.what)
}
