//! How a demo speaks: numbered steps with the time they began at, and what belongs to them below.

use std::cell::Cell;
use std::time::Instant;

/// Prints what happens, for people.
#[derive(Debug)]
pub struct Narrator {
    begun: Instant,
    steps: Cell<usize>,
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
        Self { begun: Instant::now(), steps: Cell::new(0), indent: "        " }
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

    /// A command to try.
    pub fn command(&self, line: &str) {
        println!("{}$ {line}", self.indent);
    }
}
