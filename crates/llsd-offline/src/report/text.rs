//! The report for people. Findings go to stderr, in the order of the file and in the form that
//! compilers use and editors understand:
//!
//! ```text
//! stack.yaml:12:11: spec.providers.inference[1].id: "vllm" is used twice
//!     → choose another id
//! stack.yaml:1:13: warning: apiVersion: the group "llamastack.ai" is read as "llamastack.io"
//!     → write `apiVersion: llamastack.io/v1alpha2`
//! ```
//!
//! The path is left out where a text is no resource yet. With several resources, each finding names
//! its own, `NAMESPACE/NAME`, in front of the path. stdout has `NAMESPACE/NAME: valid` for every
//! resource without problems. The last line counts; it is on stdout if nothing is refused.

use std::fmt::Write;

use llsd_yaml::Position;

use super::summary::{Line, Report};
use crate::finding::Finding;

/// What goes to each stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StreamTexts {
    pub stdout: String,
    pub stderr: String,
}

impl Report {
    pub fn to_text(&self) -> StreamTexts {
        let mut text = StreamTexts { stdout: String::new(), stderr: self.findings() };
        let sound = self.resources.iter().filter(|resource| !resource.refuses(self.strict));
        // What a resource comes to is not known without the facts.
        for resource in sound.filter(|_| !self.lacks_facts) {
            let _ = writeln!(text.stdout, "{}: valid", resource.title());
        }
        let problems = self.problem_count();
        let summary = format!(
            "{}, {}, {}\n",
            counted(self.resources.len(), "resource"),
            counted(problems, "problem"),
            counted(self.warning_count(), "warning")
        );
        if self.is_refused() { &mut text.stderr } else { &mut text.stdout }.push_str(&summary);
        text
    }

    /// The findings where they are the reason for there being no other output.
    pub fn refusal(&self) -> String {
        let mut text = self.findings();
        if self.is_refused() && self.problem_count() == 0 {
            text.push_str("nothing else is printed: with --strict a warning is a reason to fail\n");
        }
        text
    }

    /// The findings alone, without a word on what is valid.
    pub fn findings(&self) -> String {
        let mut text = String::new();
        for line in self.in_order() {
            line.print(self.has_several(), &mut text);
        }
        text
    }
}

impl Line<'_> {
    /// With several resources, each finding names its own.
    fn print(&self, several: bool, out: &mut String) {
        let Finding { problem, at: Position { line, column } } = self.finding;
        let warning = if self.warning { "warning: " } else { "" };
        let _ = writeln!(out, "{}:{line}:{column}: {warning}{}", self.file, self.said(several));
        let _ = writeln!(out, "    → {}", problem.remedy);
    }
}

/// `1 resource`, `2 resources`.
pub(crate) fn counted(count: usize, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}
