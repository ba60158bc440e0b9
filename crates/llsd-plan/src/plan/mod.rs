//! From a resource and facts to everything that the operator would apply, or to what is in the way.
//! Controller, admission and command line all call this one pure function.

mod config_source;
mod moved;
mod secret_references;

pub use moved::moved;

use std::collections::BTreeMap;

use llsd_api::conversion::carried_container_name;
use llsd_api::secret_ref::SecretKey;
use llsd_api::v1alpha2::LlamaStackDistributionSpec;
use serde::Deserialize;
use serde_json::Value;

use crate::config::{self, Generated};
use crate::document;
use crate::facts::{BaseFacts, Facts};
use crate::image::{self, RequestedImage};
use crate::objects::{
    Blueprint, ConfigSource, ObjectKind, Objects, PlannedObject, ca_bundle, labels, names, objects,
    service,
};
use crate::problem::{Findings, Problem};
use crate::releases::{Server, detect, server_of};
use crate::secrets;
use crate::sha256;
use crate::validate::validate_stored;
use crate::wiring::{ExternalInstall, Variable, VariableValue};

/// Everything that would be applied for one resource.
#[derive(Clone, Debug)]
pub struct Plan {
    pub objects: Objects,
    pub image: RequestedImage,
    /// The generated configuration; none with `overrideConfig` or the image's own.
    pub generated: Option<Generated>,
    /// Where the base of a generated configuration was found.
    pub base: Option<BaseFacts>,
    /// Variables that generation gives the server.
    pub environment: Vec<Variable>,
    /// The server that the image holds and its release, as far as they are known: `llama-stack
    /// 0.7.3`, `OGX 1.5.0`.
    pub server: Option<String>,
    /// How many fields of the resource refer to a secret that the server reads.
    pub secret_references: usize,
    /// Where the server is reached inside the cluster.
    pub url: String,
    pub warnings: Vec<Problem>,
}

/// What planning came to.
#[derive(Clone, Debug)]
pub enum Outcome {
    Planned(Box<Plan>),
    /// The user's to mend; nothing is retried until an input changes.
    Refused(Findings),
    /// Something that only a cluster or a registry has is not there now.
    Unavailable {
        missing: Vec<Problem>,
        warnings: Vec<Problem>,
    },
}

#[derive(Deserialize)]
struct Resource {
    metadata: Metadata,
    spec: LlamaStackDistributionSpec,
}

#[derive(Deserialize)]
struct Metadata {
    #[serde(default)]
    name: String,
    namespace: Option<String>,
    generation: Option<i64>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
}

impl Metadata {
    /// The state of the resource as one word: its generation, and the annotation that asks for
    /// images to be resolved anew. Offline a resource has no generation.
    fn state(&self) -> Option<String> {
        let generation = self.generation?;
        Some(match self.annotations.get(labels::REFRESH) {
            Some(refresh) => format!("{generation}-{}", &sha256::hex(refresh)[..8]),
            None => generation.to_string(),
        })
    }
}

/// The state of the resource that a plan of it would carry.
pub fn state_of(resource: &Value) -> Option<String> {
    Metadata::deserialize(&resource["metadata"]).ok()?.state()
}

/// The namespace of a resource that names none, as kubectl has it.
const DEFAULT_NAMESPACE: &str = "default";
/// v0.9's name of the server's container.
const CONTAINER_NAME: &str = "llama-stack";

/// Plans a v1alpha2 resource.
pub fn plan(resource: &Value, facts: &Facts) -> Outcome {
    let mut findings = validate_stored(resource);
    let Ok(Resource { metadata, spec }) = Resource::deserialize(resource) else {
        return refuse(findings);
    };
    let namespace = metadata.namespace.as_deref().filter(|name| !name.is_empty());
    let namespace = namespace.unwrap_or(DEFAULT_NAMESPACE);
    let mut unavailable = Vec::new();
    let Some(image) = image::resolve(&spec.distribution, &facts.operator, &mut findings) else {
        return refuse(findings);
    };
    let (source, base) =
        config_source::choose(&spec, &image, facts, &mut findings, &mut unavailable);

    let mut generated = None;
    let release = image.release(facts.image.release.as_deref());
    if let Some(base) = &base {
        let outcome = config::generate(&spec, facts, base, release.as_deref());
        findings.extend(outcome.findings);
        unavailable.extend(outcome.unavailable);
        generated = outcome.generated;
    }
    let references = secret_references::of(&spec, generated.as_ref());
    secrets::check(&references, facts, namespace, &mut findings);
    let database = generated
        .as_ref()
        .and_then(|generated| generated.database)
        .and_then(|form| secret_references::database(&spec, facts, form, &mut findings));
    let (ca_bundle, remarks) = ca_bundle::text(&spec, namespace, facts);
    findings.extend(remarks);
    let config = match (&generated, source) {
        (Some(generated), _) => Some(ConfigSource::generated(generated.text.clone())),
        (None, source) => source,
    };
    let Some(config) = config else { return stop(findings, unavailable) };

    let server = match &generated {
        Some(generated) => generated.server,
        None => server(&config, facts, release.as_deref()),
    };
    moved::remark(resource, &spec, server, &mut findings);
    let environment = environment(generated.as_ref(), &metadata.name);
    let container_name = carried_container_name(resource);
    let blueprint = Blueprint {
        name: &metadata.name,
        namespace,
        spec: &spec,
        facts,
        image: pinned(&image.image, facts.image.digest.as_deref()),
        container_name: container_name.unwrap_or_else(|| CONTAINER_NAME.to_owned()),
        config,
        server,
        environment: environment.clone(),
        redis: generated.as_ref().and_then(|generated| generated.redis.clone()),
        database,
        secret_hash: secrets::hash(&references, facts),
        ca_bundle,
        external_providers: external_installs(&spec),
        planned_for: metadata.state().or_else(|| facts.planned_for.clone()),
    };
    let (objects, remarks) = objects(&blueprint);
    findings.extend(remarks);
    let generated_name = generated.as_ref().map(|generated| generated.release);
    if !findings.problems.is_empty() || !unavailable.is_empty() {
        return stop(findings, unavailable);
    }
    findings.sort();
    Outcome::Planned(Box::new(Plan {
        objects,
        image,
        generated,
        base,
        environment,
        server: named_server(generated_name, server, release.as_deref()),
        secret_references: secret_references::fields(&references),
        url: service::url(&blueprint),
        warnings: findings.warnings,
    }))
}

/// The account of the pods as a plan has it, for when nothing else can be planned yet: a cluster may
/// give it the pull secrets without which the image cannot be read.
pub fn account(resource: &Value, facts: &Facts) -> Option<PlannedObject> {
    let Resource { metadata, spec } = Resource::deserialize(resource).ok()?;
    let blueprint = Blueprint {
        name: &metadata.name,
        namespace: metadata.namespace.as_deref()?,
        spec: &spec,
        facts,
        image: String::new(),
        container_name: String::new(),
        config: ConfigSource::Default,
        server: Server::default(),
        environment: Vec::new(),
        redis: None,
        database: None,
        secret_hash: None,
        ca_bundle: None,
        external_providers: Vec::new(),
        planned_for: None,
    };
    let (objects, _) = objects(&blueprint);
    let mut objects = objects.in_order().into_iter();
    objects.find(|object| object.kind == ObjectKind::ServiceAccount)
}

/// The server's name with its release: the one that the file was generated for, else the one said.
fn named_server(of_file: Option<&str>, server: Server, said: Option<&str>) -> Option<String> {
    let said = said.filter(|said| server_of(said).is_some());
    match server {
        Server::Ogx => Some(match of_file.or(said.and_then(|said| said.strip_prefix("ogx-"))) {
            Some(release) => format!("OGX {}", release.trim_start_matches("OGX ")),
            None => "OGX".to_owned(),
        }),
        Server::LlamaStack => of_file.or(said).map(|release| format!("llama-stack {release}")),
    }
}

/// The server inside an image whose configuration is not generated: as its release says, else as a
/// file of the user's own shows.
fn server(config: &ConfigSource, facts: &Facts, release: Option<&str>) -> Server {
    let said = release.and_then(server_of);
    let shown = || {
        let ConfigSource::Override { config_map, key, .. } = config else { return None };
        let text = facts.config_maps.get(config_map)?.data.get(key)?;
        let era = detect(facts.operator.releases, &document::read(text).ok()?, release).ok()?;
        Some(era.server())
    };
    said.or_else(shown).unwrap_or_default()
}

fn refuse(mut findings: Findings) -> Outcome {
    findings.sort();
    Outcome::Refused(findings)
}

fn stop(mut findings: Findings, missing: Vec<Problem>) -> Outcome {
    findings.sort();
    if findings.problems.is_empty() {
        Outcome::Unavailable { missing, warnings: findings.warnings }
    } else {
        Outcome::Refused(findings)
    }
}

fn pinned(image: &str, digest: Option<&str>) -> String {
    match digest {
        Some(digest) if !image.contains('@') => format!("{image}@{digest}"),
        _ => image.to_owned(),
    }
}

/// The variables that the generated file refers to.
fn environment(generated: Option<&Generated>, name: &str) -> Vec<Variable> {
    let Some(generated) = generated else { return Vec::new() };
    let mut variables: Vec<Variable> = generated
        .secrets
        .iter()
        .map(|bound| Variable {
            name: bound.name.to_string(),
            value: VariableValue::Secret(bound.secret.clone()),
        })
        .collect();
    if let Some(form) = generated.database {
        for key in form.keys() {
            let secret = SecretKey { name: names::storage_secret(name), key: (*key).to_owned() };
            variables.push(Variable {
                name: format!("LLSD_STORAGE_SQL_{}", key.to_uppercase()),
                value: VariableValue::Secret(secret),
            });
        }
    }
    variables.extend(generated.variables.iter().cloned());
    variables
}

fn external_installs(spec: &LlamaStackDistributionSpec) -> Vec<ExternalInstall> {
    let Some(external) = &spec.external_providers else { return Vec::new() };
    let mut installs = Vec::new();
    for (_, providers) in external.by_api() {
        for provider in providers.iter().flatten() {
            installs.push(ExternalInstall {
                provider_id: provider.provider_id.as_str().to_owned(),
                image: provider.image.clone(),
                pull_policy: provider.image_pull_policy,
            });
        }
    }
    installs
}
