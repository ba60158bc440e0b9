//! The user's own file with the entries of external providers: all else of it stays as it is.

use crate::document::{self, Node, Origin};
use crate::facts::Facts;
use crate::problem::{FieldPath, Findings, Problem, Reason};
use crate::releases::detect;
use crate::substitution;
use crate::wiring::ExternalInstall;
use llsd_api::v1alpha2::LlamaStackDistributionSpec;

use super::draft::Draft;
use super::environment::Bound;
use super::{environment, external_providers, set_variables, switched_off};

/// A file of the user's own with external providers, and what the pod needs for them.
#[derive(Clone, Debug)]
pub struct Merged {
    /// In which every node knows its origin.
    pub document: Node,
    pub text: String,
    /// The secret references of external providers, each with its variable.
    pub secrets: Vec<Bound>,
    /// Whether the server turns a variable that looks like a number into one.
    pub coerces_variables: bool,
    pub external: Vec<ExternalInstall>,
}

/// What merging came to, and everything that was found on the way.
#[derive(Clone, Debug, Default)]
pub struct Merging {
    pub merged: Option<Merged>,
    pub findings: Findings,
    /// What only a cluster or a registry knows.
    pub unavailable: Vec<Problem>,
}

/// Merges external providers into the text of the user's own file.
pub fn merge(
    spec: &LlamaStackDistributionSpec,
    facts: &Facts,
    text: &str,
    release: Option<&str>,
) -> Merging {
    let mut findings = Findings::default();
    let refuse = |mut findings: Findings, why: String| {
        findings.problem(
            &FieldPath::spec().key("overrideConfig"),
            Reason::UnsupportedBase,
            format!("external providers cannot be added to the file: {why}"),
            "correct the file, or remove externalProviders",
        );
        Merging { findings, ..Merging::default() }
    };
    let value = match document::read(text) {
        Ok(value) => value,
        Err(wrong) => return refuse(findings, format!("{}: {}", wrong.at, wrong.message)),
    };
    let Ok(era) = detect(facts.operator.releases, &value, release) else {
        return refuse(findings, "it has the layout of no known release".to_owned());
    };
    if let Some(wrong) = super::base::misshapen(&value) {
        return refuse(findings, wrong);
    }
    let mut draft = Draft {
        spec,
        facts,
        era,
        document: Node::from_value(value, &Origin::Base),
        users: [].into(),
        disabled: switched_off::SwitchedOff::new(spec, &era),
        variables: set_variables(spec, facts),
        environment: environment::Environment::default(),
        plain_variables: Vec::new(),
        redis: None,
        external: Vec::new(),
        database: None,
        findings: std::mem::take(&mut findings),
        unavailable: Vec::new(),
    };
    external_providers::apply(&mut draft);
    let mut used = std::collections::BTreeSet::new();
    substitution::variables_of(&draft.document, &mut used);
    let merged = Merged {
        text: document::text(&draft.document),
        document: draft.document,
        secrets: draft.environment.used(|name| used.contains(name)),
        coerces_variables: draft.era.layout.coerces_variables,
        external: draft.external,
    };
    Merging { merged: Some(merged), findings: draft.findings, unavailable: draft.unavailable }
}
