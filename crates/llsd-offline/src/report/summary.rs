//! All that was found, file by file and resource by resource.

use crate::finding::Finding;
use crate::resource::Remark;

/// Everything found.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// The files in the order in which they were named.
    pub files: Vec<String>,
    pub resources: Vec<Summary>,
    pub remarks: Vec<Remark>,
}

/// A resource and all that was found in it.
#[derive(Clone, Debug)]
pub struct Summary {
    pub file: String,
    pub document: usize,
    pub namespace: Option<String>,
    pub name: Option<String>,
    pub api_version: String,
    pub problems: Vec<Finding>,
    pub warnings: Vec<Finding>,
}

impl Summary {
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
    /// Every problem and warning.
    pub fn all(&self) -> impl Iterator<Item = &Finding> {
        let of_resources =
            self.resources.iter().flat_map(|found| [&found.problems, &found.warnings]);
        let of_remarks = self.remarks.iter().flat_map(|found| [&found.problems, &found.warnings]);
        of_resources.chain(of_remarks).flatten()
    }

    pub fn problem_count(&self) -> usize {
        self.resources.iter().map(|resource| resource.problems.len()).sum::<usize>()
            + self.remarks.iter().map(|remark| remark.problems.len()).sum::<usize>()
    }

    pub fn warning_count(&self) -> usize {
        self.resources.iter().map(|resource| resource.warnings.len()).sum::<usize>()
            + self.remarks.iter().map(|remark| remark.warnings.len()).sum::<usize>()
    }
}
