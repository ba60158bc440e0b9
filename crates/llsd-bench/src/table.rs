//! The one table that is printed.

use std::fmt;
use std::time::Duration;

use llsd_testkit::Requests;

#[derive(Debug)]
pub struct Table {
    rows: Vec<(String, String)>,
}

impl Table {
    pub fn new(count: usize) -> Self {
        Self { rows: vec![("resources".to_owned(), count.to_string())] }
    }

    /// Printed at once too: a long bench should show that it goes on.
    pub fn row(&mut self, what: &str, figure: String) {
        eprintln!("{what}: {figure}");
        self.rows.push((what.to_owned(), figure));
    }

    pub fn requests(&mut self, requests: &Requests, count: usize) {
        let each = |requests: &Requests| requests.len() as f64 / count as f64;
        let (reads, writes) = (each(&requests.reads()), each(&requests.writes()));
        self.row(
            "requests per resource until Ready",
            format!("{:.2}: {reads:.2} reads, {writes:.2} writes", reads + writes),
        );
        for (kind, number) in requests.by_verb_and_resource() {
            self.row(&format!("  {kind}"), format!("{:.3}", number as f64 / count as f64));
        }
    }

    pub fn rest(&mut self, requests: &Requests, time: Duration, cpu: Duration) {
        let seconds = time.as_secs_f64();
        let others = requests.except_leases();
        self.row(
            "at rest",
            format!(
                "{} writes, {:.2} requests per second ({} of the lease), {:.2} % of a core",
                others.writes().len(),
                requests.len() as f64 / seconds,
                requests.len() - others.len(),
                cpu.as_secs_f64() / seconds * 100.0
            ),
        );
        for (kind, number) in others.by_verb_and_resource() {
            self.row(&format!("  {kind}"), number.to_string());
        }
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "| | |\n|---|---|")?;
        self.rows.iter().try_for_each(|(what, figure)| writeln!(f, "| {what} | {figure} |"))
    }
}
