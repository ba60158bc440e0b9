//! `llsd status --watch` and `--wait`: a server is looked at again and again, and what changed is shown.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use llsd_plan::status::ConditionType;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::seen::SeenServer;
use crate::command::cluster::Cluster;
use crate::command::colours;
use crate::command::format::OutputFormat;
use crate::command::printable::printable;
use crate::command::{Exit, Printout};

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a resource may be stalled: the operator reads missing Secrets again every 45 seconds, and who applies
/// several files may apply the Secret after the resource.
const STALLED: Duration = Duration::from_mins(1);
/// A terminal without anything on it.
const CLEARED: &str = "\x1b[H\x1b[2J\x1b[3J";

/// When it ends by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Until {
    /// Never: the person stops it.
    Stopped,
    /// Once the resource is ready, within this time.
    Ready(Duration),
}

/// Looks until it is time to end. `shows` prints each change; otherwise what is waited for is said on stderr, and
/// the last screen is printed.
pub(super) async fn follow(
    cluster: &Cluster,
    name: &str,
    output: OutputFormat,
    shows: bool,
    until: Until,
) -> Printout {
    let mut waiting = WaitForReady::new(until);
    let mut shown = String::new();
    loop {
        let seen = SeenServer::look(cluster, name).await;
        let text = match &seen {
            Ok(seen) if shows => seen.print(output),
            Ok(seen) => seen.screen.text.lines().next().unwrap_or_default().to_owned(),
            // The API server may be away for a while, and the resource may come back.
            Err(why) => format!("(not up to date: {why})"),
        };
        if text != shown {
            let told = if shows { show(&text, shown.is_empty()) } else { say(&text) };
            if told.is_err() {
                return Printout::fine(String::new());
            }
            shown = text;
        }
        if let Some(ended) = waiting.look(seen.as_ref().ok(), Instant::now()) {
            let screen = seen.ok().filter(|_| !shows);
            let stdout = screen.map(|seen| seen.print(output)).unwrap_or_default();
            return match ended {
                Ok(()) => Printout::fine(stdout),
                Err(why) => {
                    Printout { stdout, stderr: format!("error: {why}\n"), exit: Exit::Problems }
                }
            };
        }
        sleep(PAUSE).await;
    }
}

/// On a terminal in the place of what was shown before; elsewhere below it.
fn show(text: &str, is_first: bool) -> io::Result<()> {
    let between = match (io::stdout().is_terminal(), is_first) {
        (true, _) => CLEARED,
        (false, true) => "",
        (false, false) => "\n",
    };
    let mut stdout = io::stdout().lock();
    write!(stdout, "{between}{}", printable(text, &colours::SEQUENCES))?;
    stdout.flush()
}

fn say(line: &str) -> io::Result<()> {
    writeln!(io::stderr().lock(), "{}", printable(line, &[]))
}

/// How long is still waited.
struct WaitForReady {
    until: Until,
    begun: Instant,
    stalled: Option<Instant>,
}

impl WaitForReady {
    fn new(until: Until) -> Self {
        Self { until, begun: Instant::now(), stalled: None }
    }

    /// Whether it is over, and if the resource is not ready then, why.
    fn look(&mut self, seen: Option<&SeenServer>, now: Instant) -> Option<Result<(), String>> {
        let Until::Ready(patience) = self.until else { return None };
        if seen.is_some_and(|seen| seen.screen.is_ready) {
            return Some(Ok(()));
        }
        let stalled = seen.and_then(|seen| stalled(&seen.resource));
        match stalled {
            Some(why) if now - *self.stalled.get_or_insert(now) >= STALLED => {
                return Some(Err(format!("nothing happens until somebody acts: {why}")));
            }
            Some(_) => {}
            None => self.stalled = None,
        }
        let is_late = now - self.begun >= patience;
        is_late.then(|| Err(format!("not ready within {} s", patience.as_secs())))
    }
}

/// Why nothing happens for the resource as it is now.
fn stalled(resource: &Value) -> Option<&str> {
    if resource["status"]["observedGeneration"] != resource["metadata"]["generation"] {
        return None;
    }
    let mut conditions = resource["status"]["conditions"].as_array()?.iter();
    let stalled = conditions
        .find(|one| one["type"] == ConditionType::Stalled.as_str() && one["status"] == "True")?;
    stalled["message"].as_str()
}

/// `90s`, `10m`, `1h`; a number alone counts seconds.
pub(super) fn duration(text: &str) -> Result<Duration, String> {
    let wrong = || "write a number of seconds, or 90s, 10m, 1h".to_owned();
    let (number, unit) = match text.strip_suffix(['s', 'm', 'h']) {
        Some(number) => (number, &text[number.len()..]),
        None => (text, "s"),
    };
    let number: u64 = number.parse().map_err(|_| wrong())?;
    let seconds = match unit {
        "h" => number.checked_mul(3600),
        "m" => number.checked_mul(60),
        _ => Some(number),
    };
    seconds.map(Duration::from_secs).ok_or_else(wrong)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn seen(ready: &str, stalled: bool) -> SeenServer {
        let mut conditions = vec![json!({"type": "Ready", "status": ready, "message": "so"})];
        if stalled {
            conditions.push(json!({"type": "Stalled", "status": "True", "message": "no Secret"}));
        }
        let resource = json!({
            "metadata": {"name": "llama", "namespace": "team", "generation": 1},
            "status": {"observedGeneration": 1, "conditions": conditions},
        });
        SeenServer::new(resource, Value::Null, Vec::new())
    }

    #[test]
    fn it_ends_when_the_resource_is_ready_late_or_stalled_for_long() {
        let patience = Duration::from_mins(10);
        let mut waiting = WaitForReady::new(Until::Ready(patience));
        let start = waiting.begun;
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(waiting.look(Some(&seen("False", true)), at(1)), None);
        assert_eq!(waiting.look(Some(&seen("False", true)), at(50)), None);
        assert_eq!(waiting.look(Some(&seen("False", false)), at(55)), None, "it goes on");
        assert_eq!(waiting.look(Some(&seen("False", true)), at(60)), None, "counted from here");
        let ended = waiting.look(Some(&seen("False", true)), at(120));
        assert_eq!(ended, Some(Err("nothing happens until somebody acts: no Secret".to_owned())));
        let late = waiting.look(None, at(600));
        assert_eq!(late, Some(Err("not ready within 600 s".to_owned())));
        assert_eq!(waiting.look(Some(&seen("True", false)), at(700)), Some(Ok(())));
        let mut watching = WaitForReady::new(Until::Stopped);
        assert_eq!(watching.look(Some(&seen("True", false)), at(9000)), None);
    }

    #[test]
    fn a_duration_is_written_as_kubectl_takes_it() {
        for (text, seconds) in [("90", 90), ("90s", 90), ("10m", 600), ("1h", 3600)] {
            assert_eq!(duration(text), Ok(Duration::from_secs(seconds)));
        }
        for wrong in ["", "m", "10 m", "-1", "1d", "99999999999999999999h"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
    }
}
