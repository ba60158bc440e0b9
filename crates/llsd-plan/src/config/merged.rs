//! The user's own file with the entries of external providers: all else of it stays as it is.

use crate::config::wiring::ExternalInstall;
use crate::facts::Facts;
use crate::problems::{FieldPath, Problem, Reason};
use crate::releases::ConfigDocument;
use llsd_api::v1alpha2::LlamaStackDistributionSpec;
use llsd_yaml::document::{self, Node};

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

/// Merges external providers into the user's own file.
pub fn merge(
    spec: &LlamaStackDistributionSpec,
    facts: &Facts,
    document: ConfigDocument<'_>,
) -> Drafted<Merged> {
    let refuse = |why: String| {
        Drafted::refused(Problem {
            path: FieldPath::spec().key("overrideConfig"),
            reason: Reason::UnsupportedBase,
            message: format!("external providers cannot be added to the file: {why}"),
            remedy: "correct the file, or remove externalProviders".to_owned(),
        })
    };
    let opened = match document.open() {
        Ok(opened) => opened,
        Err(wrong) => return refuse(format!("{}: {}", wrong.at, wrong.message)),
    };
    let Ok(profile) = opened.profile else {
        return refuse("it has the layout of no known release".to_owned());
    };
    if let Some(wrong) = super::base::misshapen(&opened.value) {
        return refuse(wrong);
    }
    let mut draft = Draft::new(spec, facts, profile, opened.into_node());
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
