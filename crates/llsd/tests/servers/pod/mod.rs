//! A planned pod on this machine: what the kubelet would do with the Deployment, for a real server
//! of a release. Command and environment are the planned ones; only paths and ports are moved.

pub mod stored;

use std::collections::BTreeMap;
use std::path::Path;

use k8s_openapi::api::core::v1::{Container, EnvVar, PodSpec};
use llsd_plan::facts::{BaseFacts, BaseSource, Facts, SecretFacts, SecretKeyFacts};
use llsd_plan::plan::{Plan, Planning, parse_and_plan};
use llsd_plan::server::paths::{TLS_CERT_FILE, TLS_KEY_FILE};
use llsd_testkit::{Boot, Release, free_port};
use serde_json::{Value, json};

/// Values of Secrets, by name and key.
pub type Secrets = BTreeMap<(&'static str, &'static str), String>;

/// Paths and the like belong to the machine, not to the pod.
const OF_THE_MACHINE: [&str; 8] = [
    "HOME",
    "HF_HOME",
    "LLAMA_STACK_CONFIG",
    "OGX_CONFIG",
    "OGX_CONFIG_DIR",
    "OGX_METRICS_HOST",
    "SSL_CERT_FILE",
    "REQUESTS_CA_BUNDLE",
];

/// A pod that can be started.
pub struct Pod {
    pub release: Release,
    pub plan: Box<Plan>,
    pub port: u16,
    secrets: Secrets,
}

impl Pod {
    /// Plans a resource of `spec` over a small base of the release. The port is one that is free.
    pub fn planned(release: Release, mut spec: Value, secrets: &Secrets) -> Self {
        let port = free_port().unwrap();
        spec["distribution"] = json!({"image": "registry.example.com/small"});
        spec["networking"]["port"] = port.into();
        let resource = json!({
            "apiVersion": "llamastack.io/v1alpha2",
            "kind": "LlamaStackDistribution",
            "metadata": {"name": "pod", "namespace": "default"},
            "spec": spec,
        });
        let mut facts = Facts { complete: true, ..Facts::default() };
        facts.image.release = Some(release.name().to_owned());
        let text = small_base(release).to_owned();
        facts.image.base = Some(BaseFacts { text, source: BaseSource::Labels, found_in: None });
        for ((name, key), value) in secrets {
            let connection = llsd_plan::values::connection::Connection::parse(value);
            let known = SecretKeyFacts {
                hash: format!("hash of {key}"),
                connection: (*key == "dsn").then_some(connection),
                ..SecretKeyFacts::default()
            };
            let secret: &mut SecretFacts = facts.secrets.entry((*name).to_owned()).or_default();
            secret.keys.insert((*key).to_owned(), known);
        }
        match parse_and_plan(&resource, &facts) {
            Planning::Planned(plan) => Self { release, plan, port, secrets: secrets.clone() },
            other => panic!("{release}: {other:#?}"),
        }
    }

    pub fn spec(&self) -> &PodSpec {
        let template = &self.plan.objects.deployment.spec.as_ref().unwrap().template;
        template.spec.as_ref().unwrap()
    }

    pub fn container(&self) -> &Container {
        &self.spec().containers[0]
    }

    /// The generated configuration.
    pub fn config(&self) -> &str {
        &self.plan.generated.as_ref().unwrap().text
    }

    /// The pod's start, with `config` in the place of the mounted file.
    pub fn boot(&self, config: String) -> Boot {
        let container = self.container();
        let program = self.plan.objects.start_program.as_ref().expect("a start program");
        let program = program.data.iter().map(|(name, text)| (*name, *text));
        let boot = Boot::new(config).unwrap().with_port(self.port).with_program(program).unwrap();
        let mut boot = boot.with_env("LLS_HOST", "127.0.0.1");
        for variable in container.env.iter().flatten() {
            if !OF_THE_MACHINE.contains(&variable.name.as_str()) {
                boot = boot.with_env(&variable.name, self.value(variable));
            }
        }
        boot
    }

    /// What the kubelet gives the variable.
    pub fn value(&self, variable: &EnvVar) -> String {
        if let Some(value) = &variable.value {
            return value.clone();
        }
        let source = variable.value_from.as_ref().and_then(|from| from.secret_key_ref.as_ref());
        let source = source.expect("a value or a Secret");
        if let Some((_, value)) =
            self.secrets.iter().find(|((name, key), _)| *name == source.name && *key == source.key)
        {
            return value.clone();
        }
        let owned = self.plan.objects.storage_secret.as_ref().expect("a Secret of that name");
        let data = owned.data.as_ref().unwrap();
        String::from_utf8(data[&source.key].0.clone()).unwrap()
    }
}

/// The configuration with the certificate at another place.
pub fn with_certificate(config: &str, certificate: &Path, key: &Path) -> String {
    config
        .replace(TLS_CERT_FILE, &certificate.to_string_lossy())
        .replace(TLS_KEY_FILE, &key.to_string_lossy())
}

/// What a distribution without heavy packages would carry, in the layout of the release.
fn small_base(release: Release) -> &'static str {
    match release {
        Release::V0_2_12 => include_str!("bases/0.2.12.yaml"),
        Release::V0_2_24 => include_str!("bases/0.2.24.yaml"),
        Release::V0_3_5 => include_str!("bases/0.3.yaml"),
        Release::V0_4_7 => include_str!("bases/0.4.yaml"),
        ogx if ogx.is_ogx() => include_str!("bases/ogx.yaml"),
        _ => include_str!("bases/0.5-to-0.7.yaml"),
    }
}
