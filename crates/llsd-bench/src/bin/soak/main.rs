//! `make soak`: a fleet that changes at a steady rate for hours, with faults in between. Fails if memory or descriptors
//! grow, or if anything is out of sync at the end.

#![allow(clippy::cast_precision_loss, reason = "figures for people")]

mod fault;
mod fleet;
mod terms;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use clap::Parser;
use llsd_bench::picture;
use llsd_bench::sample::{Sample, slope};
use tokio::time::MissedTickBehavior;

use fault::Fault;
use fleet::Fleet;

/// What a process may still gain in an hour, in megabytes, once its caches are filled: fragments of its heap.
const GAIN: f64 = 2.0;
/// What memory may gain in all, however short the time: in minutes, noise looks like megabytes an hour.
const NOISE: f64 = 1.0;
/// Connections come and go.
const MORE_DESCRIPTORS: usize = 10;
/// The part of a term in which caches fill.
const WARM: f64 = 0.25;
/// The part of the run in which processes are replaced. Who leads then does so for the rest, so that a leak shows.
const REPLACED: f64 = 0.25;
/// How often it is looked which replica leads.
const LOOKS: Duration = Duration::from_secs(5);

/// Changes a fleet for hours, with faults in between
#[derive(Debug, Parser)]
struct Arguments {
    /// How long
    #[arg(long, default_value_t = 2.0)]
    hours: f64,

    /// Number of resources
    #[arg(long, default_value_t = 200)]
    count: usize,

    /// Changes in a second
    #[arg(long, default_value_t = 2.0)]
    rate: f64,

    /// Seconds between faults
    #[arg(long, default_value_t = 120)]
    fault_every: u64,

    /// What the random changes begin with
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// The operator's program [default: the one that was built beside this one]
    #[arg(long, value_name = "FILE")]
    operator: Option<PathBuf>,

    /// Where to draw what the processes took
    #[arg(long, value_name = "FILE")]
    picture: Option<PathBuf>,
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<ExitCode> {
    let arguments = Arguments::parse();
    let program = match &arguments.operator {
        Some(path) => path.clone(),
        None => std::env::current_exe()?.with_file_name("llsd"),
    };
    let mut fleet = Fleet::start(&program, arguments.count).await?;
    let changes = run(&mut fleet, &arguments).await?;
    if let Some(file) = &arguments.picture {
        let Arguments { count, hours, .. } = &arguments;
        let title = format!("{count} resources, {changes} changes, {hours} h");
        // The results of hours are told also without one.
        if let Err(error) = picture::write(file, &title, &fleet.terms().samples()) {
            eprintln!("{error:#}");
        }
    }
    println!("{changes} changes, {}", fleet.faults());
    let results = [is_flat(&fleet.terms().longest()), fleet.is_in_sync().await];
    for failed in results.iter().filter_map(|result| result.as_ref().err()) {
        println!("FAILED: {failed:#}");
    }
    let passed = results.iter().all(Result::is_ok);
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Returns how many changes it made.
async fn run(fleet: &mut Fleet, arguments: &Arguments) -> anyhow::Result<usize> {
    let mut random = fastrand::Rng::with_seed(arguments.seed);
    let time = Duration::from_secs_f64(arguments.hours * 3600.0);
    let fault_every = Duration::from_secs(arguments.fault_every);
    let begun = Instant::now();
    let (mut next_fault, mut next_look, mut changes) = (fault_every, LOOKS, 0);
    let mut ticks = tokio::time::interval(Duration::from_secs_f64(1.0 / arguments.rate));
    // What a fault has delayed is not made up for by a burst.
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while begun.elapsed() < time {
        if begun.elapsed() >= next_fault {
            let fault = Fault::any(&mut random, begun.elapsed() < time.mul_f64(REPLACED));
            eprintln!("{:.0} s, {changes} changes: {fault}", begun.elapsed().as_secs_f64());
            fleet.suffer(fault).await?;
            next_fault += fault_every;
        }
        if begun.elapsed() >= next_look {
            fleet.look().await?;
            next_look = begun.elapsed() + LOOKS;
        }
        ticks.tick().await;
        fleet.change(&mut random).await;
        changes += 1;
    }
    Ok(changes)
}

/// Of the longest time for which one process led.
fn is_flat(term: &[Sample]) -> anyhow::Result<()> {
    let [begin, end] = [term.first(), term.last()].map(|it| it.map_or(0.0, |it| it.at));
    let warm = begin + (end - begin) * WARM;
    let hours = (end - warm) / 3600.0;
    let warm: Vec<&Sample> = term.iter().filter(|it| it.at >= warm).collect();
    let memory: Vec<(f64, f64)> = warm.iter().map(|it| (it.at / 3600.0, it.memory)).collect();
    let gain = slope(&memory).context("no process led for long enough to tell")?;
    let [first, last] = [warm.first(), warm.last()].map(|it| it.map_or(0, |it| it.descriptors));
    println!(
        "the longest term, {:.0} s: memory {:.1} MB at the end, {gain:+.2} MB an hour; {last} descriptors, {} at most",
        end - begin,
        warm.last().map_or(0.0, |it| it.memory),
        warm.iter().map(|it| it.descriptors).max().unwrap_or_default(),
    );
    ensure!(gain <= GAIN || gain * hours <= NOISE, "memory grows by {gain:.2} MB an hour");
    ensure!(last <= first + MORE_DESCRIPTORS, "descriptors grew from {first} to {last}");
    Ok(())
}
