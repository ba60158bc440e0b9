//! The configuration in the making: what the steps of generation read and change.

use std::collections::BTreeSet;
use std::mem;
use std::rc::Rc;

use llsd_api::one_or_many::OneOrMany;
use llsd_api::provider_id::short_name;
use llsd_api::v1alpha2::{LlamaStackDistributionSpec, ProviderEntry, ProvidersSpec};
use serde_json::Value;

use super::environment::{Bound, Environment};
use super::switched_off::SwitchedOff;
use crate::config::wiring::{ExternalInstall, RedisSidecar, Variable};
use crate::facts::Facts;
use crate::problems::{FieldPath, Findings, Problem};
use crate::releases::api_name;
use crate::releases::{ProviderType, ServerProfile};
use crate::server::substitution::{self, EffectiveId, Variables};
use crate::values::connection::Form;
use llsd_yaml::document::{Node, Origin};

pub(super) struct Draft<'a> {
    pub(super) spec: &'a LlamaStackDistributionSpec,
    pub(super) facts: &'a Facts,
    pub(super) profile: ServerProfile,
    pub(super) document: Node,
    pub(super) disabled: SwitchedOff,
    /// Listed once, because most steps ask for them, some for every model.
    pub(super) users: Rc<[UserProvider<'a>]>,
    /// Providers of the base that the resource takes away.
    pub(super) removed: Vec<RemovedProvider>,
    pub(super) variables: Variables,
    pub(super) environment: Environment,
    /// Variables with a value of their own, such as those of OpenTelemetry.
    pub(super) plain_variables: Vec<Variable>,
    pub(super) redis: Option<RedisSidecar>,
    /// Packages that are installed in the pod.
    pub(super) external: Vec<ExternalInstall>,
    /// How the document refers to the resource's connection string, where it does.
    pub(super) database: Option<Form>,
    pub(super) findings: Findings,
    /// What planning must know and no fact says.
    pub(super) unavailable: Vec<Problem>,
}

/// One provider of the resource, in the terms of config.yaml.
#[derive(Clone, Debug)]
pub(super) struct UserProvider<'a> {
    pub(super) api: String,
    pub(super) id: String,
    /// Its type as the resource writes it.
    pub(super) provider: &'a str,
    pub(super) entry: &'a ProviderEntry,
    pub(super) path: FieldPath,
}

/// A provider of the base that the resource takes away.
#[derive(Clone, Debug)]
pub(super) struct RemovedProvider {
    pub(super) api: String,
    pub(super) id: String,
    pub(super) path: FieldPath,
    /// Whether the server would have had it, as far as variables decide that.
    pub(super) was_active: bool,
}

impl<'a> UserProvider<'a> {
    /// The resource's providers, and those that it takes away, of APIs that are not switched off. Entries
    /// that could not be read are validation's to report.
    pub(super) fn all(
        spec: &'a LlamaStackDistributionSpec,
        profile: &ServerProfile,
        disabled: &SwitchedOff,
    ) -> (Rc<[Self]>, Vec<RemovedProvider>) {
        let (mut found, mut removed) = (Vec::new(), Vec::new());
        for (field, entries) in spec.providers.iter().flat_map(ProvidersSpec::by_api) {
            let Some(entries) = entries else { continue };
            let api = api_name::in_config(profile, field);
            if disabled.directly(&api) {
                continue;
            }
            let path = FieldPath::spec().key("providers").key(field);
            let list = matches!(entries, OneOrMany::Many(_));
            for (index, entry) in entries.entries().iter().enumerate() {
                let Some(entry) = entry.understood() else { continue };
                let (api, id) = (api.clone(), entry.id.as_ref().map(|id| id.as_str().to_owned()));
                let path = if list { path.index(index) } else { path.clone() };
                match (&entry.provider, id) {
                    (None, Some(id)) if entry.is_removal() => {
                        removed.push(RemovedProvider { api, id, path, was_active: false });
                    }
                    (Some(provider), id) if !entry.is_removal() => {
                        let id = id.unwrap_or_else(|| short_name(provider).to_owned());
                        found.push(UserProvider { api, id, provider, entry, path });
                    }
                    _ => {}
                }
            }
        }
        (found.into(), removed)
    }

    /// What `settings` and `config` say, each by its keys.
    pub(super) fn settings(&self) -> Vec<(FieldPath, &'a str, &'a Value)> {
        let ProviderEntry { settings, config, .. } = self.entry;
        let mut all = Vec::new();
        for (field, given) in [("settings", settings), ("config", config)] {
            let mut given: Vec<(&String, &Value)> = given.iter().flatten().collect();
            given.sort_by_key(|(key, _)| *key);
            let path = self.path.key(field);
            all.extend(given.into_iter().map(|(key, value)| (path.key(key), key.as_str(), value)));
        }
        all
    }
}

impl<'a> Draft<'a> {
    /// The document as it is found, before the first step.
    pub(super) fn new(
        spec: &'a LlamaStackDistributionSpec,
        facts: &'a Facts,
        profile: ServerProfile,
        document: Node,
    ) -> Self {
        let disabled = SwitchedOff::new(spec, &profile);
        let (users, removed) = UserProvider::all(spec, &profile, &disabled);
        let workload = spec.workload.as_ref();
        let overrides = workload.and_then(|workload| workload.overrides.as_ref());
        Self {
            spec,
            facts,
            profile,
            document,
            users,
            removed,
            disabled,
            variables: facts.variables(overrides),
            environment: Environment::default(),
            plain_variables: Vec::new(),
            redis: None,
            external: Vec::new(),
            database: None,
            findings: Findings::default(),
            unavailable: Vec::new(),
        }
    }

    /// The secret references that the document makes use of, each with its variable.
    pub(super) fn secrets(&mut self) -> Vec<Bound> {
        let mut used = BTreeSet::new();
        substitution::variables_of(&self.document, &mut used);
        mem::take(&mut self.environment).used(|name| used.contains(name))
    }

    /// The resource's providers of APIs that are not switched off.
    pub(super) fn user_providers(&self) -> Rc<[UserProvider<'a>]> {
        Rc::clone(&self.users)
    }

    /// The entries that the document has for an API.
    pub(super) fn providers(&self, api: &str) -> &[Node] {
        self.document.at(&["providers", api]).map(Node::items).unwrap_or_default()
    }

    /// The entry that the document has for a provider, by the id that it has when the server runs.
    pub(super) fn provider(&self, api: &str, id: &str) -> Option<&Node> {
        self.providers(api).iter().find(|entry| has_id(entry, id))
    }

    /// What the catalogue knows of the type of an API's entry.
    pub(super) fn known_type(&self, api: &str, entry: &Node) -> Option<ProviderType> {
        self.profile.catalogue.get(api, entry.get_str("provider_type")?)
    }

    /// The APIs that have entries.
    pub(super) fn provider_apis(&self) -> Vec<String> {
        let providers = self.document.get("providers").map(Node::fields).unwrap_or_default();
        providers.iter().map(|(api, _)| api.clone()).collect()
    }

    /// The list of resources of a kind, at the place that the layout has for it.
    pub(super) fn registered(&mut self, kind: &str) -> &mut Vec<Node> {
        let origin = Origin::Rule("resources are registered here");
        if self.profile.layout.has_storage_section {
            self.document.entry_map("registered_resources", &origin).entry_list(kind, &origin)
        } else {
            self.document.entry_list(kind, &origin)
        }
    }

    /// The resources of a kind that the document has, without making the list.
    pub(super) fn registered_now(&self, kind: &str) -> &[Node] {
        let list = if self.profile.layout.has_storage_section {
            self.document.at(&["registered_resources", kind])
        } else {
            self.document.get(kind)
        };
        list.map(Node::items).unwrap_or_default()
    }
}

/// The id of a provider's entry, as it will be when the server runs.
pub(super) fn entry_id(entry: &Node) -> Option<EffectiveId> {
    EffectiveId::parse(entry.get_str("provider_id")?, entry.get_str("provider_type").unwrap_or(""))
}

/// Whether a provider's entry has this id when the server runs.
pub(super) fn has_id(entry: &Node, id: &str) -> bool {
    entry_id(entry).is_some_and(|own| own.id == id)
}

/// `a`, `b` and `c` as a list for a message, or `none`.
pub(super) fn listed(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}
