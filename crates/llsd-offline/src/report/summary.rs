//! All that was found, file by file and resource by resource.

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
