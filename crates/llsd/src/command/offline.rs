//! What `render` and `explain` share: every resource of the input planned, or the reason why not.
//! One that cannot be planned stops them all, because half an output could be taken for the whole.

use llsd_plan::facts::Facts;
use llsd_plan::problem::{FieldPath, Problem, Reason};

use super::configuration::{Configuration, configuration};
use super::examine::{Examined, Planned, report};
use super::inputs::Given;
use super::{Exit, Printout};

/// Resources that are all planned.
#[derive(Debug)]
pub(super) struct Offline {
    given: Given,
    facts: Facts,
    examined: Vec<Examined>,
}

impl Offline {
    pub(super) fn new(mut given: Given) -> Result<Self, Printout> {
        let facts = given.facts.take();
        let resources = std::mem::take(&mut given.resources);
        let examined: Vec<Examined> = resources
            .into_iter()
            .map(|resource| named(Examined::new(resource, facts.as_ref())))
            .collect();
        let wrong = given.remarks.iter().any(|remark| !remark.problems.is_empty())
            || examined.iter().any(|examined| !examined.problems.is_empty());
        let unplanned = examined.iter().any(|examined| examined.planned.is_none());
        match facts {
            Some(facts) if !wrong && !unplanned => Ok(Self { given, facts, examined }),
            _ => {
                let exit = if wrong { Exit::Problems } else { Exit::Unavailable };
                let stderr = report(&given, &examined).findings();
                Err(Printout { stdout: String::new(), stderr, exit })
            }
        }
    }

    pub(super) fn planned(&self) -> impl Iterator<Item = (&Examined, &Planned)> {
        self.examined.iter().filter_map(|examined| Some((examined, examined.planned.as_ref()?)))
    }

    /// The config.yaml of each resource, or what is missing for it.
    pub(super) fn configurations(&self) -> Vec<Result<Configuration<'_>, Problem>> {
        self.planned().map(|(_, planned)| configuration(planned, &self.facts)).collect()
    }

    /// The command did what it was asked for; warnings go beside it.
    pub(super) fn fine(&self, stdout: String) -> Printout {
        let stderr = report(&self.given, &self.examined).findings();
        Printout { stdout, stderr, exit: Exit::Fine }
    }

    /// As [`Self::fine`], unless a configuration that was asked for is missing.
    pub(super) fn unless_missing(
        &self,
        configurations: &[Result<Configuration<'_>, Problem>],
        stdout: impl FnOnce() -> String,
    ) -> Printout {
        if configurations.iter().all(Result::is_ok) {
            return self.fine(stdout());
        }
        let mut examined = self.examined.clone();
        for (examined, configuration) in examined.iter_mut().zip(configurations) {
            if let Err(missing) = configuration {
                examined.miss(missing.clone());
            }
        }
        let stderr = report(&self.given, &examined).findings();
        Printout { stdout: String::new(), stderr, exit: Exit::Unavailable }
    }
}

/// Admission sees resources before they are named; what is applied must be called something.
fn named(mut examined: Examined) -> Examined {
    if examined.resource.name.is_none() && examined.problems.is_empty() {
        examined.refuse(Problem {
            path: FieldPath::root().key("metadata").key("name"),
            reason: Reason::Required,
            message: "the objects are named after the resource, and it has no name".to_owned(),
            remedy: "give the resource a name".to_owned(),
        });
    }
    examined
}
