//! What models, tools and shields have in common: which provider a resource belongs to, and where
//! its entry stands.

use llsd_api::v1alpha2::ExternalProvidersSpec;

use crate::config::draft::{Draft, entry_id, listed};
use crate::config::switched_off::Fallen;
use crate::problems::{FieldPath, Reason};
use crate::releases::api_name;
use crate::server::substitution::{EffectiveId, VariableState};
use llsd_yaml::document::{Node, Origin};

/// The provider of a resource, and why it is this one.
#[derive(Clone, Debug)]
pub(super) struct Assigned {
    pub(super) id: String,
    /// How an entry refers to it: by its id, or as the base writes the id of one that may not be there. Then the
    /// server leaves the entry out together with its provider.
    pub(super) written: String,
    pub(super) origin: Origin,
}

impl Assigned {
    /// One that is there whenever the server runs.
    pub(super) fn always(id: String, origin: Origin) -> Self {
        Self { written: id.clone(), id, origin }
    }
}

/// Whether the resource is left out because its API is switched off, which is then said.
pub(super) fn dropped(draft: &mut Draft<'_>, api: &str, path: &FieldPath, what: &str) -> bool {
    let Some(cause) = draft.disabled.cause(api).map(str::to_owned) else { return false };
    let because = if cause == api {
        format!("{api} is disabled")
    } else {
        format!("{api} falls with {cause}, which is disabled")
    };
    draft.findings.warning(
        path,
        Reason::Ignored,
        format!("this {what} is left out: {because}"),
        format!("remove {cause} from disabled, or remove this {what}"),
    );
    true
}

/// The server would keep the last one of a name, without a word.
pub(super) fn listed_twice(draft: &mut Draft<'_>, what: &str, name: &str, path: &FieldPath) {
    let message = format!("the {what} `{name}` is listed twice");
    draft.findings.problem(path, Reason::Duplicate, message, "remove one of the two");
}

/// The named provider of an API, or the default one: the first of the resource, else the first of
/// the base that no variable can switch off.
pub(super) fn assign(
    draft: &mut Draft<'_>,
    api: &str,
    named: Option<&str>,
    path: &FieldPath,
) -> Option<Assigned> {
    match named {
        Some(name) => find(draft, api, name, &path.key("provider")),
        None => first(draft, api, path),
    }
}

/// The provider with this id, or a problem that lists the ids there are.
pub(super) fn find(
    draft: &mut Draft<'_>,
    api: &str,
    name: &str,
    path: &FieldPath,
) -> Option<Assigned> {
    let found = draft.provider(api, name).and_then(|entry| {
        let written = entry.get_str("provider_id")?.to_owned();
        Some((entry_id(entry)?, written))
    });
    let origin = Origin::Field(path.clone());
    match found {
        Some((id, written)) => match draft.variables.presence(&id) {
            VariableState::Set => Some(Assigned::always(id.id, origin)),
            VariableState::Unknown => {
                unsure(draft, api, &id, path);
                Some(Assigned { id: id.id, written, origin })
            }
            VariableState::Unset => {
                let variable = id.condition.unwrap_or_default();
                draft.findings.problem(
                    path,
                    Reason::NotFound,
                    format!("the {api} provider `{name}` exists only where {variable} is set"),
                    format!("set {variable} in workload.overrides.env, or configure the provider"),
                );
                None
            }
        },
        None if falls(draft, api, name, path) => None,
        None => {
            let removed = draft.removed.iter().find(|gone| gone.api == api && gone.id == name);
            let why = removed.map(|gone| format!(": {} removes it", gone.path));
            let (why, ids) = (why.unwrap_or_default(), ids(draft, api));
            draft.findings.problem(
                path,
                Reason::NotFound,
                format!("there is no {api} provider `{name}`{why}"),
                format!("use one of: {}", listed(&ids)),
            );
            None
        }
    }
}

/// Says that only the cluster knows whether a provider is there.
pub(super) fn unsure(draft: &mut Draft<'_>, api: &str, id: &EffectiveId, path: &FieldPath) {
    let variable = id.condition.as_deref().unwrap_or_default();
    draft.findings.warning(
        path,
        Reason::NotFound,
        format!(
            "the {api} provider `{}` exists only where {variable} is set, and whether it is set is not known here",
            id.id
        ),
        format!("set {variable} in workload.overrides.env, or make sure that envFrom sets it"),
    );
}

/// Whether the provider that an entry names fell with a disabled API: then the entry is left out.
fn falls(draft: &mut Draft<'_>, api: &str, name: &str, path: &FieldPath) -> bool {
    let entry = path.parent().unwrap_or_else(|| path.clone());
    left_out(draft, &entry, |fallen| fallen.api == api && fallen.id == name)
}

/// Whether a provider that fits fell with a disabled API, which is then said: the resource goes too.
pub(super) fn left_out(
    draft: &mut Draft<'_>,
    path: &FieldPath,
    fits: impl Fn(&Fallen) -> bool,
) -> bool {
    let Some(Fallen { api, id, cause, .. }) = draft.disabled.fallen(fits).cloned() else {
        return false;
    };
    draft.findings.warning(
        path,
        Reason::Ignored,
        format!("is left out: the {api} provider `{id}` falls with {cause}, which is disabled"),
        format!("remove {cause} from disabled, or remove this entry"),
    );
    true
}

fn first(draft: &mut Draft<'_>, api: &str, path: &FieldPath) -> Option<Assigned> {
    let present = ids(draft, api);
    let users = draft.user_providers();
    if let Some(user) = users.iter().find(|user| user.api == api && present.contains(&user.id)) {
        let origin = Origin::Rule("the first provider of the resource");
        return Some(Assigned::always(user.id.clone(), origin));
    }
    if let Some(id) = externals(draft, api).into_iter().find(|id| present.contains(id)) {
        let origin = Origin::Rule("the first external provider of the resource");
        return Some(Assigned::always(id, origin));
    }
    let base =
        draft.providers(api).iter().filter_map(entry_id).find(|id| {
            id.condition.as_deref().is_none_or(|variable| draft.variables.surely(variable))
        });
    if base.is_none() {
        draft.findings.problem(
            path,
            Reason::NotFound,
            format!("there is no {api} provider for it"),
            format!("add one under providers.{}", api_name::in_resource(api)),
        );
    }
    base.map(|id| {
        let origin = Origin::Rule("the first provider of the base that is always there");
        Assigned::always(id.id, origin)
    })
}

/// The ids of an API's external providers.
fn externals(draft: &Draft<'_>, api: &str) -> Vec<String> {
    let external = draft.spec.external_providers.iter().flat_map(ExternalProvidersSpec::by_api);
    external
        .filter(|(field, _)| api_name::in_config(&draft.profile, field) == api)
        .flat_map(|(_, providers)| providers.iter().flatten())
        .map(|provider| provider.provider_id.as_str().to_owned())
        .collect()
}

/// The ids of an API's providers that are there when the server runs.
pub(super) fn ids(draft: &Draft<'_>, api: &str) -> Vec<String> {
    draft
        .providers(api)
        .iter()
        .filter_map(entry_id)
        .filter(|id| draft.variables.admit(id))
        .map(|id| id.id)
        .collect()
}

/// Puts an entry in the place of the one with its name and provider, or at the end. Only the first
/// entries are those of the base, and no two of the resource are the same.
pub(super) fn put(entries: &mut Vec<Node>, of_base: usize, key: &str, name: &str, entry: Node) {
    let provider_of =
        |entry: &Node| EffectiveId::parse(entry.get_str("provider_id")?, "").map(|id| id.id);
    let provider = provider_of(&entry);
    let same = |other: &Node| {
        other.get_str(key) == Some(name) && (key != "model_id" || provider_of(other) == provider)
    };
    match entries[..of_base].iter().position(same) {
        Some(place) => entries[place] = entry,
        None => entries.push(entry),
    }
}
