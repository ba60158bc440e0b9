//! The user's own file with the entries of external providers: all else of it stays as it is.

use crate::config::wiring::ExternalInstall;
use crate::facts::Facts;
use crate::problems::{FieldPath, Findings, Reason};
use crate::releases::detect;
use llsd_api::v1alpha2::LlamaStackDistributionSpec;
use llsd_yaml::document::{self, Node, Origin};

use super::draft::Draft;
use super::environment::Bound;
use super::{Drafted, external_providers};

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

/// Merges external providers into the text of the user's own file.
pub fn merge(
    spec: &LlamaStackDistributionSpec,
    facts: &Facts,
    text: &str,
    release: Option<&str>,
) -> Drafted<Merged> {
    let refuse = |why: String| {
        let mut findings = Findings::default();
        findings.problem(
            &FieldPath::spec().key("overrideConfig"),
            Reason::UnsupportedBase,
            format!("external providers cannot be added to the file: {why}"),
            "correct the file, or remove externalProviders",
        );
        Drafted::refused(findings)
    };
    let value = match document::read(text) {
        Ok(value) => value,
        Err(wrong) => return refuse(format!("{}: {}", wrong.at, wrong.message)),
    };
    let Ok(profile) = detect(facts.operator.releases, &value, release) else {
        return refuse("it has the layout of no known release".to_owned());
    };
    if let Some(wrong) = super::base::misshapen(&value) {
        return refuse(wrong);
    }
    let document = Node::from_value(value, &Origin::Base);
    let mut draft = Draft::new(spec, facts, profile, document, Findings::default());
    external_providers::apply(&mut draft);
    let merged = Merged {
        text: document::text(&draft.document),
        secrets: draft.secrets(),
        document: draft.document,
        coerces_variables: draft.profile.layout.coerces_variables,
        external: draft.external,
    };
    Drafted { file: Some(merged), findings: draft.findings, unavailable: draft.unavailable }
}
