//! Saying that something takes long: after a second, on terminals alone, on a line that goes away.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use tokio::time::{Instant, MissedTickBehavior, interval_at};

/// What ends sooner needs no word.
const QUIET: Duration = Duration::from_secs(1);
/// Back to the start of the line, and nothing on it.
const CLEARED: &str = "\r\x1b[K";

/// Waits for `work`, and says on stderr what is waited for.
pub(super) async fn for_work<T>(what: &str, work: impl Future<Output = T>) -> T {
    if !io::stderr().is_terminal() {
        return work.await;
    }
    said(what, work, |line| {
        let mut stderr = io::stderr().lock();
        // There is nowhere left to report that stderr itself fails.
        let _ = stderr.write_all(line.as_bytes()).and_then(|()| stderr.flush());
    })
    .await
}

async fn said<T>(what: &str, work: impl Future<Output = T>, mut say: impl FnMut(&str)) -> T {
    let begun = Instant::now();
    let mut ticks = interval_at(begun + QUIET, QUIET);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    let mut work = std::pin::pin!(work);
    let mut has_said = false;
    loop {
        tokio::select! {
            biased;
            done = &mut work => {
                if has_said {
                    say(CLEARED);
                }
                return done;
            }
            _ = ticks.tick() => {
                has_said = true;
                say(&format!("{CLEARED}{what} … {} s", begun.elapsed().as_secs()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn lines_of(work: Duration) -> Vec<String> {
        let mut lines = Vec::new();
        said("asking", tokio::time::sleep(work), |line| lines.push(line.to_owned())).await;
        lines
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_takes_longer_than_a_second_is_said_and_the_line_goes_away() {
        assert_eq!(lines_of(Duration::from_millis(900)).await, Vec::<String>::new());
        let lines = lines_of(Duration::from_millis(2500)).await;
        assert_eq!(lines, ["\r\x1b[Kasking … 1 s", "\r\x1b[Kasking … 2 s", "\r\x1b[K"]);
    }
}
