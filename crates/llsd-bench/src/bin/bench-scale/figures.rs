//! What was measured: a column for each operator and size, and what each further resource costs.

use std::collections::BTreeMap;
use std::fmt;

use llsd_bench::sample::{Sample, slope};

/// One operator with one number of resources.
#[derive(Debug)]
pub struct Column {
    operator: String,
    count: usize,
    rows: Vec<(String, String)>,
    /// What may grow with the number of resources.
    growing: Vec<(&'static str, f64)>,
    samples: Vec<Sample>,
}

impl Column {
    pub fn new(operator: String, count: usize) -> Self {
        Self { operator, count, rows: Vec::new(), growing: Vec::new(), samples: Vec::new() }
    }

    /// Printed at once, too: a long bench should show that it is at work.
    pub fn row(&mut self, what: &str, figure: String) {
        eprintln!("{what}: {figure}");
        self.rows.push((what.to_owned(), figure));
    }

    /// A figure whose growth is of interest, in this unit.
    pub fn grows(&mut self, unit: &'static str, value: f64) {
        self.growing.push((unit, value));
    }

    pub fn sampled(&mut self, samples: Vec<Sample>) {
        self.samples = samples;
    }

    pub fn samples(&self) -> &[Sample] {
        &self.samples
    }
}

/// All of them.
#[derive(Debug, Default)]
pub struct Figures {
    columns: Vec<Column>,
}

impl Figures {
    pub fn add(&mut self, column: Column) {
        self.columns.push(column);
    }

    /// In the order in which they were measured first.
    fn names(&self) -> Vec<&str> {
        let mut names: Vec<&str> = Vec::new();
        for (name, _) in self.columns.iter().flat_map(|column| &column.rows) {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        names
    }

    /// By operator and unit, a point for each number of resources.
    fn growth(&self) -> BTreeMap<(&str, &str), Vec<(f64, f64)>> {
        let mut points: BTreeMap<(&str, &str), Vec<(f64, f64)>> = BTreeMap::new();
        for column in &self.columns {
            for (unit, value) in &column.growing {
                let known = points.entry((&column.operator, unit)).or_default();
                known.push((column.count as f64, *value));
            }
        }
        points
    }
}

impl fmt::Display for Figures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.columns.is_empty() {
            return Ok(());
        }
        let heads = self.columns.iter().map(|it| format!("{}, {}", it.operator, it.count));
        writeln!(f, "| | {} |", heads.collect::<Vec<_>>().join(" | "))?;
        writeln!(f, "|---{}|", "|---".repeat(self.columns.len()))?;
        for name in self.names() {
            let cell = |column: &Column| {
                let found = column.rows.iter().find(|(what, _)| what == name);
                found.map(|(_, figure)| figure.clone()).unwrap_or_default()
            };
            let cells: Vec<String> = self.columns.iter().map(cell).collect();
            writeln!(f, "| {name} | {} |", cells.join(" | "))?;
        }
        for ((operator, unit), points) in self.growth() {
            if let Some(slope) = slope(&points) {
                writeln!(f, "\n{operator}: {:.3} {unit} for each 1,000 resources", slope * 1000.0)?;
            }
        }
        Ok(())
    }
}
