//! `llsd status --watch` and `--wait`: a server is looked at again and again, and what changed is shown.

use std::io::{self, IsTerminal, Write};
use std::time::Duration;

use llsd_plan::status::ConditionType;
use serde_json::Value;
use tokio::time::{Instant, sleep};

use super::seen::SeenServer;
use crate::command::cluster::Cluster;
use crate::command::cluster_error::ClusterError;
use crate::command::colours;
use crate::command::format::OutputFormat;
use crate::command::printable::printable;
use crate::command::{Exit, Printout};

/// Between two looks.
const PAUSE: Duration = Duration::from_secs(1);
/// How long a resource may be stalled: the operator reads missing Secrets again every 45 seconds, and who applies
/// several files may apply the Secret after the resource.
const STALLED: Duration = Duration::from_mins(1);
/// So many looks in a row find no resource before it is gone: to replace one is to delete it first.
const GONE: u32 = 3;
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
) -> Result<Printout, ClusterError> {
    let mut waiting = WaitForReady::new(until);
    let mut screens = Screens::new(output, shows);
    let mut missed = 0;
    loop {
        let seen = match SeenServer::look(cluster, name).await {
            Ok(seen) => {
                missed = 0;
                Ok(seen)
            }
            Err(error) => Err(passing(error, &mut missed)?),
        };
        let told = screens.add(looked(&seen, output, shows)).map_or(Ok(()), Addition::print);
        // Who watched has left. A script that waits still learns from the exit code how it ended.
        if told.is_err() && until == Until::Stopped {
            return Ok(Printout::fine(String::new()));
        }
        if let Some(ended) = waiting.look(seen.as_ref(), Instant::now()) {
            let screen = seen.ok().filter(|_| !shows);
            let stdout = screen.map(|seen| seen.print(output)).unwrap_or_default();
            return Ok(match ended {
                Ok(()) => Printout::fine(stdout),
                Err(why) => {
                    Printout { stdout, stderr: format!("error: {why}\n"), exit: Exit::Problems }
                }
            });
        }
        sleep(PAUSE).await;
    }
}

/// The text to show of the server, or why it could not be read.
fn looked(
    seen: &Result<SeenServer, ClusterError>,
    output: OutputFormat,
    shows: bool,
) -> Result<String, String> {
    match seen {
        Ok(seen) if shows => Ok(seen.print(output)),
        Ok(seen) => Ok(seen.screen.text.lines().next().unwrap_or_default().to_owned()),
        Err(error) => Err(error.to_string()),
    }
}

/// An error after which another look is worth it: the API server may be away for a while, and the resource may
/// come back. Any other ends it.
fn passing(error: ClusterError, missed: &mut u32) -> Result<ClusterError, ClusterError> {
    *missed = if error.is_missing() { *missed + 1 } else { 0 };
    if *missed < GONE && !error.is_refusal() {
        return Ok(error);
    }
    Err(match error {
        ClusterError::NotThere { message } => {
            ClusterError::NotThere { message: format!("{message} any more: it was deleted") }
        }
        other => other,
    })
}

/// What was shown so far.
struct Screens {
    output: OutputFormat,
    /// Each look comes to stdout; otherwise a line about it to stderr.
    shows: bool,
    is_terminal: bool,
    /// The text of the last look that came to something.
    last: Option<String>,
    /// What was said since then.
    remark: Option<String>,
}

/// What a look adds to what was shown.
#[derive(Debug, PartialEq, Eq)]
enum Addition {
    Stdout(String),
    Stderr(String),
}

impl Screens {
    fn new(output: OutputFormat, shows: bool) -> Self {
        let is_terminal = io::stdout().is_terminal();
        Self { output, shows, is_terminal, last: None, remark: None }
    }

    /// Nothing where the look is as the one before.
    fn add(&mut self, looked: Result<String, String>) -> Option<Addition> {
        match looked {
            Ok(text) => self.add_text(text),
            Err(why) => self.add_remark(printable(&format!("(not up to date: {why})\n"), &[])),
        }
    }

    fn add_text(&mut self, text: String) -> Option<Addition> {
        // A remark that stands on the screen holds no longer. A program reads each document once.
        let is_marked = self.remark.take().is_some() && !(self.shows && self.is_for_programs());
        if self.last.as_ref() == Some(&text) && !is_marked {
            return None;
        }
        let between = self.between();
        let shown = printable(&text, &colours::SEQUENCES);
        self.last = Some(text);
        Some(if self.shows {
            Addition::Stdout(format!("{between}{shown}"))
        } else {
            Addition::Stderr(format!("{shown}\n"))
        })
    }

    /// Below the screen, which stays. A program reads documents alone on stdout.
    fn add_remark(&mut self, remark: String) -> Option<Addition> {
        if self.remark.as_ref() == Some(&remark) {
            return None;
        }
        self.remark = Some(remark.clone());
        Some(if self.shows && self.output == OutputFormat::Text {
            Addition::Stdout(remark)
        } else {
            Addition::Stderr(remark)
        })
    }

    fn is_for_programs(&self) -> bool {
        self.output != OutputFormat::Text && !self.is_terminal
    }

    /// What stands in front of a screen: on a terminal it comes into the place of the one before.
    fn between(&self) -> &'static str {
        match (&self.last, self.output) {
            _ if self.is_terminal => CLEARED,
            (None, _) => "",
            (Some(_), OutputFormat::Yaml) => "---\n",
            (Some(_), OutputFormat::Text | OutputFormat::Json) => "\n",
        }
    }
}

impl Addition {
    /// The error says that nobody reads stdout any more.
    fn print(self) -> io::Result<()> {
        match self {
            Self::Stdout(text) => {
                let mut stdout = io::stdout().lock();
                stdout.write_all(text.as_bytes())?;
                stdout.flush()
            }
            Self::Stderr(text) => {
                // There is nowhere left to report that stderr itself fails.
                let _ = io::stderr().lock().write_all(text.as_bytes());
                Ok(())
            }
        }
    }
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
    fn look(
        &mut self,
        seen: Result<&SeenServer, &ClusterError>,
        now: Instant,
    ) -> Option<Result<(), String>> {
        let Until::Ready(patience) = self.until else { return None };
        if seen.is_ok_and(|seen| seen.screen.is_ready) {
            return Some(Ok(()));
        }
        let stalled = seen.ok().and_then(|seen| stalled(&seen.resource));
        match stalled {
            Some(why) if now - *self.stalled.get_or_insert(now) >= STALLED => {
                return Some(Err(format!("nothing happens until somebody acts: {why}")));
            }
            Some(_) => {}
            None => self.stalled = None,
        }
        let is_late = now - self.begun >= patience;
        is_late.then(|| {
            let last = seen.err().map(|error| format!("; the last look failed: {error}"));
            Err(format!("not ready within {} s{}", patience.as_secs(), last.unwrap_or_default()))
        })
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
    use kube::core::Status;
    use serde_json::json;

    use super::*;
    use crate::command::server::states::SeenWorkload;

    fn seen(ready: &str, stalled: bool) -> SeenServer {
        let mut conditions = vec![json!({"type": "Ready", "status": ready, "message": "so"})];
        if stalled {
            conditions.push(json!({"type": "Stalled", "status": "True", "message": "no Secret"}));
        }
        let resource = json!({
            "metadata": {"name": "llama", "namespace": "team", "generation": 1},
            "status": {"observedGeneration": 1, "conditions": conditions},
        });
        SeenServer::new(resource, SeenWorkload::default())
    }

    fn refused(code: u16) -> ClusterError {
        kube::Error::Api(Status::failure("no", "").with_code(code).boxed()).into()
    }

    fn deleted() -> ClusterError {
        ClusterError::NotThere { message: "there is no llama".to_owned() }
    }

    #[test]
    fn it_ends_when_the_resource_is_ready_late_or_stalled_for_long() {
        let patience = Duration::from_mins(10);
        let mut waiting = WaitForReady::new(Until::Ready(patience));
        let start = waiting.begun;
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(waiting.look(Ok(&seen("False", true)), at(1)), None);
        assert_eq!(waiting.look(Ok(&seen("False", true)), at(50)), None);
        assert_eq!(waiting.look(Ok(&seen("False", false)), at(55)), None, "it goes on");
        assert_eq!(waiting.look(Ok(&seen("False", true)), at(60)), None, "counted from here");
        let ended = waiting.look(Ok(&seen("False", true)), at(120));
        assert_eq!(ended, Some(Err("nothing happens until somebody acts: no Secret".to_owned())));
        let late = waiting.look(Ok(&seen("False", false)), at(600));
        assert_eq!(late, Some(Err("not ready within 600 s".to_owned())));
        let late = waiting.look(Err(&refused(500)), at(601));
        let why = "not ready within 600 s; the last look failed: no".to_owned();
        assert_eq!(late, Some(Err(why)));
        assert_eq!(waiting.look(Ok(&seen("True", false)), at(700)), Some(Ok(())));
        let mut watching = WaitForReady::new(Until::Stopped);
        assert_eq!(watching.look(Ok(&seen("True", false)), at(9000)), None);
    }

    #[test]
    fn it_ends_where_another_look_brings_nothing_else() {
        let ends = |error, missed: &mut u32| passing(error, missed).is_err();
        for (code, expected) in [(401, true), (403, true), (500, false), (429, false)] {
            assert_eq!(ends(refused(code), &mut 0), expected, "{code}");
        }
        let mut missed = 0;
        let mut looks = [deleted(), deleted(), refused(500), deleted(), deleted()].into_iter();
        assert!(!looks.any(|error| ends(error, &mut missed)), "it may be replaced");
        let gone = passing(deleted(), &mut missed).unwrap_err().to_string();
        assert_eq!(gone, "there is no llama any more: it was deleted");
    }

    fn screens(output: OutputFormat, is_terminal: bool) -> Screens {
        Screens { output, shows: true, is_terminal, last: None, remark: None }
    }

    fn stdout(text: &str) -> Addition {
        Addition::Stdout(text.to_owned())
    }

    fn stderr(text: &str) -> Addition {
        Addition::Stderr(text.to_owned())
    }

    const REMARK: &str = "(not up to date: no)\n";

    #[test]
    fn a_program_reads_documents_alone_on_stdout() {
        for (output, between) in [(OutputFormat::Yaml, "---\n"), (OutputFormat::Json, "\n")] {
            let mut screens = screens(output, false);
            assert_eq!(screens.add(Ok("a: 1\n".into())), Some(stdout("a: 1\n")));
            assert_eq!(screens.add(Ok("a: 1\n".into())), None);
            assert_eq!(screens.add(Err("no".into())), Some(stderr(REMARK)));
            assert_eq!(screens.add(Err("no".into())), None);
            assert_eq!(screens.add(Ok("a: 1\n".into())), None, "it was printed");
            let second = format!("{between}a: 2\n");
            assert_eq!(screens.add(Ok("a: 2\n".into())), Some(stdout(&second)));
        }
    }

    #[test]
    fn a_remark_stands_below_the_screen_until_it_is_up_to_date_again() {
        for (is_terminal, first, again) in [
            (true, format!("{CLEARED}one\n"), format!("{CLEARED}one\n")),
            (false, "one\n".to_owned(), "\none\n".to_owned()),
        ] {
            let mut screens = screens(OutputFormat::Text, is_terminal);
            assert_eq!(screens.add(Ok("one\n".into())), Some(stdout(&first)));
            assert_eq!(screens.add(Err("no".into())), Some(stdout(REMARK)), "the screen stays");
            assert_eq!(screens.add(Ok("one\n".into())), Some(stdout(&again)));
        }
    }

    #[test]
    fn who_only_waits_reads_lines_on_stderr() {
        let mut screens = Screens { shows: false, ..screens(OutputFormat::Json, false) };
        assert_eq!(screens.add(Ok("pending".into())), Some(stderr("pending\n")));
        assert_eq!(screens.add(Err("no".into())), Some(stderr(REMARK)));
        assert_eq!(screens.add(Ok("pending".into())), Some(stderr("pending\n")));
        assert_eq!(screens.add(Ok("pending".into())), None);
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
