//! `spec.externalProviders`: entries for packages that images of their own bring. They are added
//! last, and win over any provider of the same id.

use llsd_api::secret_ref::SecretRef;
use llsd_api::v1alpha2::ExternalProvider;
use llsd_provider::{Loader, PackageFile, layout};

use super::draft::Draft;
use super::providers::place;
use crate::config::wiring::{ExternalInstall, ProviderLabels};
use crate::facts::{ExternalProviderFacts, forbidden_image};
use crate::problems::{FieldPath, Problem, Reason};
use crate::releases::api_name;
use crate::resource::external::{self, Listed};
use crate::server::paths::PROVIDERS_D;
use crate::values::image_name::pinned;
use llsd_yaml::document::{Node, Origin};

/// What an image provides under one id.
struct Provided {
    api: String,
    provider_type: String,
    /// Where the server imports `<module>.provider`; else a file of `providers.d` says it.
    module: Option<String>,
    labels: Option<ProviderLabels>,
}

pub(super) fn apply(draft: &mut Draft<'_>) {
    for listed in external::listed(draft.spec) {
        let Listed { api: field, path, provider, .. } = &listed;
        let api = api_name::in_config(&draft.profile, field);
        if draft.disabled.directly(&api) {
            ignored(draft, path, field);
            continue;
        }
        if !draft.profile.layout.takes_external_packages {
            // The first with it lies between two releases whose provider types are known.
            draft.findings.problem(
                path,
                Reason::Invalid,
                format!("{} cannot load providers from packages", draft.profile.name()),
                "use an image of 0.2.16 or later",
            );
            continue;
        }
        if let Some(provided) = provided(draft, &listed, &api) {
            install(draft, &listed, &provided);
            add(draft, provider, path, &api, provided);
        }
    }
}

fn add(
    draft: &mut Draft<'_>,
    provider: &ExternalProvider,
    path: &FieldPath,
    api: &str,
    provided: Provided,
) {
    let id = provider.provider_id.as_str();
    let Provided { provider_type, module, .. } = provided;
    if let Some(known) = draft.provider(api, id) {
        let before = known.get_str("provider_type").unwrap_or("of no type").to_owned();
        draft.findings.warning(
            &path.key("providerId"),
            Reason::ProviderOverridden,
            format!("takes the place of the {api} provider `{id}` ({before}) with {provider_type}"),
            "give it an id of its own to keep both",
        );
    }
    let image = Origin::Field(path.key("image"));
    let mut entry = Node::map(Origin::Field(path.clone()));
    let id_origin = Origin::Field(path.key("providerId"));
    entry.set("provider_id", Node::scalar(id, id_origin));
    entry.set("provider_type", Node::scalar(provider_type, image.clone()));
    if let Some(module) = module {
        entry.set("module", Node::scalar(module, image));
    } else {
        let origin = Origin::Rule("a package without a module `provider` is described here");
        draft.document.set("external_providers_dir", Node::scalar(PROVIDERS_D, origin));
    }
    if let Some(config) = config(draft, provider, path) {
        entry.set("config", config);
    }
    place(draft, api, id, entry);
}

/// The provider's configuration as it stands, and its secrets; without either there is none.
fn config(draft: &mut Draft<'_>, provider: &ExternalProvider, path: &FieldPath) -> Option<Node> {
    let id = provider.provider_id.as_str();
    let mut config = provider
        .config
        .as_ref()
        .map(|config| Node::from_field(&config.clone().into(), &path.key("config")));
    for (field, secret) in provider.secret_refs.iter().flatten() {
        let path = path.key("secretRefs").key(field);
        let Some(secret) = secret.understood().map(SecretRef::target) else { continue };
        if provider.config.as_ref().is_some_and(|config| config.contains_key(field)) {
            draft.findings.warning(
                &path,
                Reason::Ignored,
                format!("takes the place of config.{field}"),
                "remove one of the two",
            );
        }
        let bound = draft.environment.bind([id, field], secret, &path, &mut draft.findings);
        let origin = Origin::Field(path.clone());
        config
            .get_or_insert_with(|| Node::map(origin.clone()))
            .set(field, Node::scalar(bound, origin));
    }
    config
}

fn install(draft: &mut Draft<'_>, listed: &Listed<'_>, provided: &Provided) {
    let Listed { provider, path, container, .. } = listed;
    let id = provider.provider_id.as_str();
    if let Some(other) = draft.external.iter().find(|other| other.provider_id == id) {
        let (one, two) = (&other.image, &provider.image);
        let message = format!("the id `{id}` is that of {}, too: {one} and {two}", other.path);
        let remedy = "give one of the two external providers another id";
        draft.findings.problem(&path.key("providerId"), Reason::Conflict, message, remedy);
        return;
    }
    let digest = draft.facts.external_providers.get(&provider.image);
    let digest = digest.and_then(|facts| facts.digest.as_deref());
    draft.external.push(ExternalInstall {
        provider_id: id.to_owned(),
        api: provided.api.clone(),
        image: pinned(&provider.image, digest),
        pull_policy: provider.image_pull_policy,
        path: path.clone(),
        container: container.clone(),
        labels: provided.labels.clone(),
    });
}

/// What the image provides under this id, if it says so and it belongs here.
fn provided(draft: &mut Draft<'_>, listed: &Listed<'_>, api: &str) -> Option<Provided> {
    let Listed { api: field, path, provider, .. } = listed;
    let image = &provider.image;
    let facts = usable(draft, image, &path.key("image"))?;
    let profile = draft.profile;
    let is_api = |provided: &str| api_name::in_config(&profile, provided) == api;
    let id = provider.provider_id.as_str();
    let (provided, found) = packages(draft, facts, (image, id), &path.key("image"), is_api)?;
    if !provided.iter().any(|provided| is_api(provided)) {
        let fields: Vec<String> = provided
            .iter()
            .map(|api| api_name::in_resource(&api_name::in_snake_case(api)))
            .collect();
        draft.findings.problem(
            path,
            Reason::Conflict,
            format!("the image provides the API {}, not {field}", provided.join(", ")),
            format!(
                "move the provider to externalProviders.{}",
                fields.join(" or externalProviders.")
            ),
        );
        return None;
    }
    if found.is_none() {
        draft.findings.problem(
            &path.key("providerId"),
            Reason::NotFound,
            format!("the image {image} has several providers of {field}, none of this name"),
            "take the name of one of them, or its type without `remote::`, for the id",
        );
    }
    found
}

/// What is known of an image that can be used.
fn usable<'a>(
    draft: &mut Draft<'a>,
    image: &str,
    at: &FieldPath,
) -> Option<&'a ExternalProviderFacts> {
    let known = draft.facts.external_providers.get(image);
    let unavailable = known.and_then(|facts| facts.unavailable.as_ref());
    let Some(facts) = known.filter(|_| unavailable.is_none()) else {
        let remedy = if draft.facts.complete {
            "it is tried again; check the registry and the pull secrets"
        } else {
            "ask the registry with --registry, or give what the image says of itself with --facts, \
             under externalProviders"
        };
        draft.unavailable.push(Problem {
            path: at.clone(),
            reason: Reason::Unavailable,
            message: match unavailable {
                Some(why) => format!("the image {image} cannot be read: {why}"),
                None => format!("nothing is known of the image {image}"),
            },
            remedy: remedy.to_owned(),
        });
        return None;
    };
    if facts.forbidden {
        draft.findings.problems.push(forbidden_image(at.clone(), image));
        return None;
    }
    if let Some(why) = &facts.unusable {
        let remedy = "make the image with llsd provider package";
        let message = format!("the image {image} cannot be used: {why}");
        draft.findings.problem(at, Reason::Invalid, message, remedy);
        return None;
    }
    if !facts.differing_platforms.is_empty() {
        let others = facts.differing_platforms.join(", ");
        draft.findings.warning(
            at,
            Reason::Conflict,
            format!("the image says something else of itself for {others}"),
            "make all platforms of the image from the same wheels",
        );
    }
    Some(facts)
}

/// The APIs that an image says it provides, and what it has for this id.
fn packages(
    draft: &mut Draft<'_>,
    facts: &ExternalProviderFacts,
    (image, id): (&str, &str),
    at: &FieldPath,
    is_api: impl Fn(&str) -> bool,
) -> Option<(Vec<String>, Option<Provided>)> {
    let Some(text) = &facts.package_file else {
        return match by_labels(facts) {
            Ok(provided) => Some((vec![facts.api.clone()], Some(provided))),
            Err(missing) => {
                let message = layout::missing_file(image);
                draft.findings.problem(at, Reason::NotFound, message, missing);
                None
            }
        };
    };
    match PackageFile::parse(text) {
        Ok(file) => {
            let apis = file.packages.iter().map(|package| package.api.clone()).collect();
            Some((apis, by_file(&file, is_api, id)))
        }
        Err(faults) => {
            for fault in faults {
                let message = format!("{image}: {fault}");
                draft.findings.problem(at, Reason::Invalid, message, fault.remedy);
            }
            None
        }
    }
}

fn by_file(file: &PackageFile, is_api: impl Fn(&str) -> bool, id: &str) -> Option<Provided> {
    let package = file.find_among(is_api, id)?;
    Some(Provided {
        api: package.api.clone(),
        provider_type: package.provider_type.clone(),
        module: (package.loader == Loader::Module).then(|| package.package_name.clone()),
        labels: None,
    })
}

/// What the labels say, or what to do about those that are not there.
fn by_labels(facts: &ExternalProviderFacts) -> Result<Provided, String> {
    let missing = facts.missing_labels();
    if !missing.is_empty() {
        return Err(format!(
            "make the image with llsd provider package, or label it with {}",
            missing.join(", ")
        ));
    }
    let ExternalProviderFacts { api, provider_type, module, config_class, .. } = facts;
    Ok(Provided {
        api: api.clone(),
        provider_type: provider_type.clone(),
        module: config_class.is_none().then(|| module.clone()),
        labels: Some(ProviderLabels {
            provider_type: provider_type.clone(),
            module: module.clone(),
            config_class: config_class.clone(),
        }),
    })
}

fn ignored(draft: &mut Draft<'_>, path: &FieldPath, field: &str) {
    draft.findings.warning(
        path,
        Reason::DisabledProviderIgnored,
        format!("{field} is disabled, so this external provider is ignored"),
        format!("remove {field} from disabled, or remove the provider"),
    );
}
