//! What the engine is given: texts with resources, and what is known of the world around them.

use llsd_plan::facts::Facts;
use llsd_yaml::{Fault, decode};

use crate::examined::Examined;
use crate::pick::contents;
use crate::report::Report;
use crate::resource::{Remark, Resource};

/// A file's name as the user wrote it, and its text unless that cannot be read as text.
#[derive(Clone, Debug)]
pub struct Source {
    pub name: String,
    pub text: Result<String, Fault>,
}

impl Source {
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { name: name.into(), text: decode(bytes) }
    }
}

/// All that was read.
#[derive(Debug, Default)]
pub struct Input {
    /// The files in the order in which findings about them are printed.
    pub files: Vec<String>,
    pub resources: Vec<Resource>,
    /// On texts that are no resource, the files of the facts among them.
    pub remarks: Vec<Remark>,
    /// Nothing where a file of the facts cannot be used; the remarks then say why.
    pub facts: Option<Facts>,
}

impl Input {
    /// Takes in what a file of resources holds.
    pub fn add(&mut self, source: &Source) {
        let contents = contents(&source.name, &source.text);
        self.files.push(source.name.clone());
        self.resources.extend(contents.resources);
        self.remarks.extend(contents.remarks);
    }

    /// The resources, each checked and planned as far as the facts go.
    pub fn examine(&mut self) -> Vec<Examined> {
        let resources = std::mem::take(&mut self.resources);
        let facts = self.facts.as_ref();
        resources.into_iter().map(|resource| Examined::new(resource, facts)).collect()
    }

    /// Whether something is wrong with what was read, or with a resource.
    pub fn is_refused(&self, examined: &[Examined]) -> bool {
        self.remarks.iter().any(|remark| !remark.problems.is_empty())
            || examined.iter().any(|examined| !examined.resource.summary.problems.is_empty())
    }

    /// Everything that was found, ready to be printed; what is missing counts as a problem.
    pub fn report(&self, examined: &[Examined]) -> Report {
        Report {
            files: self.files.clone(),
            resources: examined.iter().map(Examined::summary).collect(),
            remarks: self.remarks.clone(),
        }
    }
}
