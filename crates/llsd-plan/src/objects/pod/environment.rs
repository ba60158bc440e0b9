//! Environment variables of the server: the operator's first, then the user's, which win.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{EnvVar, EnvVarSource, SecretKeySelector};
use llsd_api::secret_ref::SecretKey;

use super::external_providers;
use crate::config::wiring::VariableValue;
use crate::objects::blueprint::{Blueprint, ConfigSource};
use crate::problems::{FieldPath, Findings, Reason};
use crate::releases::ServerFamily;
use crate::server::guarded::{OWN_VARIABLES, own_variables};
use crate::server::paths::{CONFIG_FILE, TLS_CERT_FILE, TLS_KEY_FILE, TRUST_FILE};

/// Variables that the Service, the probes and the start program rely on.
const PORTS: [&str; 3] = ["LLS_PORT", "LLAMA_STACK_PORT", "OGX_PORT"];
const PYTHON_PATH: &str = "PYTHONPATH";

/// The folder of models from Hugging Face.
const HF_HOME: &str = "HF_HOME";

/// The environment of the server's container. No name appears twice, as server-side apply demands.
pub(super) fn variables(blueprint: &Blueprint, findings: &mut Findings) -> Vec<EnvVar> {
    let theirs = last_of_each_name(blueprint.overrides().env.as_deref().unwrap_or_default());
    let overridden: BTreeSet<&str> = theirs.iter().map(|variable| variable.name.as_str()).collect();
    remark_on_overridden(blueprint, findings);
    let ours = ours(blueprint).into_iter();
    let mut variables: Vec<EnvVar> =
        ours.filter(|variable| !overridden.contains(variable.name.as_str())).collect();
    variables.extend(theirs.iter().map(|variable| (*variable).clone()));
    variables
}

/// A literal variable.
pub(in crate::objects) fn literal(name: impl Into<String>, value: impl Into<String>) -> EnvVar {
    EnvVar { name: name.into(), value: Some(value.into()), value_from: None }
}

/// A variable whose value only the kubelet reads.
pub(super) fn secret(name: impl Into<String>, target: &SecretKey) -> EnvVar {
    EnvVar {
        name: name.into(),
        value: None,
        value_from: Some(EnvVarSource {
            secret_key_ref: Some(SecretKeySelector {
                name: target.name.clone(),
                key: target.key.clone(),
                optional: None,
            }),
            ..Default::default()
        }),
    }
}

/// The folder under its home in which a server keeps its state.
fn state_folder(server: ServerFamily) -> &'static str {
    match server {
        ServerFamily::LlamaStack => "/.llama",
        ServerFamily::Ogx => "/.ogx",
    }
}

/// The home for which the server's state lies on the volume.
fn home(server: ServerFamily, mount_path: &str) -> &str {
    let path = mount_path.trim_end_matches('/');
    match path.strip_suffix(state_folder(server)) {
        Some("") => "/",
        Some(parent) => parent,
        None => mount_path,
    }
}

fn ours(blueprint: &Blueprint) -> Vec<EnvVar> {
    let mount_path = blueprint.mount_path();
    let port = blueprint.port().to_string();
    let home = home(blueprint.server, mount_path);
    let mut variables = vec![literal("HOME", home)];
    // An image that brings models sets the folder itself, and another one would hide them.
    let of_image = blueprint.facts.image.variables.as_ref();
    if !of_image.is_some_and(|names| names.contains(HF_HOME)) {
        variables.insert(0, literal(HF_HOME, mount_path));
    }
    if blueprint.ca_bundle.is_some() {
        variables.push(literal("SSL_CERT_FILE", TRUST_FILE));
        // Clients built on `requests` look at nothing else.
        variables.push(literal("REQUESTS_CA_BUNDLE", TRUST_FILE));
    }
    variables.push(literal("LLS_WORKERS", blueprint.workers().to_string()));
    variables.push(literal("LLS_PORT", &port));
    // What an image's own entrypoint listens on; it ignores `server.port`.
    variables.push(literal("LLAMA_STACK_PORT", &port));
    if blueprint.config != ConfigSource::Default {
        variables.push(literal("LLAMA_STACK_CONFIG", CONFIG_FILE));
    }
    if blueprint.server == ServerFamily::Ogx {
        // Without it the server takes what it finds in `~/.llama` for its own and moves it away.
        let state = format!("{}{}", home.trim_end_matches('/'), state_folder(ServerFamily::Ogx));
        variables.push(literal("OGX_CONFIG_DIR", state));
        variables.push(literal("OGX_PORT", &port));
        if blueprint.config != ConfigSource::Default {
            variables.push(literal("OGX_CONFIG", CONFIG_FILE));
        }
    }
    if blueprint.server_tls().is_some() {
        // A generated file has them too; a file of the user's need not.
        variables.push(literal("LLS_TLS_CERT_FILE", TLS_CERT_FILE));
        variables.push(literal("LLS_TLS_KEY_FILE", TLS_KEY_FILE));
    }
    if let Some(python_path) = external_providers::python_path(blueprint) {
        variables.push(literal(PYTHON_PATH, python_path));
    }
    variables.extend(blueprint.environment.iter().map(|variable| match &variable.value {
        VariableValue::Literal(value) => literal(&variable.name, value),
        VariableValue::Secret(target) => secret(&variable.name, target),
    }));
    if blueprint.listening().guarded {
        let names = variables.iter().map(|variable| variable.name.as_str());
        let sources = blueprint.overrides().env_from.as_ref();
        let own = own_variables(names, sources.is_some_and(|sources| !sources.is_empty()));
        variables.push(literal(OWN_VARIABLES, own));
    }
    variables
}

/// Kubernetes takes the last of several; v1alpha1 lets several through.
fn last_of_each_name(variables: &[EnvVar]) -> Vec<&EnvVar> {
    let mut seen = BTreeSet::new();
    let mut kept: Vec<&EnvVar> =
        variables.iter().rev().filter(|variable| seen.insert(&variable.name)).collect();
    kept.reverse();
    kept
}

fn remark_on_overridden(blueprint: &Blueprint, findings: &mut Findings) {
    let path = FieldPath::spec().key("workload").key("overrides").key("env");
    let port = blueprint.port().to_string();
    for (index, variable) in blueprint.overrides().env.iter().flatten().enumerate() {
        let name = variable.name.as_str();
        if PORTS.contains(&name) && variable.value.as_ref() != Some(&port) {
            findings.warning(
                &path.index(index),
                Reason::Conflict,
                format!("{name} differs from the port {port} that Service and probes use"),
                "remove the variable and set networking.port",
            );
        } else if name == PYTHON_PATH && !blueprint.external_providers.is_empty() {
            findings.warning(
                &path.index(index),
                Reason::Conflict,
                "PYTHONPATH replaces the one by which external providers are found",
                format!(
                    "add {} to it",
                    external_providers::python_path(blueprint).unwrap_or_default()
                ),
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("/.llama", "/", "/.llama")]
    #[case("/.llama/", "/", "/.llama/")]
    #[case("/home/lls/.llama", "/home/lls", "/home/lls/.llama")]
    #[case("/home/lls/.ogx", "/home/lls/.ogx", "/home/lls")]
    #[case("/.ogx/", "/.ogx/", "/")]
    #[case("/home/lls/.lls", "/home/lls/.lls", "/home/lls/.lls")]
    #[case("/data", "/data", "/data")]
    #[case("/my.llama", "/my.llama", "/my.llama")]
    fn what_the_server_keeps_in_its_home_lies_on_the_volume(
        #[case] mount_path: &str,
        #[case] of_llama_stack: &str,
        #[case] of_ogx: &str,
    ) {
        assert_eq!(home(ServerFamily::LlamaStack, mount_path), of_llama_stack);
        assert_eq!(home(ServerFamily::Ogx, mount_path), of_ogx);
    }
}
