//! The resources that a file holds, and remarks on the parts of it that hold none.

use llsd_api::GROUP;
use llsd_api::conversion::Version;
use llsd_plan::problems::Reason;
use llsd_yaml::Tree;
use serde::Serialize;
use serde_json::Value;

use crate::finding::Finding;

/// One resource of our kind.
#[derive(Clone, Debug)]
pub struct Resource {
    /// At first with what reading alone found.
    pub summary: Summary,
    /// None for a version that cannot be checked; the problems then say so.
    pub version: Option<Version>,
    pub tree: Tree,
}

/// A resource and all that was found in it.
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Summary {
    pub file: String,
    /// The document of the file that holds it, counted from 1.
    pub document: usize,
    pub namespace: Option<String>,
    pub name: Option<String>,
    /// As it is written in the file.
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

    /// Whether the resource is refused; `strict` takes warnings for problems.
    pub fn refuses(&self, strict: bool) -> bool {
        !self.problems.is_empty() || strict && !self.warnings.is_empty()
    }
}

impl Resource {
    /// The resource as JSON, under the group that it has today.
    pub fn to_json(&self) -> Value {
        let mut json = self.tree.to_json();
        if let Some((_, version)) = self.summary.api_version.rsplit_once('/') {
            json["apiVersion"] = Value::String(format!("{GROUP}/{version}"));
        }
        json
    }
}

/// Findings about a part of a file that holds no resource of ours.
#[derive(Clone, Debug, Serialize)]
pub struct Remark {
    pub file: String,
    /// None when they concern the file as a whole.
    pub document: Option<usize>,
    pub problems: Vec<Finding>,
    pub warnings: Vec<Finding>,
}

impl Remark {
    /// The same of a text that is no resource. That a document of another kind was passed over is no reason.
    pub fn refuses(&self, strict: bool) -> bool {
        let mut warnings = self.warnings.iter();
        let is_ignored = |finding: &Finding| finding.problem.reason == Reason::Ignored;
        !self.problems.is_empty() || strict && !warnings.all(is_ignored)
    }
}

/// All that one file holds.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    pub resources: Vec<Resource>,
    pub remarks: Vec<Remark>,
}
