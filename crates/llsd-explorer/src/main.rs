//! `make explore`: every sequence up to a depth, then random ones; prints each way to fail once, as a test.

use std::collections::BTreeMap;
use std::num::NonZero;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use clap::Parser;
use llsd_explorer::explore::{self, Finding, Share, exhaustive};

/// Most of the time goes into copies of JSON, in many small pieces.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Random sequences are run in rounds of so many, with a line after each: sorted within a round,
/// most begin as the one before, which saves time, and their findings are printed at its end.
const ROUND: u64 = 100_000;

/// Tries sequences of what people and clusters do
#[derive(Debug, Parser)]
struct Arguments {
    /// All sequences up to this length
    #[arg(long, default_value_t = 3)]
    depth: usize,

    /// So many random sequences of up to ten steps
    #[arg(long, default_value_t = 10_000)]
    random: u64,

    /// What the random sequences begin with
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Tell what happens in each sequence that fails, tick by tick
    #[arg(long)]
    trace: bool,
}

fn main() -> ExitCode {
    let Arguments { depth, random, seed, trace } = Arguments::parse();
    let mut kinds: BTreeMap<String, (u64, Finding)> = BTreeMap::new();
    let mut found = |finding: Finding| {
        let kind = finding.what.split(": ").nth(1).unwrap_or(&finding.what);
        let kind: String = kind.chars().filter(|letter| !letter.is_ascii_digit()).collect();
        let known = kinds.entry(kind).or_insert_with(|| {
            println!("{}: {:?}", finding.what, finding.steps);
            (0, finding.clone())
        });
        known.0 += 1;
        if finding.steps.len() < known.1.steps.len() {
            known.1 = finding;
        }
    };
    let begun = Instant::now();
    for length in 1..=depth {
        let tried = shared(&mut found, move |share, found| exhaustive(length, share, found));
        println!("{tried} sequences of {length}, after {:.1?}", begun.elapsed());
    }
    let begun = Instant::now();
    let mut tried = 0;
    for round in 0..random.div_ceil(ROUND) {
        let wanted = ROUND.min(random - round * ROUND);
        tried += shared(&mut found, move |Share { number, of }, found| {
            let (number, of) = (number as u64, of as u64);
            let count = wanted / of + u64::from(number < wanted % of);
            explore::random(count, (seed + round) * of + number, found);
            count
        });
        let rate = u128::from(tried) * 1000 / begun.elapsed().as_millis().max(1);
        println!("{tried} random sequences, {rate} a second");
    }
    let holds = kinds.is_empty();
    for (count, finding) in kinds.into_values() {
        let shortest = explore::minimised(finding);
        println!("\n// {count} times\n{}", explore::as_test(&shortest));
        if trace {
            println!("{}", explore::trace(&shortest.steps));
        }
    }
    if holds { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Has every core do its share, and says how much was done.
fn shared(
    found: &mut impl FnMut(Finding),
    work: impl Fn(Share, &mut dyn FnMut(Finding)) -> u64 + Send + Copy + 'static,
) -> u64 {
    let of = std::thread::available_parallelism().map_or(1, NonZero::get);
    let start = |number| {
        thread::spawn(move || {
            let mut failed = Vec::new();
            let done = work(Share { number, of }, &mut |finding| failed.push(finding));
            (done, failed)
        })
    };
    let shares: Vec<_> = (0..of).map(start).collect();
    let mut all = 0;
    for share in shares {
        let (done, failed) = share.join().expect("no sequence panics");
        all += done;
        failed.into_iter().for_each(&mut *found);
    }
    all
}
