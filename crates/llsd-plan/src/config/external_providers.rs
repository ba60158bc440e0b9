//! `spec.externalProviders`: entries for packages that images of their own bring. They are added
//! last, and win over any provider of the same id.

use super::api_name;
use super::draft::{Draft, entry_id};
use super::providers::place;
use crate::document::{Node, Origin};
use crate::problem::{FieldPath, Problem, Reason};

pub(super) fn apply(draft: &mut Draft<'_>) {
    let Some(external) = &draft.spec.external_providers else { return };
    for (field, providers) in external.by_api() {
        let api = api_name::in_config(&draft.era, field);
        for (index, provider) in providers.iter().flatten().enumerate() {
            let path = FieldPath::spec().key("externalProviders").key(field).index(index);
            if draft.disabled.directly(&api) {
                ignored(draft, &path, field);
                continue;
            }
            if !draft.era.layout.takes_external_packages {
                draft.findings.problem(
                    &path,
                    Reason::Invalid,
                    format!("{} cannot load providers from packages", draft.era.name()),
                    "use an image of 0.2.16 or later",
                );
                continue;
            }
            let Some(facts) = draft.facts.external_providers.get(&provider.image) else {
                draft.unavailable.push(Problem {
                    path: path.key("image"),
                    reason: Reason::Unavailable,
                    message: format!("nothing is known of the image {}", provider.image),
                    remedy: "the operator asks the registry; offline, give its api, providerType \
                             and module with --facts, under externalProviders"
                        .to_owned(),
                });
                continue;
            };
            let missing = facts.missing_labels();
            if !missing.is_empty() {
                draft.findings.problem(
                    &path.key("image"),
                    Reason::NotFound,
                    format!("the image {} does not say what it provides", provider.image),
                    format!("label it with {}", missing.join(", ")),
                );
                continue;
            }
            if api_name::in_config(&draft.era, &facts.api) != api {
                draft.findings.problem(
                    &path,
                    Reason::Conflict,
                    format!("the image provides the API {}, not {field}", facts.api),
                    "move the provider to the API that it provides",
                );
                continue;
            }
            let id = provider.provider_id.as_str();
            if draft.providers(&api).iter().filter_map(entry_id).any(|known| known.id == id) {
                draft.findings.warning(
                    &path.key("providerId"),
                    Reason::ProviderOverridden,
                    format!("takes the place of the {api} provider `{id}`"),
                    "give it an id of its own to keep both",
                );
            }
            let image = Origin::Field(path.key("image"));
            let mut entry = Node::map(Origin::Field(path.clone()));
            let id_origin = Origin::Field(path.key("providerId"));
            entry.set("provider_id", Node::scalar(id, id_origin));
            entry.set("provider_type", Node::scalar(facts.provider_type.as_str(), image.clone()));
            entry.set("module", Node::scalar(facts.module.as_str(), image));
            let config = provider.config.clone().unwrap_or_default();
            entry.set("config", Node::from_field(&config.into(), &path.key("config")));
            place(draft, &api, id, entry);
        }
    }
}

fn ignored(draft: &mut Draft<'_>, path: &FieldPath, field: &str) {
    draft.findings.warning(
        path,
        Reason::DisabledProviderIgnored,
        format!("{field} is disabled, so this external provider is ignored"),
        format!("remove {field} from disabled, or remove the provider"),
    );
}
