//! Where the configuration of a resource comes from: the user's own ConfigMap, a base that generation
//! builds on, or the image alone.

use llsd_api::v1alpha2::{
    ExternalProvidersSpec, LlamaStackDistributionSpec, ProvidersSpec, ResourcesSpec,
};

use super::server::{KnownServer, own_file};
use super::{image_base, listening, monitoring};
use crate::config::{self, Generated, Merged};
use crate::facts::{BaseFacts, Facts};
use crate::objects::{ConfigCopy, ConfigSource};
use crate::problems::{FieldPath, Findings, Problem, Reason};
use crate::releases::ConfigDocument;
use crate::resource::image::RequestedImage;
use crate::values::sha256;

/// The configuration of a resource, and what it was made from.
pub(super) struct Configured {
    /// Nothing where there could be none.
    pub(super) source: Option<ConfigSource>,
    /// Where the base of a generated configuration was found.
    pub(super) base: Option<BaseFacts>,
    pub(super) generated: Option<Generated>,
    /// The user's own file with external providers, where the resource has both.
    pub(super) merged: Option<Merged>,
}

/// Chooses the configuration and makes it, from the document that the server was found by.
pub(super) fn configure(
    spec: &LlamaStackDistributionSpec,
    image: &RequestedImage,
    server: &mut KnownServer<'_>,
    facts: &Facts,
    findings: &mut Findings,
    unavailable: &mut Vec<Problem>,
) -> Configured {
    let (mut source, base) = choose(spec, image, server, facts, findings, unavailable);
    let (generated, merged) = match (&base, server.document.take()) {
        (Some(base), Some(document)) => {
            let drafted = config::generate(spec, facts, base, document);
            (drafted.file(findings, unavailable), None)
        }
        (_, document) => (None, merged(spec, &mut source, facts, document, findings, unavailable)),
    };
    if let Some(generated) = &generated {
        server.settle(generated);
        source = Some(ConfigSource::generated(generated.text.clone()));
    }
    Configured { source, base, generated, merged }
}

/// Whether the configuration is the user's own, generated, or the image's. Only a generated one
/// needs a base; without one nothing is chosen.
fn choose(
    spec: &LlamaStackDistributionSpec,
    image: &RequestedImage,
    server: &KnownServer<'_>,
    facts: &Facts,
    findings: &mut Findings,
    unavailable: &mut Vec<Problem>,
) -> (Option<ConfigSource>, Option<BaseFacts>) {
    if spec.override_config.is_some() {
        warn_of_unpinned_image(facts, findings);
        return (override_config(spec, server, facts, findings), None);
    }
    let needs_file =
        listening::needs_file(spec, server.layout) || monitoring::needs_file(spec, server.layout);
    if !needs_generation(spec) && !needs_file {
        warn_of_unpinned_image(facts, findings);
        listening::remark(spec, server, findings);
        return (Some(ConfigSource::Default), None);
    }
    let base = image_base::find(image, facts, findings);
    if base.is_none() {
        image_base::report_missing(image, facts, findings, unavailable);
    }
    (None, base)
}

/// Without a base a registry that fails blocks nothing.
fn warn_of_unpinned_image(facts: &Facts, findings: &mut Findings) {
    if let Some(why) = &facts.image.unavailable
        && facts.image.digest.is_none()
    {
        findings.warning(
            &FieldPath::spec().key("distribution"),
            Reason::Unavailable,
            format!("the registry cannot be asked ({why}); the image runs without a digest"),
            "check the registry and the pull secrets, or name the image by its digest",
        );
    }
}

/// Port, workers and TLS need no file: the start program passes them.
fn needs_generation(spec: &LlamaStackDistributionSpec) -> bool {
    // A section that is there and says nothing asks for nothing.
    let providers = spec.providers.iter().flat_map(ProvidersSpec::by_api);
    let mut providers = providers.filter_map(|(_, entries)| entries.as_ref());
    let resources = spec.resources.as_ref().is_some_and(|resources| {
        let ResourcesSpec { models, tools, shields } = resources;
        models.as_ref().is_some_and(|models| !models.is_empty())
            || tools.as_ref().is_some_and(|tools| !tools.is_empty())
            || shields.as_ref().is_some_and(|shields| !shields.is_empty())
    });
    providers.any(|entries| !entries.entries().is_empty())
        || resources
        || spec
            .storage
            .as_ref()
            .is_some_and(|storage| storage.kv.is_some() || storage.sql.is_some())
        || spec.disabled.as_ref().is_some_and(|disabled| !disabled.is_empty())
        || has_external_providers(spec)
        || spec.access.is_some()
}

fn override_config(
    spec: &LlamaStackDistributionSpec,
    server: &KnownServer<'_>,
    facts: &Facts,
    findings: &mut Findings,
) -> Option<ConfigSource> {
    let name = spec.override_config.as_ref()?.config_map_name.clone();
    let path = FieldPath::spec().key("overrideConfig").key("configMapName");
    let found = facts.config_maps.get(&name);
    if let Some(why) = found.and_then(|found| found.forbidden.as_ref()) {
        findings.problem(
            &path,
            Reason::ConfigMapForbidden,
            format!("ConfigMap {name} cannot be read: {why}"),
            "grant that right, or name another ConfigMap",
        );
        return None;
    }
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
        return Some(ConfigSource::Override { config_map: name, key, hash: None, copy: None });
    };
    let Some((key, text)) = own_file(spec, facts) else {
        findings.problem(
            &path,
            Reason::ConfigMapNotFound,
            format!("ConfigMap {name} has neither the key config.yaml nor run.yaml"),
            "put the configuration under the key config.yaml",
        );
        return None;
    };
    if let Some(wrong) = server.document.as_ref().and_then(ConfigDocument::fault) {
        findings.problem(
            &path,
            Reason::Invalid,
            format!("{key} of ConfigMap {name} cannot be read: {}: {}", wrong.at, wrong.message),
            "correct the file; the running server is unaffected",
        );
        return None;
    }
    Some(ConfigSource::Override {
        hash: Some(sha256::hex(text)),
        copy: Some(ConfigCopy::from_facts(found)),
        config_map: name,
        key: key.to_owned(),
    })
}

/// Whether the resource names external providers.
fn has_external_providers(spec: &LlamaStackDistributionSpec) -> bool {
    let mut external = spec.external_providers.iter().flat_map(ExternalProvidersSpec::by_api);
    external.any(|(_, providers)| providers.as_ref().is_some_and(|listed| !listed.is_empty()))
}

/// The user's own file with external providers, where the resource has both.
fn merged(
    spec: &LlamaStackDistributionSpec,
    source: &mut Option<ConfigSource>,
    facts: &Facts,
    document: Option<ConfigDocument<'_>>,
    findings: &mut Findings,
    unavailable: &mut Vec<Problem>,
) -> Option<Merged> {
    let Some(ConfigSource::Override { config_map, key, hash, copy }) = source.as_mut() else {
        return None;
    };
    if !has_external_providers(spec) {
        return None;
    }
    let Some(copy) = copy else {
        unavailable.push(Problem {
            path: FieldPath::spec().key("overrideConfig").key("configMapName"),
            reason: Reason::Unavailable,
            message: format!(
                "external providers are added to the file of ConfigMap {config_map}, which only the \
                 cluster has"
            ),
            remedy: format!("give its content with --facts, under configMaps.{config_map}.data"),
        });
        return None;
    };
    let merged = config::merge(spec, facts, document?).file(findings, unavailable)?;
    *hash = Some(sha256::hex(&merged.text));
    *copy = copy.with(key, &merged.text);
    Some(merged)
}
