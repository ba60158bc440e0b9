//! The program that checks configurations, while it runs: importing a release takes seconds, and a configuration
//! milliseconds.

use std::{
    fs::File,
    io::{BufRead, BufReader, BufWriter, Write},
    process::{Child, ChildStdin, ChildStdout, Stdio},
    thread,
};

use anyhow::{Context, anyhow, bail};
use tempfile::TempDir;

use super::{Candidate, CheckResult, Release};
use crate::process::last_lines;

/// The file with what it says beside its answers.
const SAID: &str = "said.txt";

/// How it reads YAML.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reader {
    /// As the server.
    Exact,
    /// With the parser in C of the server's own library.
    Quick,
}

/// A release that checks configurations. Ends when it is dropped.
#[derive(Debug)]
pub struct Checker {
    release: Release,
    child: Child,
    /// Closed to end the program.
    questions: Option<BufWriter<ChildStdin>>,
    answers: BufReader<ChildStdout>,
    home: TempDir,
}

impl Release {
    /// Checks all candidates, in their order. Installs the release first where it is missing.
    /// Takes about three seconds however many there are, so give it as many as possible.
    pub fn check(self, candidates: &[Candidate]) -> anyhow::Result<Vec<CheckResult>> {
        Checker::start(self, Reader::Exact)?.check(candidates)
    }

    /// Starts a program that checks many configurations, one after the other and as fast as it can. Installs the
    /// release first where it is missing.
    pub fn checker(self) -> anyhow::Result<Checker> {
        Checker::start(self, Reader::Quick)
    }
}

impl Checker {
    pub(super) fn start(release: Release, reader: Reader) -> anyhow::Result<Self> {
        let (mut command, home) = release.python("check.py")?;
        if reader == Reader::Quick {
            command.arg("quick");
        }
        let said = File::create(home.path().join(SAID))?;
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(said);
        let mut child = command.spawn().with_context(|| format!("{release}: cannot run Python"))?;
        let questions = child.stdin.take().map(BufWriter::new);
        let answers = BufReader::new(child.stdout.take().context("no answers")?);
        Ok(Self { release, child, questions, answers, home })
    }

    /// What the release thinks of each, in their order.
    pub fn check(&mut self, candidates: &[Candidate]) -> anyhow::Result<Vec<CheckResult>> {
        let Some(questions) = &mut self.questions else { bail!("it has ended") };
        let answers = &mut self.answers;
        let lines: Vec<String> =
            candidates.iter().map(serde_json::to_string).collect::<Result<_, _>>()?;
        // Written while answers are read: neither side waits for the other for ever.
        let results = thread::scope(|scope| {
            let asked = scope.spawn(|| {
                for line in &lines {
                    writeln!(questions, "{line}")?;
                }
                questions.flush()
            });
            let results: Vec<CheckResult> =
                candidates.iter().map_while(|one| answer(answers, one)).collect();
            // A pipe that broke shows as an answer that is missing.
            let _ = asked.join();
            results
        });
        if results.len() < candidates.len() {
            return Err(self.why_it_ended(&candidates[results.len()].name));
        }
        Ok(results)
    }

    fn why_it_ended(&self, at: &str) -> anyhow::Error {
        let said = last_lines(&self.home.path().join(SAID), 5);
        anyhow!("{}: no answer to {at:?}: {said}", self.release)
    }
}

fn answer(answers: &mut impl BufRead, candidate: &Candidate) -> Option<CheckResult> {
    let mut line = String::new();
    answers.read_line(&mut line).ok().filter(|read| *read > 0)?;
    let mut result: CheckResult = serde_json::from_str(&line).ok()?;
    result.name.clone_from(&candidate.name);
    Some(result)
}

impl Drop for Checker {
    fn drop(&mut self) {
        self.questions = None;
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
