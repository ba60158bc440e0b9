//! The resources that a file holds, and remarks on the parts of it that hold none.

use llsd_api::GROUP;
use llsd_api::conversion::Version;
use llsd_plan::problems::{FieldPath, Reason};
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
    /// The namespace that it gets where the file names none.
    pub(crate) placed_in: Option<String>,
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
        if let (Some(namespace), Some(metadata)) =
            (&self.placed_in, json.get_mut("metadata").and_then(Value::as_object_mut))
        {
            metadata.insert("namespace".to_owned(), Value::from(namespace.as_str()));
        }
        json
    }

    /// Puts it into a namespace; one that names another is refused, as by kubectl.
    pub(crate) fn place_in(&mut self, namespace: &str) {
        let own = self.summary.namespace.as_deref().filter(|own| !own.is_empty());
        match own {
            None => {
                self.summary.namespace = Some(namespace.to_owned());
                self.placed_in = Some(namespace.to_owned());
            }
            Some(own) if own != namespace => {
                let path = FieldPath::root().key("metadata").key("namespace");
                let message =
                    format!("{own:?} is not the namespace that was asked for, {namespace:?}");
                let remedy = format!("pass -n {own}, or remove it from the file");
                let at = self.tree.position(&path);
                let finding = Finding::new(path, Reason::Conflict, message, remedy, at);
                self.summary.problems.push(finding);
            }
            Some(_) => {}
        }
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
    /// A file of a folder that is no text of Kubernetes objects, and has nothing to do with us.
    pub(crate) is_passed_over: bool,
}
