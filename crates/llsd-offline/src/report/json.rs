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
use crate::finding::Finding;

#[derive(Serialize)]
struct Output<'report> {
    resources: Vec<ResourceOutput<'report>>,
    documents: Vec<DocumentOutput<'report>>,
    summary: Totals,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ResourceOutput<'report> {
    file: &'report str,
    document: usize,
    namespace: Option<&'report str>,
    name: Option<&'report str>,
    api_version: &'report str,
    problems: &'report [Finding],
    warnings: &'report [Finding],
}

#[derive(Serialize)]
struct DocumentOutput<'report> {
    file: &'report str,
    document: Option<usize>,
    problems: &'report [Finding],
    warnings: &'report [Finding],
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
            resources: self
                .resources
                .iter()
                .map(|resource| ResourceOutput {
                    file: &resource.file,
                    document: resource.document,
                    namespace: resource.namespace.as_deref(),
                    name: resource.name.as_deref(),
                    api_version: &resource.api_version,
                    problems: &resource.problems,
                    warnings: &resource.warnings,
                })
                .collect(),
            documents: self
                .remarks
                .iter()
                .map(|remark| DocumentOutput {
                    file: &remark.file,
                    document: remark.document,
                    problems: &remark.problems,
                    warnings: &remark.warnings,
                })
                .collect(),
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
