//! How a server is told to be watched: by variables, whatever its configuration comes from. Only where a release
//! needs a word in its file is one generated for it.

use llsd_api::v1alpha2::{LlamaStackDistributionSpec, MetricsSpec, OtlpSpec};

use super::server::KnownServer;
use crate::config::wiring::Variable;
use crate::objects::ConfigSource;
use crate::problems::{FieldPath, Findings, Reason};
use crate::releases::Release;

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const SERVICE: &str = "OTEL_SERVICE_NAME";

/// Whether a configuration is generated only so that telemetry is sent.
pub(super) fn needs_file(spec: &LlamaStackDistributionSpec, layout: Option<&Release>) -> bool {
    otlp(spec).is_some() && layout.is_some_and(|layout| layout.has_telemetry_section)
}

/// Adds the variables to those that generation gives the server, and says what its release cannot do.
pub(super) fn add(
    (spec, name): (&LlamaStackDistributionSpec, &str),
    config: &ConfigSource,
    server: &KnownServer<'_>,
    variables: &mut Vec<Variable>,
    findings: &mut Findings,
) {
    let path = FieldPath::spec().key("monitoring");
    if let Some(metrics) = metrics(spec) {
        check_metrics(server, &path.key("metrics").key("enabled"), findings);
        let port = metrics.port.unwrap_or(MetricsSpec::DEFAULT_PORT).to_string();
        for (name, value) in [
            ("OGX_METRICS_ENDPOINT_ENABLED", "1"),
            // By itself it listens where nobody but the pod reaches it.
            ("OGX_METRICS_HOST", "0.0.0.0"),
            ("OGX_METRICS_PORT", &port),
        ] {
            variables.push(Variable::literal(name, value));
        }
    }
    if let Some(otlp) = otlp(spec) {
        let path = path.key("otlp").key("endpoint");
        check_otlp(config, server, &path, findings);
        if variables.iter().any(|variable| variable.name == ENDPOINT) {
            let message = "replaces that of providers.telemetry";
            findings.warning(&path, Reason::Conflict, message, "keep one of the two");
        }
        variables.retain(|variable| variable.name != ENDPOINT);
        variables.push(Variable::literal(ENDPOINT, otlp.endpoint.trim_end_matches('/')));
        if !variables.iter().any(|variable| variable.name == SERVICE) {
            variables.push(Variable::literal(SERVICE, name));
        }
    }
}

fn check_metrics(server: &KnownServer<'_>, path: &FieldPath, findings: &mut Findings) {
    let first = server.releases.first_with(|release| release.serves_metrics);
    match server.layout {
        Some(layout) if !layout.serves_metrics => findings.problem(
            path,
            Reason::Invalid,
            format!("{} serves no metrics; {first} and later do", title(layout)),
            format!("run an image of {first} or later, or send telemetry by monitoring.otlp"),
        ),
        Some(_) => {}
        None => unknown(path, first, findings),
    }
}

fn check_otlp(
    config: &ConfigSource,
    server: &KnownServer<'_>,
    path: &FieldPath,
    findings: &mut Findings,
) {
    let first = server.releases.first_with(|release| release.reads_otlp_variables);
    match server.layout {
        Some(layout) if !layout.reads_otlp_variables => findings.problem(
            path,
            Reason::Invalid,
            format!("{} sends telemetry by a provider of its own", title(layout)),
            format!("configure providers.telemetry, or run an image of {first} or later"),
        ),
        Some(layout) if layout.has_telemetry_section && is_own(config) => findings.warning(
            path,
            Reason::Conflict,
            format!("{} sends nothing until its file switches telemetry on", title(layout)),
            "set telemetry.enabled in the ConfigMap of overrideConfig",
        ),
        Some(_) => {}
        None => unknown(path, &format!("llama-stack {first}"), findings),
    }
}

fn metrics(spec: &LlamaStackDistributionSpec) -> Option<&MetricsSpec> {
    spec.monitoring.as_ref()?.metrics.as_ref().filter(|metrics| metrics.enabled)
}

fn otlp(spec: &LlamaStackDistributionSpec) -> Option<&OtlpSpec> {
    spec.monitoring.as_ref()?.otlp.as_ref()
}

fn is_own(config: &ConfigSource) -> bool {
    matches!(config, ConfigSource::Override { .. })
}

/// As messages name a release: with its server where its number alone does not tell.
fn title(layout: &Release) -> String {
    let name = &layout.layout;
    if name.starts_with("OGX") { name.clone() } else { format!("llama-stack {name}") }
}

fn unknown(path: &FieldPath, since: &str, findings: &mut Findings) {
    findings.warning(
        path,
        Reason::Unavailable,
        format!("the release of the image is not known: it has no effect in one before {since}"),
        "a version label on the image settles it",
    );
}
