//! Runs sequences, finds those that fail, and makes them short.

use llsd_plan::objects::{ObjectKind, labels};

use crate::invariants::{self, Watcher};
use crate::operator;
use crate::step::Step;
use crate::world::World;

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

/// Runs a sequence on a server that runs well, and lets everything come to rest at its end.
pub fn run(steps: &[Step]) -> Result<(), String> {
    let mut run = STARTED.with(Clone::clone);
    for (number, step) in steps.iter().enumerate() {
        run.step(*step).map_err(|what| format!("after step {} ({step:?}): {what}", number + 1))?;
    }
    run.settle().map_err(|what| format!("at the end: {what}"))
}

thread_local! {
    /// A server that runs well, which every sequence begins with.
    static STARTED: Run = {
        let mut run = Run::default();
        run.settle().expect("a server that starts holds all invariants");
        run
    };
}

#[derive(Clone, Default)]
struct Run {
    world: World,
    watcher: Watcher,
    asked: u32,
    edition: u8,
    /// A line for each change of the Deployment, if a trace was requested.
    trace: Option<Vec<String>>,
}

impl Run {
    fn step(&mut self, step: Step) -> Result<(), String> {
        let world = &mut self.world;
        match step {
            Step::Edit(mood) => {
                self.edition += 1;
                let edition = self.edition;
                world.edit(|wish| (wish.mood, wish.edition) = (mood, edition));
            }
            Step::EditPort => world.edit(|wish| wish.other_port = !wish.other_port),
            Step::EditHost => world.edit(|wish| wish.other_host = !wish.other_host),
            Step::Scale(number) => world.edit(|wish| wish.replicas = number),
            Step::EditSecrets => world.edit(|wish| wish.second_secret = !wish.second_secret),
            Step::Rotate(which) => world.secrets[usize::from(which)] += 1,
            Step::LoseLabel => lose_label(world),
            Step::Pause => {
                drop(world.annotations.insert("llamastack.io/paused", "true".to_owned()));
            }
            Step::Resume => drop(world.annotations.remove("llamastack.io/paused")),
            Step::Retry => self.ask("llamastack.io/retry"),
            Step::Refresh => self.ask("llamastack.io/refresh"),
            Step::MoveTag => world.digest += 1,
            Step::StallLeader => operator::stall(world),
            Step::WakeStalled => operator::wake(world),
            Step::LoseKey => self.lose_key()?,
            Step::Tick => self.tick()?,
            Step::Settle => self.settle()?,
        }
        Ok(())
    }

    fn ask(&mut self, annotation: &'static str) {
        self.asked += 1;
        self.world.annotations.insert(annotation, self.asked.to_string());
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

    /// The operator's key is another one from now on, which must restart nothing. The operator
    /// cannot detect a rotation that happens before it reconciles with the new key, so a paused resource is
    /// left out.
    fn lose_key(&mut self) -> Result<(), String> {
        if self.world.annotations.contains_key("llamastack.io/paused") {
            return Ok(());
        }
        let restarts = |world: &World| world.current_set().map(|set| set.hash.clone());
        self.settle()?;
        let before = restarts(&self.world);
        self.world.key += 1;
        self.settle()?;
        if restarts(&self.world) == before {
            return Ok(());
        }
        Err("another key of the operator restarts the server, although no value changed".to_owned())
    }
}

fn lose_label(world: &mut World) {
    let Some(mut deployment) = world.deployment().cloned() else { return };
    deployment["metadata"]["labels"][labels::MANAGED_BY] = "somebody".into();
    let fields =
        &mut deployment["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"]["f:labels"];
    fields.as_object_mut().map(|fields| fields.shift_remove(&format!("f:{}", labels::MANAGED_BY)));
    world.put(ObjectKind::Deployment, deployment);
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

/// Tries all sequences of this length, and calls back with those that fail.
pub fn exhaustive(length: usize, steps: &[Step], mut found: impl FnMut(Finding)) -> u64 {
    let mut tried = 0;
    let mut places = vec![0; length];
    loop {
        let sequence: Vec<Step> = places.iter().map(|place| steps[*place]).collect();
        tried += 1;
        if let Err(what) = run(&sequence) {
            found(Finding { steps: sequence, what });
        }
        let Some(next) = places.iter().rposition(|place| place + 1 < steps.len()) else {
            return tried;
        };
        places[next] += 1;
        places[next + 1..].fill(0);
    }
}

/// Tries random sequences, and calls back with those that fail.
pub fn random(number: u64, seed: u64, mut found: impl FnMut(Finding)) {
    let mut dice = fastrand::Rng::with_seed(seed);
    for _ in 0..number {
        let length = dice.usize(2..=10);
        let steps: Vec<Step> =
            (0..length).map(|_| Step::ALL[dice.usize(..Step::ALL.len())]).collect();
        if let Err(what) = run(&steps) {
            found(Finding { steps, what });
        }
    }
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
    format!("// {}\nassert_eq!(run(&[{steps}]), Ok(()));", finding.what)
}
