//! The report for programs: one JSON document, whose fields stay.
//!
//! ```json
//! {
//!   "resources": [{
//!     "file": "stack.yaml", "document": 1,
//!     "namespace": "demo", "name": "vllm", "apiVersion": "llamastack.io/v1alpha2",
//!     "problems": [{"path": "spec.networking.port", "reason": "Invalid", "message": "…",
//!                   "remedy": "…", "line": 16, "column": 11}],
//!     "warnings": []
//!   }],
//!   "documents": [{"file": "stack.yaml", "document": 2, "problems": […], "warnings": […]}],
//!   "summary": {"resources": 1, "problems": 1, "warnings": 0}
//! }
//! ```
//!
//! `documents` holds the findings about text that is no resource of ours: broken YAML, other kinds.
//! There, `document` is null for a file as a whole. `namespace` and `name` are null where the file
//! does not say them. Findings stand in the order of the file. New fields may be added.

use serde::Serialize;

use super::summary::Report;
use crate::resource::{Remark, Summary};

#[derive(Serialize)]
struct Output<'report> {
    resources: &'report [Summary],
    documents: &'report [Remark],
    summary: Totals,
}

#[derive(Serialize)]
struct Totals {
    resources: usize,
    problems: usize,
    warnings: usize,
}

impl Report {
    pub fn to_json(&self) -> String {
        let output = Output {
            resources: &self.resources,
            documents: &self.remarks,
            summary: Totals {
                resources: self.resources.len(),
                problems: self.problem_count(),
                warnings: self.warning_count(),
            },
        };
        let mut json = serde_json::to_string_pretty(&output).expect("strings and numbers are JSON");
        json.push('\n');
        json
    }
}
