//! The kubelet's own configuration file for credential providers, read as the kubelet reads it:
//! one file or a folder of them, strictly, with every mistake at once.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde_json::{Map, Value};

use crate::credentials::keyring::Pattern;
use crate::settings::{ConfigProblem, Problems, below, document, duration};

const FILE_VERSIONS: [&str; 3] =
    ["kubelet.config.k8s.io/v1", "kubelet.config.k8s.io/v1beta1", "kubelet.config.k8s.io/v1alpha1"];
const REQUEST_VERSIONS: [&str; 3] = [
    "credentialprovider.kubelet.k8s.io/v1",
    "credentialprovider.kubelet.k8s.io/v1beta1",
    "credentialprovider.kubelet.k8s.io/v1alpha1",
];
const PROVIDER_FIELDS: [&str; 7] =
    ["name", "matchImages", "defaultCacheDuration", "apiVersion", "args", "env", "tokenAttributes"];
const TOKEN_FIELDS: [&str; 5] = [
    "serviceAccountTokenAudience",
    "cacheType",
    "requireServiceAccount",
    "requiredServiceAccountAnnotationKeys",
    "optionalServiceAccountAnnotationKeys",
];

/// A `CredentialProviderConfig`.
#[derive(Clone, Debug, Default)]
pub struct PluginConfig {
    pub providers: Vec<ProviderConfig>,
    /// What works, but not as on a node.
    pub warnings: Vec<ConfigProblem>,
}

/// One provider. Its arguments and environment may hold secrets and are not shown.
#[derive(Clone)]
pub struct ProviderConfig {
    pub name: String,
    pub(super) match_images: Vec<Pattern>,
    pub(super) default_cache_duration: Duration,
    pub(super) api_version: String,
    pub(super) args: Vec<String>,
    pub(super) env: Vec<(String, String)>,
}

impl fmt::Debug for ProviderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProviderConfig").field("name", &self.name).finish_non_exhaustive()
    }
}

impl PluginConfig {
    /// Reads a file, or every `.yaml`, `.yml` and `.json` of a folder in the order of their names.
    pub fn load(path: &Path) -> Result<Self, Vec<ConfigProblem>> {
        let unreadable = |at: &Path, error: &std::io::Error| {
            vec![ConfigProblem {
                path: at.display().to_string(),
                message: error.kind().to_string(),
            }]
        };
        let mut files = vec![path.to_owned()];
        if path.is_dir() {
            let entries = path.read_dir().map_err(|error| unreadable(path, &error))?;
            files = entries.filter_map(|entry| Some(entry.ok()?.path())).collect();
            files.retain(|file| {
                let extension = file.extension().and_then(|extension| extension.to_str());
                file.is_file() && matches!(extension, Some("yaml" | "yml" | "json"))
            });
            files.sort();
        }
        let mut texts = Vec::new();
        for file in files {
            let text = std::fs::read_to_string(&file).map_err(|error| unreadable(&file, &error))?;
            texts.push(text);
        }
        Self::parse_all(texts.iter().map(String::as_str))
    }

    /// Reads one document, YAML or JSON.
    pub fn parse(text: &str) -> Result<Self, Vec<ConfigProblem>> {
        Self::parse_all([text])
    }

    fn parse_all<'a>(texts: impl IntoIterator<Item = &'a str>) -> Result<Self, Vec<ConfigProblem>> {
        let mut config = Self::default();
        let mut problems = Problems::default();
        for text in texts {
            match document(text) {
                Ok(value) => config.add(&value, &mut problems),
                Err(problem) => problems.0.push(problem),
            }
        }
        if config.providers.is_empty() && problems.0.is_empty() {
            problems.at("providers", "at least one provider is required");
        }
        if problems.0.is_empty() { Ok(config) } else { Err(problems.0) }
    }

    fn add(&mut self, value: &Value, problems: &mut Problems) {
        let Some(root) = problems.object("", value, &["apiVersion", "kind", "providers"]) else {
            return;
        };
        one_of("apiVersion", root, &FILE_VERSIONS, problems);
        one_of("kind", root, &["CredentialProviderConfig"], problems);
        for (path, item) in problems.items("providers", root.get("providers")) {
            let Some(provider) = self.provider(&path, item, problems) else { continue };
            if self.providers.iter().any(|other| other.name == provider.name) {
                problems.at(&below(&path, "name"), "another provider has this name");
            }
            self.providers.push(provider);
        }
    }

    fn provider(
        &mut self,
        path: &str,
        value: &Value,
        problems: &mut Problems,
    ) -> Option<ProviderConfig> {
        let fields = problems.object(path, value, &PROVIDER_FIELDS)?;
        let at = |key: &str| below(path, key);
        let name = problems.required(&at("name"), fields.get("name")).unwrap_or_default();
        // It becomes a file name below the folder of the binaries.
        if name.is_empty() || name == "." || name == ".." || name.contains(['/', ' ', '\0']) {
            problems.at(&at("name"), "must be the name of a file, without a slash or a space");
        }
        let api_version =
            one_of(&at("apiVersion"), fields, &REQUEST_VERSIONS, problems).unwrap_or_default();
        let mut match_images = Vec::new();
        for (path, text) in problems.texts(&at("matchImages"), fields.get("matchImages")) {
            match Pattern::parse(text) {
                Some(pattern) => match_images.push(pattern),
                None => problems.at(&path, "must be host[:port][/path], `*` allowed in the host"),
            }
        }
        if fields.get("matchImages").and_then(Value::as_array).is_none_or(Vec::is_empty) {
            problems.at(&at("matchImages"), "at least one is required");
        }
        let text =
            problems.required(&at("defaultCacheDuration"), fields.get("defaultCacheDuration"));
        let default_cache_duration = text.and_then(|text| {
            let parsed = duration(text);
            if parsed.is_none() {
                problems.at(&at("defaultCacheDuration"), "must be a duration such as 12h or 0s");
            }
            parsed
        });
        let args = problems.texts(&at("args"), fields.get("args"));
        let args = args.into_iter().map(|(_, argument)| argument.to_owned()).collect();
        let env = environment(&at("env"), fields.get("env"), problems);
        if let Some(attributes) = fields.get("tokenAttributes").filter(|value| !value.is_null()) {
            self.token_attributes(&at("tokenAttributes"), attributes, problems);
        }
        Some(ProviderConfig {
            name: name.to_owned(),
            match_images,
            default_cache_duration: default_cache_duration.unwrap_or_default(),
            api_version: api_version.to_owned(),
            args,
            env,
        })
    }

    /// On a node, such a plugin gets a token of the pod's ServiceAccount. The operator has no pod
    /// to bind a token to and no right to ask for one, so a plugin that cannot work without is
    /// refused, and one that can is asked without.
    fn token_attributes(&mut self, path: &str, value: &Value, problems: &mut Problems) {
        let Some(fields) = problems.object(path, value, &TOKEN_FIELDS) else { return };
        let required_keys = fields.get("requiredServiceAccountAnnotationKeys");
        let needs_annotations = !problems
            .texts(&below(path, "requiredServiceAccountAnnotationKeys"), required_keys)
            .is_empty();
        if fields.get("requireServiceAccount") == Some(&Value::Bool(false)) && !needs_annotations {
            self.warnings.push(ConfigProblem {
                path: path.to_owned(),
                message: "the operator asks this provider without a service account token".into(),
            });
        } else {
            problems.at(
                path,
                "this provider requires a pod's service account token, which the operator does \
                 not have; set requireServiceAccount: false without required annotation keys if \
                 it can work without, or leave the provider out of the operator's configuration",
            );
        }
    }
}

fn one_of<'v>(
    path: &str,
    fields: &'v Map<String, Value>,
    allowed: &[&str],
    problems: &mut Problems,
) -> Option<&'v str> {
    let key = path.rsplit('.').next().unwrap_or(path);
    let text = problems.required(path, fields.get(key))?;
    if !allowed.contains(&text) {
        problems.at(path, format!("must be one of {}", allowed.join(", ")));
    }
    Some(text)
}

fn environment(
    path: &str,
    value: Option<&Value>,
    problems: &mut Problems,
) -> Vec<(String, String)> {
    let mut env = Vec::new();
    for (path, item) in problems.items(path, value) {
        let Some(fields) = problems.object(&path, item, &["name", "value"]) else { continue };
        let name = problems.required(&below(&path, "name"), fields.get("name"));
        let value = problems.text(&below(&path, "value"), fields.get("value")).unwrap_or_default();
        match name {
            Some(name) if name.is_empty() || name.contains(['=', '\0']) => {
                problems.at(&below(&path, "name"), "must be the name of a variable");
            }
            Some(name) => env.push((name.to_owned(), value.to_owned())),
            None => {}
        }
    }
    env
}
