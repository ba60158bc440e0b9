//! `make explore`: every sequence up to a depth, then random ones; prints each way to fail once, as a test.

use std::collections::BTreeMap;
use std::process::ExitCode;

use clap::Parser;
use llsd_explorer::explore::{self, Finding};
use llsd_explorer::step::Step;

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
        let known = kinds.entry(kind).or_insert_with(|| (0, finding.clone()));
        known.0 += 1;
        if finding.steps.len() < known.1.steps.len() {
            known.1 = finding;
        }
    };
    for length in 1..=depth {
        let tried = explore::exhaustive(length, Step::ALL, &mut found);
        println!("{tried} sequences of {length}");
    }
    let threads = std::thread::available_parallelism().map_or(1, |number| number.get() as u64);
    let shares = (0..threads).map(|thread| {
        std::thread::spawn(move || {
            let mut failed = Vec::new();
            explore::random(random / threads, seed * threads + thread, |it| failed.push(it));
            failed
        })
    });
    for share in shares.collect::<Vec<_>>() {
        share.join().expect("no sequence panics").into_iter().for_each(&mut found);
    }
    println!("{random} random sequences");
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
