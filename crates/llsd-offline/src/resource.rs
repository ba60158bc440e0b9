//! The resources that a file holds, and remarks on the parts of it that hold none.

use llsd_api::GROUP;
use llsd_api::conversion::Version;
use llsd_yaml::Tree;
use serde_json::Value;

use crate::finding::Finding;

/// One resource of our kind.
#[derive(Clone, Debug)]
pub struct Resource {
    pub file: String,
    /// The document of the file that holds it, counted from 1.
    pub document: usize,
    pub namespace: Option<String>,
    pub name: Option<String>,
    /// As it is written in the file.
    pub api_version: String,
    /// None for a version that cannot be checked; `problems` then says so.
    pub version: Option<Version>,
    pub tree: Tree,
    /// What reading alone found.
    pub problems: Vec<Finding>,
    pub warnings: Vec<Finding>,
}

impl Resource {
    /// The resource as JSON, under the group that it has today.
    pub fn to_json(&self) -> Value {
        let mut json = self.tree.to_json();
        if let Some((_, version)) = self.api_version.rsplit_once('/') {
            json["apiVersion"] = Value::String(format!("{GROUP}/{version}"));
        }
        json
    }
}

/// Findings about a part of a file that holds no resource of ours.
#[derive(Clone, Debug)]
pub struct Remark {
    pub file: String,
    /// None when they concern the file as a whole.
    pub document: Option<usize>,
    pub problems: Vec<Finding>,
    pub warnings: Vec<Finding>,
}

/// All that one file holds.
#[derive(Clone, Debug, Default)]
pub struct Contents {
    pub resources: Vec<Resource>,
    pub remarks: Vec<Remark>,
}
