//! What holds of every object, on generated ones of both versions. `make round-trips` takes more of them.

use std::panic::catch_unwind;
use std::thread::{available_parallelism, scope};
use std::time::Instant;

use crate::support::laws::check;

const OBJECTS: u64 = 100_000;

fn objects() -> u64 {
    let more = std::env::var("LLSD_TEST_CONVERSIONS").ok();
    more.map_or(OBJECTS, |number| number.parse().expect("LLSD_TEST_CONVERSIONS is a number"))
}

/// What is lost on the way there and back, or how the conversion ended.
fn loss(seed: u64) -> Option<String> {
    match catch_unwind(|| check(seed)) {
        Ok(Ok(())) => None,
        Ok(Err(loss)) => Some(format!("seed {seed}: {loss}")),
        Err(_) => Some(format!("seed {seed}: panicked")),
    }
}

#[test]
fn nothing_is_lost_and_every_change_wins() {
    let (objects, threads) = (objects(), available_parallelism().map_or(1, usize::from));
    let begun = Instant::now();
    let losses: Vec<String> = scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|thread| {
                let seeds = (0..objects).skip(thread).step_by(threads);
                scope.spawn(move || seeds.filter_map(loss).collect::<Vec<_>>())
            })
            .collect();
        workers.into_iter().flat_map(|worker| worker.join().unwrap()).collect()
    });
    println!("{objects} objects, {} lost, in {:.0?}", losses.len(), begun.elapsed());
    assert!(losses.is_empty(), "{losses:#?}");
}
