//! The rules of `spec.providers`: ids, and fields that exclude each other.

use std::collections::BTreeMap;

use llsd_api::provider_id::short_name;
use llsd_api::rules;
use llsd_api::v1alpha2::PROVIDER_APIS;
use serde_json::Value;

use super::value::{against, present};
use crate::problems::{FieldPath, Findings, Reason};

/// One provider of the resource, wherever it stands.
pub(super) struct ProviderEntry<'a> {
    pub(super) api: &'static str,
    pub(super) path: FieldPath,
    /// Whether its API has several.
    several: bool,
    pub(super) value: &'a Value,
}

impl ProviderEntry<'_> {
    pub(super) fn provider(&self) -> Option<&str> {
        self.value["provider"].as_str()
    }

    /// Whether it takes a provider of the base away.
    fn is_removal(&self) -> bool {
        is_removal(self.value)
    }

    fn id(&self) -> Option<&str> {
        match present(self.value, "id") {
            Some(id) => id.as_str(),
            None => self.provider().map(short_name),
        }
    }
}

pub(super) fn check(spec: &Value, findings: &mut Findings) {
    let Some(providers @ Value::Object(_)) = present(spec, "providers") else {
        return;
    };
    let path = FieldPath::spec().key("providers");
    if present(providers, "agents").is_some() && present(providers, "responses").is_some() {
        against(rules::AGENTS_OR_RESPONSES, &path.key("responses"), Reason::Conflict, findings);
    }
    let entries = entries(spec);
    for entry in &entries {
        check_entry(entry, findings);
    }
    unique_ids(&entries, findings);
    disabled(spec, &entries, findings);
}

/// All providers of the resource.
pub(super) fn entries(spec: &Value) -> Vec<ProviderEntry<'_>> {
    let mut entries = Vec::new();
    let Some(providers @ Value::Object(_)) = present(spec, "providers") else { return entries };
    let path = FieldPath::spec().key("providers");
    for api in PROVIDER_APIS {
        let path = path.key(api);
        match present(providers, api) {
            Some(value @ Value::Object(_)) => {
                entries.push(ProviderEntry { api, path, several: false, value });
            }
            Some(Value::Array(items)) => {
                let several = items.iter().filter(|item| !is_removal(item)).count() > 1;
                for (index, value) in items.iter().enumerate().filter(|(_, item)| item.is_object())
                {
                    entries.push(ProviderEntry { api, path: path.index(index), several, value });
                }
            }
            _ => {}
        }
    }
    entries
}

fn is_removal(entry: &Value) -> bool {
    entry["enabled"] == false
}

fn check_entry(entry: &ProviderEntry<'_>, findings: &mut Findings) {
    if entry.is_removal() {
        return check_removal(entry, findings);
    }
    let has = |field: &str| present(entry.value, field).is_some();
    if !has("provider") {
        let path = entry.path.key("provider");
        against(rules::PROVIDER_REQUIRED, &path, Reason::Required, findings);
    }
    if entry.several && !has("id") {
        against(rules::IDS_REQUIRED, &entry.path.key("id"), Reason::Required, findings);
    }
    if has("deploymentName")
        && entry.provider().is_some_and(|provider| short_name(provider) != "azure")
    {
        against(
            rules::DEPLOYMENT_NAME_IS_FOR_AZURE,
            &entry.path.key("deploymentName"),
            Reason::Conflict,
            findings,
        );
    }
    if has("apiKey")
        && present(entry.value, "secretRefs").is_some_and(|refs| present(refs, "api_key").is_some())
    {
        let path = entry.path.key("secretRefs").key("api_key");
        against(rules::ONE_API_KEY, &path, Reason::Conflict, findings);
    }
    if has("settings") && has("config") {
        against(rules::SETTINGS_OR_CONFIG, &entry.path.key("config"), Reason::Conflict, findings);
    }
}

/// The id tells which provider of the base goes; nothing else would have an effect.
fn check_removal(entry: &ProviderEntry<'_>, findings: &mut Findings) {
    let fields = entry.value.as_object().into_iter().flatten();
    let mut others = fields
        .filter(|(field, value)| !matches!(field.as_str(), "id" | "enabled") && !value.is_null());
    if let Some((field, _)) = others.next() {
        against(rules::REMOVAL_ALONE, &entry.path.key(field), Reason::Conflict, findings);
    } else if present(entry.value, "id").is_none() {
        against(rules::REMOVAL_ALONE, &entry.path.key("id"), Reason::Required, findings);
    }
}

/// How many users of one id a message lists; each of them gets the message.
const LISTED: usize = 10;

/// An id that was left out where it is required is that problem alone, not a duplicate too.
fn unique_ids(entries: &[ProviderEntry<'_>], findings: &mut Findings) {
    let mut named: BTreeMap<&str, Vec<&ProviderEntry<'_>>> = BTreeMap::new();
    // Providers of several APIs of a base may share an id, so removals are told apart by their API, too.
    let mut of_api: BTreeMap<(&str, &str), Vec<&ProviderEntry<'_>>> = BTreeMap::new();
    for entry in entries {
        if (!entry.several || present(entry.value, "id").is_some())
            && let Some(id) = entry.id()
        {
            of_api.entry((entry.api, id)).or_default().push(entry);
            if !entry.is_removal() {
                named.entry(id).or_default().push(entry);
            }
        }
    }
    let removed = |users: &&Vec<&ProviderEntry<'_>>| users.iter().any(|user| user.is_removal());
    for users in of_api.values().filter(removed) {
        for entry in &users[1..] {
            let path = entry.path.key("id");
            against(rules::REMOVED_OR_CONFIGURED, &path, Reason::Duplicate, findings);
        }
    }
    for (id, users) in named.iter().filter(|(_, users)| users.len() > 1) {
        let mut listed: Vec<String> =
            users.iter().take(LISTED).map(|user| format!("{}/{id}", user.api)).collect();
        if users.len() > LISTED {
            listed.push(format!("and {} more", users.len() - LISTED));
        }
        let message = format!("{}: {}", rules::IDS_UNIQUE.message, listed.join(", "));
        for entry in &users[1..] {
            let path = entry.path.key("id");
            findings.problem(&path, Reason::Duplicate, message.clone(), rules::IDS_UNIQUE.remedy);
        }
    }
}

/// `disabled` wins over a provider of the same API.
fn disabled(spec: &Value, entries: &[ProviderEntry<'_>], findings: &mut Findings) {
    let disabled: Vec<String> = spec["disabled"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(Value::as_str)
        .map(canonical_api)
        .collect();
    for api in PROVIDER_APIS {
        if disabled.contains(&canonical_api(api)) && entries.iter().any(|entry| entry.api == api) {
            findings.warning(
                &FieldPath::spec().key("providers").key(api),
                Reason::DisabledProviderIgnored,
                format!("{api} is disabled, so its providers are ignored"),
                format!("remove {api} from disabled, or remove its providers"),
            );
        }
    }
}

/// One spelling for an API, however it was written: `vectorIo` and `vector_io` are the same, and
/// so are `agents` and `responses`.
pub(super) fn canonical_api(name: &str) -> String {
    let plain: String = name.chars().filter(|c| *c != '_').flat_map(char::to_lowercase).collect();
    if plain == "agents" { "responses".into() } else { plain }
}
