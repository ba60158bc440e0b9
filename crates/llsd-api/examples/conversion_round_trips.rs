//! Converts generated objects there and back and reports what was lost: nothing, one hopes.
//!
//! ```text
//! cargo run --profile bench-conversion -p llsd-api --example conversion_round_trips -- 10000000
//! ```

#[path = "../tests/conversion/support/mod.rs"]
mod support;

use std::panic::catch_unwind;
use std::thread::{available_parallelism, scope};
use std::time::Instant;

use support::laws::check;

#[derive(Default)]
struct Tally {
    errors: u64,
    losses: u64,
}

fn main() {
    let mut arguments = std::env::args().skip(1).map(|text| {
        text.replace('_', "")
            .parse()
            .expect("arguments are numbers: how many objects, and the first seed")
    });
    let objects: u64 = arguments.next().unwrap_or(1_000_000);
    let first: u64 = arguments.next().unwrap_or(0);
    let threads = available_parallelism().map_or(1, usize::from);

    let start = Instant::now();
    let tallies: Vec<Tally> = scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let seeds = (first..first + objects).skip(thread).step_by(threads);
                scope.spawn(move || run(seeds))
            })
            .collect();
        let join = |worker: std::thread::ScopedJoinHandle<'_, Tally>| worker.join().unwrap();
        workers.into_iter().map(join).collect()
    });
    let seconds = start.elapsed().as_secs_f64();

    let errors: u64 = tallies.iter().map(|tally| tally.errors).sum();
    let losses: u64 = tallies.iter().map(|tally| tally.losses).sum();
    #[allow(clippy::cast_precision_loss, reason = "a rate for people to read")]
    let rate = objects as f64 / seconds;
    println!("objects {objects}  errors {errors}  losses {losses}");
    println!("{seconds:.1} s on {threads} threads, {rate:.0} objects per second");
    if errors + losses > 0 {
        std::process::exit(1);
    }
}

fn run(seeds: impl Iterator<Item = u64>) -> Tally {
    let mut tally = Tally::default();
    for seed in seeds {
        match catch_unwind(|| check(seed)) {
            Ok(Ok(())) => {}
            Ok(Err(loss)) => {
                tally.losses += 1;
                eprintln!("seed {seed}: {loss}");
            }
            Err(_) => {
                tally.errors += 1;
                eprintln!("seed {seed}: panicked");
            }
        }
    }
    tally
}
