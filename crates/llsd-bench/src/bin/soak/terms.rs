//! What the leaders take of the machine, one after the other. A term is the time for which one process leads.

use std::time::{Duration, Instant};

use llsd_bench::readiness::Counter;
use llsd_bench::sample::{Sample, Sampler};

const SAMPLED_EVERY: Duration = Duration::from_secs(5);

/// All terms so far.
#[derive(Debug)]
pub struct Terms {
    begun: Instant,
    /// Resources that are Ready.
    ready: Counter,
    current: Term,
    past: Vec<Vec<Sample>>,
}

#[derive(Debug)]
struct Term {
    process: u32,
    since: Instant,
    sampler: Sampler,
}

impl Term {
    fn start(process: u32, ready: &Counter) -> Self {
        let sampler = Sampler::start(process, ready.clone(), SAMPLED_EVERY);
        Self { process, since: Instant::now(), sampler }
    }
}

impl Terms {
    pub fn start(process: u32, ready: &Counter) -> Self {
        let current = Term::start(process, ready);
        Self { begun: current.since, ready: ready.clone(), current, past: Vec::new() }
    }

    /// From here on the samples are of this process; its term goes on if it is the one that led before.
    pub fn pass_to(&mut self, process: u32) {
        if process != self.current.process {
            let ended = self.of_current();
            self.past.push(ended);
            self.current = Term::start(process, &self.ready);
        }
    }

    /// Of all terms.
    pub fn samples(&self) -> Vec<Sample> {
        self.past.iter().flatten().copied().chain(self.of_current()).collect()
    }

    /// Of the longest term.
    pub fn longest(&self) -> Vec<Sample> {
        let terms = self.past.iter().cloned().chain([self.of_current()]);
        terms.max_by(|one, other| length(one).total_cmp(&length(other))).unwrap_or_default()
    }

    fn of_current(&self) -> Vec<Sample> {
        let offset = self.current.since.duration_since(self.begun).as_secs_f64();
        let samples = self.current.sampler.samples().into_iter();
        samples.map(|sample| Sample { at: sample.at + offset, ..sample }).collect()
    }
}

/// In seconds.
fn length(samples: &[Sample]) -> f64 {
    match samples {
        [first, .., last] => last.at - first.at,
        _ => 0.0,
    }
}
