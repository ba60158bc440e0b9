//! From a resource and facts to everything that the operator would apply, or to what is in the way.
//! Controller, admission and command line all call this one pure function.

use llsd_api::conversion::carried_container_name;
use llsd_api::secret_ref::SecretKey;
use llsd_api::v1alpha2::LlamaStackDistributionSpec;
use serde::Deserialize;
use serde_json::Value;

use crate::config::{self, Generated};
use crate::distributions::{self, Resolved};
use crate::facts::{BaseFacts, Facts};
use crate::objects::{
    Blueprint, ConfigSource, Database, ExternalInstall, Objects, Variable, VariableValue,
    certificates, config_map, names, objects,
};
use crate::problem::{FieldPath, Findings, Problem, Reason};
use crate::secrets::{self, By, Reference};
use crate::validate::validate_stored;

/// Everything that would be applied for one resource.
#[derive(Clone, Debug)]
pub struct Plan {
    pub objects: Objects,
    pub image: Resolved,
    /// The generated configuration; none with `overrideConfig` or the image's own.
    pub generated: Option<Generated>,
    /// Where the base of a generated configuration was found.
    pub base: Option<BaseFacts>,
    /// Variables that generation gives the server.
    pub environment: Vec<Variable>,
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
    let image = distributions::resolve(&spec.distribution, &facts.operator, &mut findings);
    let (source, base) = match &image {
        Some(image) => choose(&spec, image, facts, &mut findings, &mut unavailable),
        None => return refuse(findings),
    };
    let Some(image) = image else { return refuse(findings) };

    let mut generated = None;
    if let Some(base) = &base {
        let release =
            facts.image.release.as_deref().or(distributions::release_of_tag(&image.image));
        let outcome = config::generate(&spec, facts, base, release);
        findings.extend(outcome.findings);
        unavailable.extend(outcome.unavailable);
        generated = outcome.generated;
    }
    let connection_string = connection_string(&spec);
    let certificate = certificate(&spec);
    let mut references = references(&spec, generated.as_ref(), connection_string.as_ref());
    references.extend(certificate.iter().map(|(secret, path)| Reference {
        secret,
        path,
        by: By::Other,
    }));
    secrets::check(&references, facts, namespace, &mut findings);
    let database = match (&generated, &connection_string) {
        (Some(Generated { connection_string: Some(path), .. }), Some((secret, _))) => {
            database(secret, path, facts, &mut findings)
        }
        _ => None,
    };
    let (ca_bundle, remarks) = certificates::bundle(&spec, namespace, facts);
    findings.extend(remarks);
    let config = match (&generated, source) {
        (Some(generated), _) => Some(ConfigSource::Generated { text: generated.text.clone() }),
        (None, source) => source,
    };
    let Some(config) = config else { return stop(findings, unavailable) };

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
        environment: environment.clone(),
        redis: generated.as_ref().and_then(|generated| generated.redis.clone()),
        database,
        secret_hash: secrets::hash(&references, facts),
        ca_bundle,
        external_providers: external_installs(&spec),
    };
    let (objects, remarks) = objects(&blueprint);
    findings.extend(remarks);
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
        warnings: findings.warnings,
    }))
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

/// Whether the configuration is the user's own, generated, or the image's. Only a generated one
/// needs a base; without one nothing is chosen.
fn choose(
    spec: &LlamaStackDistributionSpec,
    image: &Resolved,
    facts: &Facts,
    findings: &mut Findings,
    unavailable: &mut Vec<Problem>,
) -> (Option<ConfigSource>, Option<BaseFacts>) {
    if spec.override_config.is_some() {
        warn_of_unpinned_image(facts, findings);
        return (override_config(spec, facts, findings), None);
    }
    if !needs_generation(spec) {
        warn_of_unpinned_image(facts, findings);
        return (Some(ConfigSource::Default), None);
    }
    (None, base(image, facts, findings, unavailable))
}

/// Without a base a registry that fails blocks nothing.
fn warn_of_unpinned_image(facts: &Facts, findings: &mut Findings) {
    if let Some(why) = &facts.image.unavailable {
        findings.warning(
            &FieldPath::spec().key("distribution"),
            Reason::Unavailable,
            format!("the registry cannot be asked ({why}); the image runs without a digest"),
            "check the registry and the pull secrets, or name the image by its digest",
        );
    }
}

/// A port alone needs no file: the server takes it from a variable.
fn needs_generation(spec: &LlamaStackDistributionSpec) -> bool {
    let workers = spec.workload.as_ref().and_then(|workload| workload.workers).unwrap_or(1);
    let tls = spec.networking.as_ref().and_then(|networking| networking.tls.as_ref());
    // A section that is there and says nothing asks for nothing.
    let asks = |section: Option<Value>| section.is_some_and(|section| says_something(&section));
    asks(spec.providers.as_ref().and_then(|section| serde_json::to_value(section).ok()))
        || asks(spec.resources.as_ref().and_then(|section| serde_json::to_value(section).ok()))
        || spec
            .storage
            .as_ref()
            .is_some_and(|storage| storage.kv.is_some() || storage.sql.is_some())
        || spec.disabled.as_ref().is_some_and(|disabled| !disabled.is_empty())
        || !external_installs(spec).is_empty()
        || workers > 1
        || tls.is_some_and(|tls| tls.enabled == Some(true))
}

/// Whether a section has a field that is not an empty list.
fn says_something(section: &Value) -> bool {
    let fields = section.as_object().into_iter().flat_map(|fields| fields.values());
    fields.clone().any(|field| field.as_array().is_none_or(|list| !list.is_empty()))
}

fn override_config(
    spec: &LlamaStackDistributionSpec,
    facts: &Facts,
    findings: &mut Findings,
) -> Option<ConfigSource> {
    let name = spec.override_config.as_ref()?.config_map_name.clone();
    let path = FieldPath::spec().key("overrideConfig").key("configMapName");
    let found = facts.config_maps.get(&name);
    if found.is_some_and(|found| found.missing) || (found.is_none() && facts.complete) {
        findings.problem(
            &path,
            Reason::ConfigMapNotFound,
            format!("ConfigMap not found: {name}"),
            "create the ConfigMap, or name one that exists",
        );
        return None;
    }
    let Some(found) = found else {
        let key = "config.yaml".to_owned();
        return Some(ConfigSource::Override { config_map: name, key, hash: None });
    };
    let Some(key) =
        ["config.yaml", "run.yaml"].into_iter().find(|key| found.data.contains_key(*key))
    else {
        findings.problem(
            &path,
            Reason::ConfigMapNotFound,
            format!("ConfigMap {name} has neither the key config.yaml nor run.yaml"),
            "put the configuration under the key config.yaml",
        );
        return None;
    };
    Some(ConfigSource::Override {
        hash: Some(config_map::content_hash(&found.data[key])),
        config_map: name,
        key: key.to_owned(),
    })
}

/// The base configuration: the image's own, else the one embedded for the table's own images.
fn base(
    image: &Resolved,
    facts: &Facts,
    findings: &mut Findings,
    unavailable: &mut Vec<Problem>,
) -> Option<BaseFacts> {
    if let Some(base) = &facts.image.base {
        return Some(base.clone());
    }
    let path = FieldPath::spec().key("distribution");
    if let Some(base) = image.embedded_base() {
        if let Some(why) = &facts.image.unavailable {
            findings.warning(
                &path,
                Reason::Unavailable,
                format!("the registry cannot be asked ({why}); the embedded configuration is used"),
                "nothing needs to be done if the image is the release's own",
            );
        }
        return Some(base);
    }
    let name = &image.image;
    let field = path.key(if image.name.is_some() { "name" } else { "image" });
    match &facts.image.unavailable {
        Some(why) => unavailable.push(Problem {
            path: field,
            reason: Reason::Unavailable,
            message: format!("the configuration of {name} cannot be read: {why}"),
            remedy: if facts.complete {
                "it is tried again; check the registry and the pull secrets".to_owned()
            } else {
                "give the file itself with --base".to_owned()
            },
        }),
        None if facts.complete || facts.image.inspected => findings.problem(
            &path,
            Reason::MissingConfigLabels,
            format!(
                "Distribution image {name} missing config labels. Add labels using `crane mutate` \
                 or use `overrideConfig` to provide configuration manually. See \
                 docs/configuration.md for details."
            ),
            "llsd image label does it in one step",
        ),
        None => unavailable.push(Problem {
            path: field,
            reason: Reason::Unavailable,
            message: format!("the configuration inside {name} is not known offline"),
            remedy: "give it with --base, --image-config or --facts".to_owned(),
        }),
    }
    None
}

fn pinned(image: &str, digest: Option<&str>) -> String {
    match digest {
        Some(digest) if !image.contains('@') => format!("{image}@{digest}"),
        _ => image.to_owned(),
    }
}

fn connection_string(spec: &LlamaStackDistributionSpec) -> Option<(SecretKey, FieldPath)> {
    let sql = spec.storage.as_ref()?.sql.as_ref()?;
    let secret = sql.connection_string.as_ref()?.read()?.target().clone();
    let path = FieldPath::spec().key("storage").key("sql").key("connectionString");
    Some((secret, path))
}

/// The two keys of the server's certificate, without which no pod starts.
fn certificate(spec: &LlamaStackDistributionSpec) -> Vec<(SecretKey, FieldPath)> {
    let tls = spec.networking.as_ref().and_then(|networking| networking.tls.as_ref());
    let name = tls.filter(|tls| tls.enabled == Some(true)).and_then(|tls| tls.secret_name.clone());
    let path = FieldPath::spec().key("networking").key("tls").key("secretName");
    let keys = |name: String| {
        ["tls.crt", "tls.key"].map(|key| SecretKey { name: name.clone(), key: key.to_owned() })
    };
    name.map(keys).into_iter().flatten().map(|secret| (secret, path.clone())).collect()
}

/// Every secret key that the generated configuration depends on.
fn references<'a>(
    spec: &'a LlamaStackDistributionSpec,
    generated: Option<&'a Generated>,
    connection_string: Option<&'a (SecretKey, FieldPath)>,
) -> Vec<Reference<'a>> {
    static PASSWORD: std::sync::LazyLock<FieldPath> =
        std::sync::LazyLock::new(|| FieldPath::spec().key("storage").key("kv").key("password"));
    let mut references: Vec<Reference<'a>> = Vec::new();
    let Some(generated) = generated else { return references };
    for bound in &generated.secrets {
        let by = By::Variable { coerced: generated.coerces_variables };
        references.push(Reference { secret: &bound.secret, path: &bound.path, by });
    }
    let kv = spec.storage.as_ref().and_then(|storage| storage.kv.as_ref());
    let password = kv.and_then(|kv| kv.password.as_ref()).and_then(|password| password.read());
    if let Some(password) = password.filter(|_| generated.redis.is_some()) {
        let secret = password.target();
        references.push(Reference { secret, path: &PASSWORD, by: By::Other });
    }
    if let Some((secret, path)) = connection_string {
        references.push(Reference { secret, path, by: By::Other });
    }
    references
}

/// The parts of the connection string, as far as the facts hold them.
fn database(
    secret: &SecretKey,
    path: &FieldPath,
    facts: &Facts,
    findings: &mut Findings,
) -> Option<Database> {
    let value = facts.secrets.get(&secret.name).and_then(|found| found.keys.get(&secret.key));
    match value.and_then(|value| value.connection.as_ref()) {
        None => Some(Database::Unknown),
        Some(Ok(connection)) => {
            for parameter in connection.ignored() {
                findings.warning(
                    path,
                    Reason::Ignored,
                    format!("the server has no place for the parameter `{parameter}`"),
                    "remove it from the connection string",
                );
            }
            Some(Database::Known(connection.clone()))
        }
        Some(Err(wrong)) => {
            findings.problem(
                path,
                Reason::SecretValueRejected,
                format!("the value of `{}` in Secret {} {wrong}", secret.key, secret.name),
                "write postgresql://USER:PASSWORD@HOST:PORT/DB",
            );
            None
        }
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
    if generated.connection_string.is_some() {
        for key in Database::KEYS {
            let secret = SecretKey { name: names::storage_secret(name), key: key.to_owned() };
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
