//! What a check found in all its files, and the two forms it is printed in: text for people, JSON
//! for programs.

mod json;
mod text;

use crate::input::{Finding, Remark};

/// Everything found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The files in the order in which they were named.
    pub files: Vec<String>,
    pub resources: Vec<Judged>,
    pub remarks: Vec<Remark>,
}

/// A resource and all that is to say about it.
#[derive(Clone, Debug)]
pub struct Judged {
    pub file: String,
    pub document: usize,
    pub namespace: Option<String>,
    pub name: Option<String>,
    pub api_version: String,
    pub problems: Vec<Finding>,
    pub warnings: Vec<Finding>,
}

impl Judged {
    /// `NAMESPACE/NAME`, or as much of it as the file says.
    pub fn title(&self) -> String {
        let name = self.name.as_deref().unwrap_or("(unnamed)");
        match &self.namespace {
            Some(namespace) => format!("{namespace}/{name}"),
            None => name.to_owned(),
        }
    }
}

impl Report {
    pub fn problem_count(&self) -> usize {
        self.resources.iter().map(|resource| resource.problems.len()).sum::<usize>()
            + self.remarks.iter().map(|remark| remark.problems.len()).sum::<usize>()
    }

    pub fn warning_count(&self) -> usize {
        self.resources.iter().map(|resource| resource.warnings.len()).sum::<usize>()
            + self.remarks.iter().map(|remark| remark.warnings.len()).sum::<usize>()
    }
}
