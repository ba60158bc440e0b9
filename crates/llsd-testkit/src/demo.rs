//! What both demos share: how they are called, how they speak, and where they find the program they show.

use std::cell::{Cell, RefCell};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, ensure};
use serde_json::Value;

/// Runs a demo: with `--check` it is to end when everything works.
pub fn run_demo<F: Future<Output = anyhow::Result<()>>>(
    demonstrate: impl FnOnce(bool) -> F,
) -> ExitCode {
    let check = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("--check") => true,
        Some(other) => {
            eprintln!("the one argument is --check; not {other}");
            return ExitCode::from(2);
        }
    };
    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    match runtime.block_on(demonstrate(check)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("\ndemo: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// `llsd`, beside the folder of the examples, as cargo builds them.
pub fn llsd_program() -> anyhow::Result<PathBuf> {
    let own = std::env::current_exe()?;
    let folder = own.parent().and_then(Path::parent).context("this program is in a folder")?;
    let program = folder.join("llsd");
    ensure!(program.is_file(), "{} is missing; `cargo build` makes it", program.display());
    Ok(program)
}

/// Prints what happens, for people: numbered steps with the time they began at, and what belongs to them below.
#[derive(Debug)]
pub struct Narrator {
    begun: Instant,
    steps: Cell<usize>,
    /// The phase that was told last.
    phase: RefCell<String>,
    /// What belongs to a step stands below its words.
    indent: &'static str,
}

impl Default for Narrator {
    fn default() -> Self {
        Self::new()
    }
}

impl Narrator {
    /// Its clock starts now.
    pub fn new() -> Self {
        let (steps, phase) = (Cell::new(0), RefCell::default());
        Self { begun: Instant::now(), steps, phase, indent: "        " }
    }

    /// A new step, with its number and time.
    pub fn step(&self, what: &str) {
        self.steps.set(self.steps.get() + 1);
        println!("\n[{:>3} s] {}. {what}", self.begun.elapsed().as_secs(), self.steps.get());
    }

    /// A line about the step.
    pub fn detail(&self, what: &str) {
        println!("{}{what}", self.indent);
    }

    /// A text that belongs to the step, such as a file.
    pub fn quote(&self, text: &str) {
        for line in text.lines() {
            println!("{}| {line}", self.indent);
        }
    }

    /// Some lines of a text, from one on.
    pub fn quote_section(&self, text: &str, from: &str, lines: usize) {
        let chosen: Vec<&str> = text.lines().skip_while(|line| *line != from).take(lines).collect();
        self.quote(&chosen.join("\n"));
        self.quote("…");
    }

    /// A command to try.
    pub fn command(&self, line: &str) {
        println!("{}$ {line}", self.indent);
    }

    /// The phase of a resource and what `Ready` says, where it is not what was told before. Gives whether it is ready.
    pub fn phase(&self, resource: &Value) -> bool {
        let status = &resource["status"];
        let mut conditions = status["conditions"].as_array().into_iter().flatten();
        let ready = conditions.find(|condition| condition["type"] == "Ready");
        let ready = ready.unwrap_or(&Value::Null);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let line = format!("{:<13} {}", text(&status["phase"]), text(&ready["message"]));
        if status["phase"].is_string() && self.phase.replace(line.clone()) != line {
            self.detail(&line);
        }
        ready["status"] == "True"
    }
}
