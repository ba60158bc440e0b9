//! `resources.models`: the models that the server registers when it starts.

use std::collections::HashSet;

use llsd_api::v1alpha2::{ModelEntry, ModelType};
use serde_json::{Value, json};

use super::assignment::{self, Assigned};
use super::item::ResourceItem;
use crate::config::draft::Draft;
use crate::problems::Reason;
use crate::releases::ProviderType;
use llsd_yaml::document::{Node, Origin};

type Model<'a> = ResourceItem<'a, ModelEntry>;

pub(in crate::config) fn apply(draft: &mut Draft<'_>) {
    let of_base = draft.registered_now("models").len();
    let mut registered: HashSet<(String, String)> = HashSet::new();
    let models = draft.spec.resources.as_ref().and_then(|resources| resources.models.as_ref());
    for model in Model::all(models, "models", |entry| &entry.name) {
        if assignment::dropped(draft, "inference", &model.path, "model") {
            continue;
        }
        let named = model.entry.and_then(|entry| entry.provider.as_deref());
        let Some(provider) = assignment::assign(draft, "inference", named, &model.path) else {
            continue;
        };
        let served = served_name(draft, &model, &provider);
        let is_new = registered.insert((served.clone(), provider.id.clone()))
            // Without aliases its own name is another one.
            && (served == model.name
                || registered.insert((model.name.to_owned(), provider.id.clone())));
        if !is_new {
            let message = format!("the model `{served}` of `{}` is listed twice", provider.id);
            draft.findings.problem(
                &model.path,
                Reason::Duplicate,
                message,
                "remove one of the two",
            );
            continue;
        }
        register(draft, of_base, &model, &provider);
    }
    let providers: HashSet<&str> = registered.iter().map(|(_, provider)| &**provider).collect();
    deployments(draft, of_base, &providers);
    if draft.profile.layout.lists_over_aliases {
        own_names_last(draft);
    }
}

/// A model that its provider lists must be registered under the provider's name for it after all
/// its aliases: by the last registration the server knows it again, and over any other it stumbles
/// at its start.
fn own_names_last(draft: &mut Draft<'_>) {
    let has_own_name = |model: &Node| match model.get_str("provider_model_id") {
        Some(id) => model.get_str("model_id") == Some(id),
        None => true,
    };
    if !draft.registered_now("models").is_empty() {
        draft.registered("models").sort_by_key(has_own_name);
    }
}

fn register(draft: &mut Draft<'_>, of_base: usize, model: &Model<'_>, provider: &Assigned) {
    let path = &model.path;
    let mut node = Node::map(Origin::Field(path.clone()));
    node.set("model_id", Node::scalar(model.name, Origin::Field(model.name_path())));
    node.set("provider_id", Node::scalar(provider.written.as_str(), provider.origin.clone()));
    if let Some((id, origin)) = provider_model_id(draft, model, provider) {
        warn_of_alias(draft, model, provider, &id);
        node.set("provider_model_id", Node::scalar(id, origin));
    }
    let (kind, origin) = match model.entry.and_then(|entry| entry.model_type) {
        Some(kind) => (kind, Origin::Field(path.key("modelType"))),
        None => (ModelType::Llm, Origin::Rule("a model is an llm unless it says otherwise")),
    };
    if kind == ModelType::Rerank && !draft.profile.layout.knows_rerank_models {
        let first = draft.profile.releases.first_with(|release| release.knows_rerank_models);
        draft.findings.problem(
            &path.key("modelType"),
            Reason::Invalid,
            format!("{} knows no rerank models", draft.profile.name()),
            format!("use an image of {first} or later"),
        );
    }
    node.set("model_type", Node::scalar(json!(kind), origin));
    node.set("metadata", metadata(draft, model));
    assignment::put(draft.registered("models"), of_base, "model_id", model.name, node);
}

fn metadata(draft: &mut Draft<'_>, model: &Model<'_>) -> Node {
    let Some(entry) = model.entry else {
        return Node::map(Origin::Field(model.path.clone()));
    };
    let path = model.path.key("metadata");
    let mut metadata = match &entry.metadata {
        Some(given) => Node::from_field(&given.clone().into(), &path),
        None => Node::map(Origin::Field(model.path.clone())),
    };
    let structured = [
        ("contextLength", "context_length", entry.context_length.map(Value::from)),
        ("quantization", "quantization", entry.quantization.clone().map(Into::into)),
        ("embeddingDimension", "embedding_dimension", entry.embedding_dimension.map(Into::into)),
    ];
    for (field, key, value) in structured {
        let Some(value) = value else { continue };
        if metadata.get(key).is_some_and(|given| given.to_value() != value) {
            draft.findings.warning(
                &path.key(key),
                Reason::Ignored,
                format!("is overridden by {}", model.path.key(field)),
                "remove one of the two",
            );
        }
        metadata.set(key, Node::scalar(value, Origin::Field(model.path.key(field))));
    }
    metadata
}

/// The provider's own name of the model; Azure calls it a deployment.
fn provider_model_id(
    draft: &Draft<'_>,
    model: &Model<'_>,
    provider: &Assigned,
) -> Option<(String, Origin)> {
    if let Some(id) = model.entry.and_then(|entry| entry.provider_model_id.clone()) {
        return Some((id, Origin::Field(model.path.key("providerModelId"))));
    }
    let of = draft.users.iter().find(|user| user.id == provider.id)?;
    let deployment = of.entry.deployment_name.clone()?;
    Some((deployment, Origin::Field(of.path.key("deploymentName"))))
}

/// The name that must be one model's own: where there are no aliases, its provider's.
fn served_name(draft: &Draft<'_>, model: &Model<'_>, provider: &Assigned) -> String {
    let of_provider = || provider_model_id(draft, model, provider).map(|(id, _)| id);
    let name = if draft.profile.layout.has_aliases { None } else { of_provider() };
    name.unwrap_or_else(|| model.name.to_owned())
}

/// From 0.3 to 0.7 a model is served by its provider's name alone.
fn warn_of_alias(draft: &mut Draft<'_>, model: &Model<'_>, provider: &Assigned, id: &str) {
    if !draft.profile.layout.has_aliases && id != model.name {
        draft.findings.warning(
            &model.path,
            Reason::Ignored,
            format!(
                "{} has no aliases: clients ask for `{}/{id}`, not for `{}`",
                draft.profile.name(),
                provider.id,
                model.name
            ),
            format!("name the model {id}"),
        );
    }
}

fn has_deployments(draft: &Draft<'_>, provider: &str) -> bool {
    let catalogue = draft.profile.catalogue;
    let known = catalogue.full_type("inference", provider);
    known
        .and_then(|name| catalogue.get("inference", name))
        .is_some_and(ProviderType::has_deployments)
}

/// A deployment of Azure that no model of the resource belongs to is a model of its own name.
fn deployments(draft: &mut Draft<'_>, of_base: usize, with_models: &HashSet<&str>) {
    for provider in draft.user_providers().iter() {
        let Some(deployment) = &provider.entry.deployment_name else { continue };
        let listed = with_models.contains(provider.id.as_str());
        if provider.api != "inference"
            || !has_deployments(draft, provider.provider)
            || listed
            || draft.disabled.cause("inference").is_some()
        {
            continue;
        }
        let origin = Origin::Field(provider.path.key("deploymentName"));
        let mut node = Node::map(origin.clone());
        node.set("model_id", Node::scalar(deployment.as_str(), origin.clone()));
        node.set("provider_id", Node::scalar(provider.id.as_str(), origin.clone()));
        node.set("model_type", Node::scalar("llm", origin.clone()));
        node.set("metadata", Node::map(origin));
        assignment::put(draft.registered("models"), of_base, "model_id", deployment, node);
    }
}
