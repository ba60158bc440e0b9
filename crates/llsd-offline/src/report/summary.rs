//! All that was found, file by file and resource by resource.

use std::collections::HashMap;

use crate::finding::Finding;
use crate::resource::{Remark, Summary};

/// Everything found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The files in the order in which they were named.
    pub files: Vec<String>,
    pub resources: Vec<Summary>,
    pub remarks: Vec<Remark>,
    /// Warnings refuse, too.
    pub strict: bool,
    /// Facts were given and cannot be used, so that no resource was checked with them.
    pub lacks_facts: bool,
}

/// One thing that was found, and where.
pub(super) struct Line<'report> {
    pub(super) file: &'report str,
    pub(super) warning: bool,
    /// None where a text is no resource of ours.
    pub(super) resource: Option<&'report Summary>,
    pub(super) finding: &'report Finding,
}

impl Line<'_> {
    /// What was found: where in which resource, and what is wrong with it.
    pub(super) fn said(&self, several: bool) -> String {
        let resource = self.resource.filter(|_| several).map(Summary::title);
        let path = &self.finding.problem.path;
        let path = (!path.segments().is_empty()).then(|| path.to_string());
        let message = self.finding.problem.message.clone();
        let parts: Vec<String> = [resource, path, Some(message)].into_iter().flatten().collect();
        parts.join(": ")
    }

    /// The same with what to do.
    pub(super) fn said_with_remedy(&self, several: bool) -> String {
        let said = self.said(several);
        let remedy = &self.finding.problem.remedy;
        if remedy.is_empty() { said } else { format!("{said}\n→ {remedy}") }
    }
}

impl Report {
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let of_resources =
            self.resources.iter().map(|it| (&it.file, Some(it), &it.problems, &it.warnings));
        let of_remarks = self.remarks.iter().map(|it| (&it.file, None, &it.problems, &it.warnings));
        of_resources.chain(of_remarks).flat_map(|(file, resource, problems, warnings)| {
            let problems = problems.iter().map(|finding| (finding, false));
            let warnings = warnings.iter().map(|finding| (finding, true));
            let all = problems.chain(warnings);
            all.map(move |(finding, warning)| Line { file, warning, resource, finding })
        })
    }

    /// File by file as they were named, and within one as one reads.
    pub(super) fn in_order(&self) -> Vec<Line<'_>> {
        let mut lines: Vec<Line<'_>> = self.lines().collect();
        let mut ranks: HashMap<&str, usize> = HashMap::new();
        for (rank, file) in self.files.iter().enumerate() {
            ranks.entry(file).or_insert(rank);
        }
        let rank = |line: &Line| ranks.get(line.file).copied();
        lines.sort_by_cached_key(|line| (rank(line), line.finding.at, line.warning));
        lines
    }

    /// Whether findings have to say which resource they are of.
    pub(super) fn has_several(&self) -> bool {
        self.resources.len() > 1
    }

    /// Every problem and warning.
    pub fn all(&self) -> impl Iterator<Item = &Finding> {
        self.lines().map(|line| line.finding)
    }

    /// Whether what was found refuses a resource or a file.
    pub fn is_refused(&self) -> bool {
        self.resources.iter().any(|resource| resource.refuses(self.strict))
            || self.remarks.iter().any(|remark| remark.refuses(self.strict))
    }

    pub fn problem_count(&self) -> usize {
        self.lines().filter(|line| !line.warning).count()
    }

    pub fn warning_count(&self) -> usize {
        self.lines().filter(|line| line.warning).count()
    }
}
