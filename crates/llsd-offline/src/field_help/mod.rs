//! What one field of the resource is, from the description that the resource definition is made of: type,
//! shapes, bounds and meaning, the field of the other version, and the servers that have use for it.

mod servers;
mod text;
mod walk;
mod words;

use llsd_api::conversion::{Version, v1alpha2_field};
use llsd_api::crd::{described_v1alpha1, described_v1alpha2};
use llsd_plan::problems::FieldPath;
use llsd_plan::validate::v1alpha1_path;
use llsd_yaml::Segment;
use serde::Serialize;
use serde_json::Value;

/// One field.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldHelp {
    pub path: String,
    pub api_version: &'static str,
    /// The shapes that it takes, in words.
    #[serde(rename = "type")]
    pub kind: String,
    pub required: bool,
    pub description: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default: Option<Value>,
    /// The only values that it takes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Value>,
    /// Where the other version has it.
    pub other_version: OtherVersion,
    /// The servers that have use for it, in words; nothing where all have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub servers: Option<String>,
    /// The fields below it.
    pub fields: Vec<FieldBelow>,
}

/// The same field in the other version.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OtherVersion {
    pub api_version: &'static str,
    /// Nothing where it has no such field.
    pub path: Option<String>,
}

/// A field below one, in a line.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FieldBelow {
    pub name: String,
    #[serde(rename = "type")]
    pub kind: String,
    pub required: bool,
    pub description: String,
}

/// Whether a word of the command line is a field, and no resource's name: names have no dots. What ends as
/// files do is a file.
pub fn is_field(word: &str) -> bool {
    let is_file = [".yaml", ".yml", ".json"].iter().any(|ending| word.ends_with(ending));
    matches!(word, "spec" | "status" | "metadata") || word.contains('.') && !is_file
}

/// The field at `written`, such as `spec.providers.inference[0].endpoint`. The error says which part of the
/// path is not there, and what was probably meant.
pub fn field_help(written: &str, version: Version) -> Result<FieldHelp, String> {
    let root = match version {
        Version::V1Alpha1 => described_v1alpha1(),
        Version::V1Alpha2 => described_v1alpha2(),
    };
    let found = walk::walk(&root, &walk::keys(written))?;
    let path = found.path.join(".");
    let fields = walk::fields(found.schema);
    Ok(FieldHelp {
        api_version: version.api_version(),
        kind: words::kind(found.schema),
        required: found.required,
        description: words::description(found.schema),
        default: found.schema.get("default").cloned(),
        values: found.schema["enum"].as_array().cloned().unwrap_or_default(),
        other_version: other_version(&found.path, version),
        servers: servers::of(&found.path),
        fields: fields
            .into_iter()
            .map(|(name, schema, required)| below(name, schema, required))
            .collect(),
        path,
    })
}

fn below(name: &str, schema: &Value, required: bool) -> FieldBelow {
    let kind = words::kind(schema);
    FieldBelow { name: name.to_owned(), kind, required, description: words::description(schema) }
}

fn other_version(path: &[String], version: Version) -> OtherVersion {
    let other = match version {
        Version::V1Alpha1 => Version::V1Alpha2,
        Version::V1Alpha2 => Version::V1Alpha1,
    };
    let found = match version {
        Version::V1Alpha2 => in_v1alpha1(path),
        Version::V1Alpha1 => in_v1alpha2(path),
    };
    OtherVersion { api_version: other.api_version(), path: found }
}

/// The field of v1alpha1, if it has one: a part of the path is another there, or the field is metadata.
fn in_v1alpha1(path: &[String]) -> Option<String> {
    let own = path.iter().fold(FieldPath::root(), |own, key| own.key(key));
    let other = v1alpha1_path(&own);
    exists(&other, &described_v1alpha1()).then(|| other.to_string())
}

fn in_v1alpha2(path: &[String]) -> Option<String> {
    for length in (1..=path.len()).rev() {
        let Some(found) = v1alpha2_field(&format!("/{}", path[..length].join("/"))) else {
            continue;
        };
        let start = found.split('/').skip(1).fold(FieldPath::root(), |start, key| start.key(key));
        let other = path[length..].iter().fold(start, |other, key| other.key(key));
        return exists(&other, &described_v1alpha2()).then(|| other.to_string());
    }
    let same = path.iter().fold(FieldPath::root(), |own, key| own.key(key));
    exists(&same, &described_v1alpha2()).then(|| same.to_string())
}

fn exists(path: &FieldPath, root: &Value) -> bool {
    let keys: Vec<String> = path.segments().iter().map(Segment::to_string).collect();
    walk::walk(root, &keys).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn v1alpha2(written: &str) -> FieldHelp {
        field_help(written, Version::V1Alpha2).unwrap()
    }

    #[test]
    fn a_field_says_what_it_takes_and_where_it_is_in_the_other_version() {
        let port = v1alpha2("spec.networking.port");
        assert_eq!(port.kind, "integer, 1024 to 65535");
        assert_eq!(port.other_version.path.as_deref(), Some("spec.server.containerSpec.port"));
        let back = field_help("spec.server.containerSpec.port", Version::V1Alpha1).unwrap();
        assert_eq!(back.other_version.path.as_deref(), Some("spec.networking.port"));
        let endpoint = v1alpha2("llsd.spec.providers.inference[0].endpoint");
        assert_eq!((endpoint.kind.as_str(), endpoint.other_version.path), ("string", None));
        let key = v1alpha2("spec.providers.inference.apiKey");
        assert!(key.kind.starts_with("a secret reference"), "{}", key.kind);
        let fields: Vec<&str> = key.fields.iter().map(|below| below.name.as_str()).collect();
        assert_eq!(fields, ["name", "key", "secretKeyRef"]);
        assert_eq!(v1alpha2("spec.providers.telemetry").servers.as_deref(), Some("until 0.2.24"));
    }

    #[test]
    fn a_misspelt_path_gets_the_nearest_field_or_the_place_where_it_is() {
        for (written, answer) in [
            (
                "spec.providers.inference.endpont",
                "spec.providers.inference has no field endpont; did you mean spec.providers.inference.endpoint?",
            ),
            ("spec.replicas", "spec has no field replicas; did you mean spec.workload.replicas?"),
            (
                "spec.workload.replicas.most",
                "spec.workload.replicas has no field most: it has no fields",
            ),
        ] {
            assert_eq!(field_help(written, Version::V1Alpha2).unwrap_err(), answer);
        }
        let free = field_help("spec.providers.inference.settings.max_tokens", Version::V1Alpha2);
        assert!(free.unwrap_err().ends_with("what stands below it is passed on as it is"));
    }

    #[test]
    fn names_of_resources_and_files_are_no_fields() {
        for (word, answer) in
            [("spec", true), ("spec.providers", true), ("my-stack", false), ("stack.yaml", false)]
        {
            assert_eq!(is_field(word), answer, "{word}");
        }
    }
}
