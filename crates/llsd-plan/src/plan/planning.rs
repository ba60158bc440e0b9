//! From a resource and facts to everything that the operator would apply, or to what is in the way.

use std::collections::BTreeMap;

use llsd_api::secret_ref::SecretKey;
use llsd_api::v1alpha2::{LlamaStackDistributionSpec, PreflightPolicy, RollbackPolicy};
use serde_json::Value;

use super::config_source::{Configured, configure};
use super::secret_check::{self, SecretUse};
use super::server::{KnownServer, server_profile};
use super::{
    forbidden_overrides, guarded, image_policy, monitoring, moved, own_inputs, reserved,
    secret_references, user_variables,
};
use crate::config::wiring::{Database, ExternalInstall, Variable};
use crate::config::{Bound, Generated, Merged};
use crate::facts::{Api, BaseFacts, Facts, Served};
use crate::objects::preflight_job::Shapes;
use crate::objects::{
    Blueprint, ConfigSource, Objects, ca_bundle, objects, service, storage_secret, withheld,
};
use crate::problems::{FieldPath, Findings, Problem, Reason};
use crate::releases::ServerFamily;
use crate::resource::image::{self, RequestedImage};
use crate::resource::{Key, Resource};
use crate::values::image_name::pinned;

/// Everything that would be applied for one resource.
#[derive(Clone, Debug)]
pub struct Plan {
    pub objects: Objects,
    pub image: RequestedImage,
    /// The generated configuration; none with `overrideConfig` or the image's own.
    pub generated: Option<Generated>,
    /// The user's own file with external providers, where the resource has both.
    pub merged: Option<Merged>,
    /// External providers that are installed in the pod.
    pub external: Vec<ExternalInstall>,
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
    /// What the resource asks for and the cluster has no place for now. All else is applied.
    pub withheld: Vec<Problem>,
    /// What becomes of it if its pods do not become available.
    pub rollback: RollbackPolicy,
    /// Whether it is checked before pods are replaced, and what is known for that.
    pub preflight: PreflightPolicy,
    pub preflight_inputs: PreflightInputs,
    pub warnings: Vec<Problem>,
}

/// What a preflight needs to know beyond the objects.
#[derive(Clone, Debug, Default)]
pub struct PreflightInputs {
    pub shapes: Shapes,
    /// Claims of the user's own, by their access modes.
    pub claims: BTreeMap<String, Vec<String>>,
}

impl PreflightInputs {
    fn from_facts(facts: &Facts) -> Self {
        let shapes = facts.secrets.iter().map(|(name, secret)| {
            let keys = secret.keys.iter().map(|(key, value)| (key.clone(), value.shape));
            (name.clone(), keys.collect())
        });
        let claims = facts.claims.iter().filter(|(_, claim)| !claim.missing);
        let claims = claims.map(|(name, claim)| (name.clone(), claim.access_modes.clone()));
        Self { shapes: shapes.collect(), claims: claims.collect() }
    }
}

/// What planning came to.
#[derive(Clone, Debug)]
pub enum Planning {
    Planned(Box<Plan>),
    /// The user's to fix; nothing is retried until an input changes. Without problems the resource
    /// has a form that nobody can read.
    Refused(Findings),
    /// Something that only a cluster or a registry has is not there now.
    Unavailable {
        missing: Vec<Problem>,
        warnings: Vec<Problem>,
    },
}

impl Planning {
    /// Whether only a change of a Secret can bring the resource on.
    pub fn waits_for_a_secret(&self) -> bool {
        let Self::Refused(findings) = self else { return false };
        findings.problems.iter().any(|problem| problem.reason.is_of_a_secret())
    }
}

/// v0.9's name of the server's container.
const CONTAINER_NAME: &str = "llama-stack";

/// What a configuration needs around it: its secrets, its variables and what they refer to.
struct ConfigNeeds {
    config: ConfigSource,
    references: Vec<SecretUse>,
    database: Option<Database>,
    environment: Vec<Variable>,
    ca_bundle: Option<String>,
}

/// Plans a resource.
pub fn plan(resource: &Resource, facts: &Facts) -> Planning {
    let mut findings = resource.findings.clone();
    let spec = resource.spec.as_ref().filter(|_| !findings.exceed_a_limit());
    let Some(spec) = spec else { return refuse(findings) };
    reserved::check(spec, &resource.key.namespace, &facts.operator, &mut findings);
    guarded::check(spec, facts, &mut findings);
    forbidden_overrides::check(spec, facts.operator.overrides, &mut findings);
    let mut unavailable: Vec<Problem> = unknown_security(facts).into_iter().collect();
    let Some(image) = image::resolve(&spec.distribution, &facts.operator, &mut findings) else {
        return refuse(findings);
    };
    image_policy::check(spec, &image.image, facts, &mut findings, &mut unavailable);
    let mut server = server_profile(spec, &image, facts);
    let mut made = configure(spec, &image, &mut server, facts, &mut findings, &mut unavailable);
    let Some(needs) = config_needs(resource, spec, facts, &server, &mut made, &mut findings) else {
        return stop(findings, unavailable);
    };
    let secret_references = secret_references::fields(&needs.references);
    let blueprint = blueprint(resource, (spec, facts), &image, server.family, &made, needs);
    let serving = facts.listening.as_ref().filter(|serving| **serving != blueprint.listening());
    let serving = serving.map(|serving| serving.laid_over(spec));
    let serving = serving.as_ref().map(|spec| Blueprint { spec, ..blueprint.clone() });
    let (objects, remarks) = objects(&blueprint, serving.as_ref());
    findings.extend(remarks);
    if !findings.problems.is_empty() || !unavailable.is_empty() {
        return stop(findings, unavailable);
    }
    findings.sort();
    let workload = spec.workload.as_ref();
    Planning::Planned(Box::new(Plan {
        objects,
        image,
        generated: made.generated,
        merged: made.merged,
        base: made.base,
        server: server.name(),
        secret_references,
        url: service::url(serving.as_ref().unwrap_or(&blueprint)),
        withheld: withheld(&blueprint),
        external: blueprint.external_providers,
        environment: blueprint.environment,
        rollback: rollback_policy(resource, facts.operator.rollback),
        preflight: workload.and_then(|it| it.preflight).unwrap_or(facts.operator.preflight),
        preflight_inputs: PreflightInputs::from_facts(facts),
        warnings: findings.warnings,
    }))
}

/// What becomes of a rollout that fails: what the resource asks for, else what the operator was told.
pub fn rollback_policy(resource: &Resource, operator: RollbackPolicy) -> RollbackPolicy {
    let workload = resource.spec.as_ref().and_then(|spec| spec.workload.as_ref());
    workload.and_then(|workload| workload.rollback).unwrap_or(operator)
}

/// Finds and checks what the configuration refers to; nothing where there is no configuration.
fn config_needs(
    resource: &Resource,
    spec: &LlamaStackDistributionSpec,
    facts: &Facts,
    server: &KnownServer<'_>,
    made: &mut Configured,
    findings: &mut Findings,
) -> Option<ConfigNeeds> {
    let Key { namespace, name } = &resource.key;
    let (generated, merged) = (made.generated.as_ref(), made.merged.as_ref());
    let references = secret_references::secret_references(spec, generated, merged);
    secret_check::check(&references, facts, namespace, findings);
    user_variables::check(spec, facts, namespace, findings);
    let database = generated
        .and_then(|generated| generated.database)
        .and_then(|form| secret_references::database(spec, facts, form, findings));
    let (ca_bundle, remarks) = ca_bundle::text(spec, namespace, facts);
    findings.extend(remarks);
    let config = made.source.take()?;
    moved::remark(&resource.status, spec, server.family, findings);
    let mut environment = environment(generated, database.as_ref(), name);
    environment.extend(merged.iter().flat_map(|merged| bound(&merged.secrets)));
    monitoring::add((spec, &**name), &config, server, &mut environment, findings);
    Some(ConfigNeeds { config, references, database, environment, ca_bundle })
}

fn blueprint<'a>(
    resource: &'a Resource,
    (spec, facts): (&'a LlamaStackDistributionSpec, &'a Facts),
    image: &RequestedImage,
    server: ServerFamily,
    made: &Configured,
    needs: ConfigNeeds,
) -> Blueprint<'a> {
    let ConfigNeeds { config, references, database, environment, ca_bundle } = needs;
    let inputs = resource.generation.map(|_| {
        own_inputs::own_inputs(resource, spec, image, &references, ca_bundle.as_deref(), facts)
            .text()
    });
    let generated = made.generated.as_ref();
    Blueprint {
        name: &resource.key.name,
        namespace: &resource.key.namespace,
        spec,
        facts,
        image: pinned(&image.image, facts.image.digest.as_deref()),
        container_name: resource.container_name.as_deref().unwrap_or(CONTAINER_NAME).to_owned(),
        config,
        server,
        environment,
        redis: generated.and_then(|generated| generated.redis.clone()),
        database,
        secret_hash: secret_check::hash(&references, facts),
        variables_hash: user_variables::hash(spec, facts),
        ca_bundle,
        external_providers: external(generated, made.merged.as_ref()),
        planned_for: resource.state().or_else(|| facts.planned_for.clone()),
        inputs: inputs.or_else(|| facts.inputs.clone()),
    }
}

/// Plans a resource that nothing else is to be done with.
pub fn parse_and_plan(resource: &Value, facts: &Facts) -> Planning {
    plan(&Resource::parse(resource), facts)
}

fn refuse(mut findings: Findings) -> Planning {
    findings.sort();
    Planning::Refused(findings)
}

fn stop(mut findings: Findings, missing: Vec<Problem>) -> Planning {
    findings.sort();
    if findings.problems.is_empty() {
        Planning::Unavailable { missing, warnings: findings.warnings }
    } else {
        Planning::Refused(findings)
    }
}

/// Under which ids a pod runs depends on it, and a server is not restarted by a guess.
fn unknown_security(facts: &Facts) -> Option<Problem> {
    let api = Api::SECURITY_CONSTRAINTS;
    (facts.serves(api) == Served::Unknown).then(|| Problem {
        path: FieldPath::spec(),
        reason: Reason::Unavailable,
        message: format!("could not determine whether the cluster serves {}; retrying", api.name()),
        remedy: "see that the API server behind it answers; it is asked again".to_owned(),
    })
}

/// The external providers that either file has.
fn external(generated: Option<&Generated>, merged: Option<&Merged>) -> Vec<ExternalInstall> {
    let generated = generated.map(|file| &file.external);
    generated.or(merged.map(|file| &file.external)).cloned().unwrap_or_default()
}

/// The variables that carry secrets.
fn bound(secrets: &[Bound]) -> impl Iterator<Item = Variable> {
    secrets.iter().map(|bound| Variable::secret(bound.name.as_str(), bound.secret.clone()))
}

/// The variables that the generated file refers to.
fn environment(
    generated: Option<&Generated>,
    database: Option<&Database>,
    name: &str,
) -> Vec<Variable> {
    let Some(generated) = generated else { return Vec::new() };
    let mut variables: Vec<Variable> = bound(&generated.secrets).collect();
    if let Some(database) = database {
        for key in database.form.keys() {
            let name = storage_secret::name(name, database);
            let secret = SecretKey { name, key: (*key).to_owned() };
            let name = format!("LLSD_STORAGE_SQL_{}", key.to_uppercase());
            variables.push(Variable::secret(name, secret));
        }
    }
    variables.extend(generated.variables.iter().cloned());
    variables
}
