//! `spec.disabled`: switches APIs off, with everything that cannot do without them. Half a removal
//! would stop the server at its start.

use std::collections::BTreeSet;

use super::draft::{Draft, entry_id};
use super::registered::KINDS;
use super::switched_off::Fallen;
use crate::problems::{FieldPath, Findings, Reason};
use crate::releases::api_name;
use llsd_yaml::document::{Content, Node, Origin};

pub(super) fn apply(draft: &mut Draft<'_>) {
    if draft.disabled.direct.is_empty() {
        return;
    }
    always_served(draft);
    cascade(draft);
    let gone: BTreeSet<String> = draft.disabled.gone.keys().cloned().collect();
    if let Some(apis) = draft.document.get_mut("apis") {
        apis.list_items().retain(|api| !api.as_str().is_some_and(|api| gone.contains(api)));
    }
    if let Some(providers) = draft.document.get_mut("providers")
        && let Content::Map(entries) = &mut providers.content
    {
        entries.retain(|(api, _)| !gone.contains(api));
    }
    let connectors = ("connectors", "tool_runtime");
    for (list, api) in KINDS.iter().map(|kind| (kind.list, kind.api)).chain([connectors]) {
        if gone.contains(api) {
            draft.document.remove(list);
            if let Some(resources) = draft.document.get_mut("registered_resources") {
                resources.remove(list);
            }
        }
    }
    for (api, section) in [("vector_io", "vector_stores"), ("safety", "safety")] {
        if gone.contains(api) {
            draft.document.remove(section);
        }
    }
    if gone.contains("telemetry")
        && let Some(telemetry) = draft.document.get_mut("telemetry")
    {
        let origin = Origin::Rule("telemetry is disabled");
        telemetry.set("enabled", Node::scalar(false, origin));
    }
}

/// APIs that no file can switch off, with the one whose end is also theirs.
const ALWAYS_SERVED: [(&str, Option<&str>); 12] = [
    ("models", Some("inference")),
    ("shields", Some("safety")),
    ("vector_stores", Some("vectorIo")),
    ("tool_groups", Some("toolRuntime")),
    ("datasets", Some("datasetio")),
    ("scoring_functions", Some("scoring")),
    ("benchmarks", Some("eval")),
    ("prompts", None),
    ("connectors", None),
    ("admin", None),
    ("inspect", None),
    ("providers", None),
];

fn always_served(draft: &mut Draft<'_>) {
    for (index, name) in draft.spec.disabled.iter().flatten().enumerate() {
        let api = api_name::in_config(&draft.profile, name);
        let Some((_, with)) = ALWAYS_SERVED.iter().find(|(served, _)| *served == api) else {
            continue;
        };
        draft.findings.warning(
            &FieldPath::spec().key("disabled").index(index),
            Reason::Ignored,
            format!("{name} has no providers and cannot be switched off by itself"),
            match with {
                Some(with) => format!("disable {with}"),
                None => "remove it".to_owned(),
            },
        );
    }
}

/// Removes providers that need what is gone, until nothing more falls.
fn cascade(draft: &mut Draft<'_>) {
    let users = draft.user_providers();
    loop {
        let mut fallen = None;
        'search: for api in draft.provider_apis() {
            if draft.disabled.cause(&api).is_some() {
                continue;
            }
            for (index, entry) in draft.providers(&api).iter().enumerate() {
                if let Some((needed, cause)) = missing_need(draft, &api, entry) {
                    fallen = Some((api.clone(), index, needed, cause));
                    break 'search;
                }
            }
        }
        let Some((api, index, needed, cause)) = fallen else { return };
        let entry = &draft.providers(&api)[index];
        let id = entry_id(entry).map(|id| id.id).unwrap_or_default();
        let fallen = Fallen {
            api: api.clone(),
            id: id.clone(),
            provider_type: entry.get_str("provider_type").unwrap_or_default().to_owned(),
            cause: cause.clone(),
        };
        draft.disabled.fallen.push(fallen);
        if let Some(user) = users.iter().find(|user| user.api == api && user.id == id) {
            warn(&mut draft.findings, &user.path, &api, &needed, &cause);
        }
        let empty = {
            let origin = Origin::Base;
            let entries = draft.document.entry_map("providers", &origin).entry_list(&api, &origin);
            entries.remove(index);
            entries.is_empty()
        };
        if empty {
            draft.disabled.gone.insert(api, cause);
        }
    }
}

fn missing_need(draft: &Draft<'_>, api: &str, entry: &Node) -> Option<(String, String)> {
    let known = draft.known_type(api, entry)?;
    // APIs without providers are always served, whatever the file says.
    let mut providable = known.needs().filter(|needed| draft.profile.catalogue.has_api(needed));
    providable.find_map(|needed| {
        draft.disabled.cause(needed).map(|cause| (needed.to_owned(), cause.to_owned()))
    })
}

fn warn(findings: &mut Findings, path: &FieldPath, api: &str, needed: &str, cause: &str) {
    let because = if needed == cause {
        format!("{needed}, which is disabled")
    } else {
        format!("{needed}, which falls with {cause}")
    };
    findings.warning(
        path,
        Reason::DisabledProviderIgnored,
        format!("is left out: this {api} provider needs {because}"),
        format!("remove {cause} from disabled, or remove this provider"),
    );
}
