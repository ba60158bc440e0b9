//! Every resource of the input planned, or the reason why not. One that cannot be planned stops them
//! all, because half an output could be taken for the whole.

use llsd_plan::facts::Facts;
use llsd_plan::problems::{FieldPath, Problem, Reason};

use crate::configuration::{Configuration, configuration};
use crate::examined::{Examined, Planned};
use crate::input::Input;
use crate::report::Report;

/// Resources that are all planned.
#[derive(Debug)]
pub struct Plans {
    input: Input,
    facts: Facts,
    examined: Vec<Examined>,
}

/// Why there are no plans.
#[derive(Debug)]
pub struct Refused {
    pub report: Report,
    /// Nothing is wrong, but something that only a cluster or a registry has is missing.
    pub unavailable: bool,
}

impl Plans {
    pub fn new(mut input: Input) -> Result<Self, Refused> {
        let examined: Vec<Examined> = input.examine().into_iter().map(with_a_name).collect();
        let wrong = input.is_refused(&examined);
        let unplanned = examined.iter().any(|examined| examined.planned.is_none());
        match input.facts.take() {
            Some(facts) if !wrong && !unplanned => Ok(Self { input, facts, examined }),
            _ => Err(Refused { report: input.report(&examined), unavailable: !wrong }),
        }
    }

    pub fn all(&self) -> impl Iterator<Item = (&Examined, &Planned)> {
        self.examined.iter().filter_map(|examined| Some((examined, examined.planned.as_ref()?)))
    }

    /// The config.yaml of each resource, or what is missing for it.
    pub fn configurations(&self) -> Vec<Result<Configuration<'_>, Problem>> {
        self.all().map(|(_, planned)| configuration(planned, &self.facts)).collect()
    }

    /// The warnings, and the problem of every configuration that is missing.
    pub fn report(&self, configurations: &[Result<Configuration<'_>, Problem>]) -> Report {
        let mut examined = self.examined.clone();
        for (examined, configuration) in examined.iter_mut().zip(configurations) {
            if let Err(missing) = configuration {
                examined.miss(missing.clone());
            }
        }
        self.input.report(&examined)
    }
}

/// Admission sees resources before they are named; what is applied must be called something.
pub(crate) fn with_a_name(mut examined: Examined) -> Examined {
    let summary = &examined.resource.summary;
    if summary.name.is_none() && summary.problems.is_empty() {
        examined.refuse(Problem {
            path: FieldPath::root().key("metadata").key("name"),
            reason: Reason::Required,
            message: "the objects are named after the resource, and it has no name".to_owned(),
            remedy: "give the resource a name".to_owned(),
        });
    }
    examined
}
