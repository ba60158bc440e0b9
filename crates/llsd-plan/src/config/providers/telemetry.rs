//! Telemetry: a provider of the server up to 0.2, and nothing but OpenTelemetry's own environment
//! variables since.

use serde_json::Value;

use crate::config::draft::{Draft, UserProvider};
use crate::config::wiring::Variable;
use crate::problems::Reason;
use llsd_yaml::document::{Node, Origin};

/// Turns a telemetry provider into environment variables.
pub(super) fn to_environment(draft: &mut Draft<'_>, provider: &UserProvider<'_>) {
    let entry = provider.entry;
    if let Some(endpoint) = &entry.endpoint {
        set(draft, "OTEL_EXPORTER_OTLP_ENDPOINT", endpoint.clone());
    }
    for (path, key, value) in provider.settings() {
        match (key, text(value)) {
            ("service_name", Some(value)) => set(draft, "OTEL_SERVICE_NAME", value),
            (name, Some(value)) if name.starts_with("OTEL_") => set(draft, name, value),
            _ => ignored(draft, &path, "there is no telemetry provider that could take it"),
        }
    }
    for (field, given) in [
        ("apiKey", entry.api_key.is_some()),
        ("host", entry.host.is_some()),
        ("region", entry.region.is_some()),
        ("secretRefs", entry.secret_refs.is_some()),
    ] {
        if given {
            let reason = "telemetry is environment there; set an OTEL_ variable in overrides.env";
            ignored(draft, &provider.path.key(field), reason);
        }
    }
    // 0.3 sends nothing until it is switched on.
    if draft.profile.layout.has_telemetry_section {
        let origin = Origin::Field(provider.path.clone());
        let section = draft.document.entry_map("telemetry", &origin);
        section.set("enabled", Node::scalar(true, origin));
    }
}

fn ignored(draft: &mut Draft<'_>, path: &crate::problems::FieldPath, why: &str) {
    let message = format!("has no effect in {}: {why}", draft.profile.name());
    let remedy = "use endpoint, settings.service_name and settings that begin with OTEL_";
    draft.findings.warning(path, Reason::Ignored, message, remedy);
}

fn set(draft: &mut Draft<'_>, name: &str, value: String) {
    draft.plain_variables.retain(|variable| variable.name != name);
    draft.plain_variables.push(Variable::literal(name, value));
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        _ => None,
    }
}
