//! What holds of every object, on generated ones of both versions.

mod conversion_support;

use conversion_support::laws::check;

const OBJECTS: u64 = 100_000;

#[test]
fn nothing_is_lost_and_every_change_wins() {
    let threads = 4;
    std::thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                for seed in (thread..OBJECTS).step_by(threads as usize) {
                    if let Err(loss) = check(seed) {
                        panic!("seed {seed}: {loss}");
                    }
                }
            });
        }
    });
}
