//! How the demo speaks: numbered steps with the time they began at, and what belongs to them below.

use std::cell::Cell;
use std::time::Instant;

pub struct Narrator {
    begun: Instant,
    steps: Cell<usize>,
    /// What belongs to a step stands below its words.
    indent: &'static str,
}

impl Narrator {
    pub fn new() -> Self {
        Self { begun: Instant::now(), steps: Cell::new(0), indent: "        " }
    }

    pub fn step(&self, what: &str) {
        self.steps.set(self.steps.get() + 1);
        println!("\n[{:>3} s] {}. {what}", self.begun.elapsed().as_secs(), self.steps.get());
    }

    pub fn detail(&self, what: &str) {
        println!("{}{what}", self.indent);
    }

    pub fn quote(&self, text: &str) {
        for line in text.lines() {
            println!("{}| {line}", self.indent);
        }
    }

    pub fn command(&self, line: &str) {
        println!("{}$ {line}", self.indent);
    }
}
