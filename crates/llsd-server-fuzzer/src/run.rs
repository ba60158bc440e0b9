//! Many random resources against one release.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::Context;
use llsd_testkit::{Candidate, Release};

use crate::base::Base;
use crate::examine::Examiner;
use crate::finding::{Finding, Kind};
use crate::minimise::minimised;
use crate::mutated_sample::mutated_sample;
use crate::random::Random;
use crate::random_resource;
use crate::trial::Trial;

/// Random parts of distributions that resources are laid over.
const THINNED: usize = 40;
/// Trials that the server is asked about at once.
const BATCH: u64 = 50;
/// A kind of finding that comes up more often is only counted.
const SHOWN: u64 = 1;

/// Which resources are tried.
#[derive(Clone, Copy, Debug)]
pub struct Range {
    /// The seed of the first.
    pub first: u64,
    /// Their number, unless the time is over before.
    pub count: u64,
    pub time: Option<Duration>,
}

/// What was tried and found.
#[derive(Debug, Default)]
pub struct Report {
    pub tried: u64,
    /// Those of them for which a file was generated.
    pub generated: u64,
    /// How often each was found, and its shortest form.
    pub findings: BTreeMap<String, (u64, Finding)>,
}

impl Report {
    /// What is wrong, without what is only doubtful.
    pub fn mistakes(&self) -> impl Iterator<Item = &(u64, Finding)> {
        self.findings.values().filter(|(_, finding)| finding.kind != Kind::Doubtful)
    }

    /// What the operator refuses and a server would have taken.
    pub fn doubtful(&self) -> impl Iterator<Item = &(u64, Finding)> {
        self.findings.values().filter(|(_, finding)| finding.kind == Kind::Doubtful)
    }

    /// What another share of the work has found, too.
    pub fn add(&mut self, other: Self) {
        self.tried += other.tried;
        self.generated += other.generated;
        for (signature, (count, finding)) in other.findings {
            let known = self.findings.entry(signature).or_insert((0, finding));
            known.0 += count;
        }
    }
}

/// Tries random resources against a release. Installs it first where it is missing.
pub fn run(release: Release, range: Range) -> anyhow::Result<Report> {
    let mut examiner = Examiner::new(release.checker()?, release.provider_types()?);
    let bases = bases(release, &mut examiner)?;
    run_trials(range, &mut examiner, |seed, examiner| {
        Some(random_trial(seed, release, &bases, examiner))
    })
}

/// The same with samples that have a mistake, laid over the release's starter.
pub fn run_mutated_samples(release: Release, range: Range) -> anyhow::Result<Report> {
    let mut examiner = Examiner::new(release.checker()?, release.provider_types()?);
    let bases = bases(release, &mut examiner)?;
    let base = bases.first().context("a release has a starter that starts")?;
    run_trials(range, &mut examiner, |seed, _| {
        let spec = mutated_sample(seed).spec()?;
        Some(Trial { release, base: base.clone(), spec, seed })
    })
}

fn run_trials(
    range: Range,
    examiner: &mut Examiner,
    trial: impl Fn(u64, &Examiner) -> Option<Trial>,
) -> anyhow::Result<Report> {
    let begun = Instant::now();
    let is_over = || range.time.is_some_and(|time| begun.elapsed() > time);
    let mut report = Report::default();
    while report.tried < range.count && !is_over() {
        let first = range.first + report.tried;
        let seeds = first..first + BATCH.min(range.count - report.tried);
        report.tried += seeds.end - seeds.start;
        let trials: Vec<Trial> = seeds.filter_map(|seed| trial(seed, examiner)).collect();
        let examined = examiner.examine(&trials)?;
        for finding in &examined.findings {
            note(finding, examiner, &mut report)?;
        }
        report.generated += examined.generated;
    }
    Ok(report)
}

fn note(finding: &Finding, examiner: &mut Examiner, report: &mut Report) -> anyhow::Result<()> {
    let signature = finding.signature();
    if let Some((count, _)) =
        report.findings.get_mut(&signature).filter(|(count, _)| *count >= SHOWN)
    {
        *count += 1;
    } else if examiner.confirms(finding)? {
        let shortest = minimised(finding, examiner)?;
        report.findings.insert(signature, (1, shortest));
    }
    Ok(())
}

/// The distributions of the release, and those parts of them that start.
fn bases(release: Release, examiner: &mut Examiner) -> anyhow::Result<Vec<Base>> {
    let whole = Base::whole(release);
    let mut random = Random::new(1);
    let thinned: Vec<Base> =
        (0..THINNED).filter_map(|_| Some(random.one_of(&whole)?.clone())).collect();
    let thinned: Vec<Base> = thinned.iter().map(|base| base.thinned(&mut random)).collect();
    let all: Vec<Base> = whole.into_iter().chain(thinned).collect();
    let candidates: Vec<Candidate> = all
        .iter()
        .map(|base| {
            let required = base.variables.iter().filter(|(_, variable)| variable.required);
            let empty = Candidate::new("a base", &*base.text);
            required.fold(empty, |all, (name, variable)| all.with_env(name, &variable.fitting))
        })
        .collect();
    let clean = examiner.is_clean(&candidates)?;
    Ok(all.into_iter().zip(clean).filter(|(_, clean)| *clean).map(|(base, _)| base).collect())
}

fn random_trial(seed: u64, release: Release, bases: &[Base], examiner: &Examiner) -> Trial {
    let mut random = Random::of_seed(seed);
    let base = random.one_of(bases).expect("a release has a starter that starts").clone();
    let spec = random_resource::spec(seed, &examiner.types, &base);
    Trial { release, base, spec, seed }
}
