//! What holds of every object, on generated ones of both versions.

use crate::support::laws::check;

const OBJECTS: u64 = 100_000;

#[test]
fn nothing_is_lost_and_every_change_wins() {
    const THREADS: u64 = 2;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            scope.spawn(move || {
                for seed in (thread..OBJECTS).filter(|seed| seed % THREADS == thread) {
                    if let Err(loss) = check(seed) {
                        panic!("seed {seed}: {loss}");
                    }
                }
            });
        }
    });
}
