//! What a provider cannot do without, and what it has no place for.

use std::collections::BTreeSet;

use llsd_api::provider_id::short_name;

use super::configuration::Builder;
use crate::config::storage::companion;
use crate::problems::suggest::did_you_mean;
use crate::problems::{FieldPath, Reason};
use crate::releases::ProviderType;
use crate::server::substitution::{ReferenceForm, VariableReference, VariableState, whole};
use llsd_yaml::document::{Node, Origin};

/// What is missing in a field that the provider requires.
enum Lack {
    Nothing,
    Certain,
    /// It is empty unless the cluster sets this variable.
    Unknown(String),
}

impl Builder<'_, '_> {
    /// Fields that the release cannot do without and that nobody has given.
    pub(super) fn fill(&mut self) {
        let Some(known) = self.resolved.known else { return };
        let own = Some(self.provider.id.as_str());
        let own = own.filter(|id| *id != short_name(&self.resolved.name));
        for (field, value) in known.fill() {
            if self.config.get(field).is_none_or(Node::is_null) {
                let value = companion(self.draft, value, own);
                let origin = Origin::Rule("the provider needs it");
                self.config.set(field, Node::from_value(value, &origin));
            }
        }
    }

    /// What is still missing, or is empty where nothing sets its variable.
    pub(super) fn required(&mut self) {
        let Some(known) = self.resolved.known else { return };
        let endpoint = self.field_for(ProviderType::endpoint, &[]);
        let needed = endpoint.clone().filter(|_| known.needs_endpoint());
        let fields: BTreeSet<String> = known.required().map(str::to_owned).chain(needed).collect();
        for field in fields {
            let lack = self.lack(&field);
            if matches!(lack, Lack::Nothing) {
                continue;
            }
            let (path, remedy) = if endpoint.as_ref() == Some(&field) {
                (self.provider.path.key("endpoint"), "set endpoint".to_owned())
            } else if known.key() == Some(&field) {
                (self.provider.path.key("apiKey"), "set apiKey".to_owned())
            } else {
                let remedy = format!("set settings.{field}, or secretRefs.{field} for a secret");
                (self.provider.path.key("settings").key(&field), remedy)
            };
            let message = format!("`{}` does not start without `{field}`", self.resolved.name);
            let findings = &mut self.draft.findings;
            match lack {
                Lack::Unknown(variable) => findings.warning(
                    &path,
                    Reason::Required,
                    format!("{message}, and whether {variable} is set is not known here"),
                    format!("{remedy}, or make sure that envFrom sets {variable}"),
                ),
                Lack::Certain | Lack::Nothing => {
                    findings.problem(&path, Reason::Required, message, remedy);
                }
            }
        }
    }

    fn lack(&self, field: &str) -> Lack {
        let Some(node) = self.config.get(field) else { return Lack::Certain };
        let (variable, form) = match node.as_str().map(whole) {
            Some(Some(VariableReference {
                variable,
                form: form @ (ReferenceForm::Default("") | ReferenceForm::Required),
            })) => (variable, form),
            _ if node.is_null() || node.as_str() == Some("") => return Lack::Certain,
            _ => return Lack::Nothing,
        };
        match (self.draft.variables.state(variable), form) {
            _ if variable.starts_with("LLSD_") => Lack::Nothing,
            (VariableState::Unset, _) => Lack::Certain,
            // Without a default, who wrote the reference says that the variable is set.
            (VariableState::Set, _) | (_, ReferenceForm::Required) => Lack::Nothing,
            (VariableState::Unknown, _) => Lack::Unknown(variable.to_owned()),
        }
    }

    pub(super) fn no_place(&mut self, path: &FieldPath, what: &str) {
        let message =
            format!("`{}` of {} takes no {what}", self.resolved.name, self.draft.profile.name());
        let remedy = match self.resolved.known {
            Some(known) if known.fields().next().is_some() => {
                let fields: Vec<&str> = known.fields().collect();
                format!("remove it; settings of this provider are {}", fields.join(", "))
            }
            _ => "remove it".to_owned(),
        };
        self.draft.findings.problem(path, Reason::Invalid, message, remedy);
    }

    pub(super) fn unknown_field(&mut self, path: &FieldPath, name: &str) {
        let known = self.resolved.known.into_iter().flat_map(ProviderType::fields);
        let remedy = did_you_mean(name, known, "remove it");
        let message = format!(
            "`{}` of {} has no field `{name}`",
            self.resolved.name,
            self.draft.profile.name()
        );
        self.draft.findings.problem(path, Reason::UnknownField, message, remedy);
    }
}
