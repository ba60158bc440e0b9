//! One case of the table: what the objects are made from, and in the same file, after the first
//! `---`, the objects themselves. The tests of `llsd` put the same cases to a real API server.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use llsd_api::secret_ref::SecretKey;
use llsd_api::v1alpha2::{LlamaStackDistributionSpec, PullPolicy};
use llsd_plan::config::wiring::{
    Database, ExternalInstall, ProviderLabels, RedisSidecar, Variable, VariableValue,
};
use llsd_plan::facts::Facts;
use llsd_plan::objects::{Blueprint, ConfigCopy, ConfigSource, Objects, ca_bundle, objects};
use llsd_plan::problems::{FieldPath, Findings, Problem};
use llsd_plan::releases::ServerFamily;
use llsd_plan::values::connection::{Connection, Form};
use serde::Deserialize;

use crate::files::{repository, text, yaml_files};

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ObjectCase {
    /// What the case shows; for the reader.
    pub about: String,
    pub name: Option<String>,
    pub namespace: Option<String>,
    pub container_name: Option<String>,
    pub spec: LlamaStackDistributionSpec,
    /// Whether the image holds OGX.
    #[serde(default)]
    pub ogx: bool,
    #[serde(default)]
    pub facts: Facts,
    /// The generated configuration, if it is generated.
    pub generated: Option<String>,
    /// The key and the hash of the ConfigMap that `overrideConfig` names.
    pub r#override: Option<OverriddenBy>,
    /// Environment of generation: a literal, or a key of a Secret.
    #[serde(default)]
    pub environment: Vec<(String, Value)>,
    pub redis: Option<Redis>,
    /// A connection string, or `unknown`.
    pub database: Option<String>,
    pub secret_hash: Option<String>,
    pub variables_hash: Option<String>,
    #[serde(default)]
    pub external_providers: Vec<External>,
    /// As `path: message`.
    #[serde(default)]
    pub problems: Vec<String>,
    #[serde(default)]
    pub warnings: Vec<String>,
    /// In the table of rules: for each kind what stands at some places, or `null` where there is
    /// no such object.
    #[serde(default)]
    pub expect: BTreeMap<String, Option<BTreeMap<String, serde_json::Value>>>,
}

#[derive(Debug, Deserialize)]
pub struct OverriddenBy {
    pub key: String,
    pub hash: Option<String>,
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub enum Value {
    Literal(String),
    Secret(SecretKey),
}

#[derive(Debug, Deserialize)]
pub struct Redis {
    pub target: String,
    pub password: Option<SecretKey>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct External {
    pub id: String,
    pub image: String,
    pub pull_policy: Option<PullPolicy>,
    /// Its labels speak for it, and it may hold no wheels.
    #[serde(default)]
    pub labelled: bool,
}

/// The namespace of a case that names none.
pub const NAMESPACE: &str = "team";

impl ObjectCase {
    /// The cases of the table of rules.
    pub fn rules() -> Vec<Self> {
        let text = text(&repository("crates/llsd-plan/tests/object_rules.yaml"));
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("object_rules.yaml: {error}"))
    }

    /// All cases with whole objects, with the files they stand in.
    pub fn all() -> Vec<(PathBuf, Self)> {
        let files = yaml_files("crates/llsd-plan/tests/objects");
        files.into_iter().map(|file| (file.clone(), Self::load(&file))).collect()
    }

    fn load(file: &Path) -> Self {
        let text = text(file);
        let input = text.split("\n---\n").next().unwrap();
        serde_saphyr::from_str(input).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
    }

    /// The objects, and everything that was remarked on while they were planned.
    pub fn objects(&self) -> (Objects, Findings) {
        let (ca_bundle, mut findings) = ca_bundle::text(&self.spec, self.namespace(), &self.facts);
        let (objects, more) = objects(&self.blueprint(ca_bundle), None);
        findings.problems.extend(more.problems);
        findings.warnings.extend(more.warnings);
        (objects, findings)
    }

    fn server(&self) -> ServerFamily {
        if self.ogx { ServerFamily::Ogx } else { ServerFamily::LlamaStack }
    }

    fn namespace(&self) -> &str {
        self.namespace.as_deref().unwrap_or(NAMESPACE)
    }

    fn blueprint(&self, ca_bundle: Option<String>) -> Blueprint<'_> {
        let digest = "sha256:5f70bf18a086007016e948b04aed3b82103a36bea41755b6cddfaf10ace3c6ef";
        let override_config = self.spec.override_config.as_ref();
        let config = match (&self.generated, override_config.zip(self.r#override.as_ref())) {
            (Some(text), _) => ConfigSource::generated(text.clone()),
            (None, Some((spec, by))) => ConfigSource::Override {
                config_map: spec.config_map_name.clone(),
                key: by.key.clone(),
                hash: by.hash.clone(),
                copy: self.facts.config_maps.get(&spec.config_map_name).map(ConfigCopy::from_facts),
            },
            (None, None) => ConfigSource::Default,
        };
        Blueprint {
            name: self.name.as_deref().unwrap_or("llama"),
            namespace: self.namespace(),
            spec: &self.spec,
            facts: &self.facts,
            image: format!("docker.io/llamastack/distribution-starter@{digest}"),
            container_name: self.container_name.clone().unwrap_or("llama-stack".into()),
            config,
            server: self.server(),
            environment: self.environment.iter().map(variable).collect(),
            redis: self.redis.as_ref().map(|redis| RedisSidecar {
                target: redis.target.clone(),
                password: redis.password.clone(),
            }),
            database: self.database.as_deref().map(|text| Database {
                form: Form::Encoded,
                connection: (text != "unknown")
                    .then(|| Connection::parse(text).expect("a connection string")),
                hash: None,
            }),
            secret_hash: self.secret_hash.clone(),
            variables_hash: self.variables_hash.clone(),
            ca_bundle,
            external_providers: self.external_providers.iter().map(install).collect(),
            planned_for: None,
            inputs: None,
        }
    }
}

fn variable((name, value): &(String, Value)) -> Variable {
    let value = match value {
        Value::Literal(text) => VariableValue::Literal(text.clone()),
        Value::Secret(target) => VariableValue::Secret(target.clone()),
    };
    Variable { name: name.clone(), value }
}

fn install(external: &External) -> ExternalInstall {
    ExternalInstall {
        provider_id: external.id.clone(),
        api: "inference".to_owned(),
        image: external.image.clone(),
        pull_policy: external.pull_policy,
        path: FieldPath::spec(),
        container: format!("install-{}", external.id),
        labels: external.labelled.then(|| ProviderLabels {
            provider_type: "remote::acme".to_owned(),
            module: "acme".to_owned(),
            config_class: None,
        }),
    }
}

/// Findings as the tables have them.
pub fn listed(findings: &[Problem]) -> Vec<String> {
    findings.iter().map(|finding| format!("{}: {}", finding.path, finding.message)).collect()
}
