//! A JSON document of an image: its bytes, which have a digest, and what they say. Changing one
//! keeps every field that is not meant, known or not, in its place.

use bytes::Bytes;
use serde_json::{Map, Value};

use crate::{Digest, Error, labels::Change};

pub const OCI_MANIFEST: &str = "application/vnd.oci.image.manifest.v1+json";
pub const OCI_INDEX: &str = "application/vnd.oci.image.index.v1+json";

#[derive(Clone, Debug)]
pub struct Document {
    pub media_type: String,
    pub bytes: Bytes,
    pub value: Value,
}

impl Document {
    /// `listed_as` is what the document is called where it is listed; its own word counts more.
    /// Only OCI's documents may leave it out.
    pub fn parse(bytes: Bytes, listed_as: &str, what: &str) -> Result<Self, Error> {
        let value: Value =
            serde_json::from_slice(&bytes).map_err(|error| Error::malformed(what, error))?;
        let named = value.get("mediaType").and_then(Value::as_str);
        let media_type = match named {
            Some(named) => named,
            None if !listed_as.is_empty() => listed_as,
            None if value.get("manifests").is_some() => OCI_INDEX,
            None => OCI_MANIFEST,
        };
        Ok(Self { media_type: media_type.to_owned(), bytes, value })
    }

    pub fn digest(&self) -> Digest {
        Digest::sha256(&self.bytes)
    }

    fn changed(&self, value: Value) -> Self {
        let bytes = value.to_string().into_bytes().into();
        Self { media_type: self.media_type.clone(), bytes, value }
    }

    /// An image's configuration with other labels; the same bytes where they say it already.
    pub fn relabelled(&self, change: &Change, what: &str) -> Result<Self, Error> {
        let unclear = || Error::malformed(what, "its labels are not where they belong");
        let none = Map::new();
        let labels = match self.value.pointer("/config/Labels") {
            None | Some(Value::Null) => &none,
            Some(Value::Object(labels)) => labels,
            Some(_) => return Err(unclear()),
        };
        if change.is_made(labels) {
            return Ok(self.clone());
        }
        let mut value = self.value.clone();
        let root = value.as_object_mut().ok_or_else(unclear)?;
        let config = child(root, "config").ok_or_else(unclear)?;
        change.make(child(config, "Labels").ok_or_else(unclear)?);
        Ok(self.changed(value))
    }

    /// A manifest with another configuration.
    #[must_use]
    pub fn with_config(&self, config: &Self) -> Self {
        if self.value.pointer("/config/digest").and_then(Value::as_str)
            == Some(&config.digest().to_string())
        {
            return self.clone();
        }
        let mut value = self.value.clone();
        point(&mut value["config"], config);
        self.changed(value)
    }

    /// An index in which entries point to other manifests.
    #[must_use]
    pub fn with_entries<'a>(&self, entries: impl IntoIterator<Item = (usize, &'a Self)>) -> Self {
        let mut value = self.value.clone();
        for (position, manifest) in entries {
            point(&mut value["manifests"][position], manifest);
        }
        if value == self.value { self.clone() } else { self.changed(value) }
    }
}

/// The object under `key`, made where there is none.
fn child<'a>(parent: &'a mut Map<String, Value>, key: &str) -> Option<&'a mut Map<String, Value>> {
    let value = parent.entry(key).or_insert(Value::Null);
    if value.is_null() {
        *value = Value::Object(Map::new());
    }
    value.as_object_mut()
}

/// Makes a descriptor point to `target`.
fn point(descriptor: &mut Value, target: &Document) {
    let Some(fields) = descriptor.as_object_mut() else { return };
    let digest = target.digest().to_string();
    if fields.get("digest").and_then(Value::as_str) == Some(&digest) {
        return;
    }
    fields.insert("digest".to_owned(), digest.into());
    fields.insert("size".to_owned(), target.bytes.len().into());
    // A copy of the old content that a descriptor may carry.
    fields.shift_remove("data");
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn document(value: &Value) -> Document {
        Document::parse(value.to_string().into(), "", "x").unwrap()
    }

    #[test]
    fn a_label_changes_nothing_else() {
        let before = json!({
            "os": "linux", "x-unknown": {"b": 1, "a": [2.50, 18_446_744_073_709_551_615_u64]},
            "config": {"Env": ["A=1"], "Labels": {"z": "1", "a": "2"}, "Cmd": ["x"]},
            "history": [{"created": "2020-01-01T00:00:00Z"}],
        });
        let changed = document(&before).relabelled(&Change::inline("v", "2"), "x").unwrap();
        let mut expected = before;
        expected["config"]["Labels"]["io.llamastack.config.base64"] = "dg==".into();
        expected["config"]["Labels"]["io.llamastack.config.version"] = "2".into();
        assert_eq!(String::from_utf8_lossy(&changed.bytes), expected.to_string());
    }

    #[test]
    fn labels_are_made_where_there_are_none() {
        for before in [json!({}), json!({"config": null}), json!({"config": {"Labels": null}})] {
            let changed = document(&before).relabelled(&Change::inline("v", "2"), "x").unwrap();
            assert_eq!(changed.value["config"]["Labels"]["io.llamastack.config.version"], "2");
        }
        for before in [json!([]), json!({"config": 1}), json!({"config": {"Labels": []}})] {
            assert!(document(&before).relabelled(&Change::inline("v", "2"), "x").is_err());
        }
    }

    #[test]
    fn what_says_it_already_keeps_its_very_bytes() {
        let change = Change::inline("v", "2");
        let spaced = "{ \"config\": {\"Labels\" : {\"io.llamastack.config.base64\": \"dg==\", \
                       \"io.llamastack.config.version\": \"2\"}} }";
        let before = Document::parse(spaced.into(), "", "x").unwrap();
        assert_eq!(before.relabelled(&change, "x").unwrap().bytes, before.bytes);
        let manifest = format!("{{ \"config\": {{\"digest\": \"{}\"}} }}", before.digest());
        let manifest = Document::parse(manifest.into(), "", "x").unwrap();
        assert_eq!(manifest.with_config(&before).bytes, manifest.bytes);
    }

    #[test]
    fn an_index_keeps_what_is_not_named() {
        let manifest = document(&json!({"mediaType": "m", "layers": []}));
        let entry = json!({"mediaType": "m", "size": 1, "digest": "sha256:0", "data": "e30=",
            "platform": {"os": "linux", "architecture": "amd64"}, "annotations": {"a": "b"}});
        let attestation = json!({"digest": "sha256:1", "size": 2,
            "annotations": {"vnd.docker.reference.digest": "sha256:0"}});
        let index =
            document(&json!({"manifests": [attestation, entry], "annotations": {"c": "d"}}));
        let changed = index.with_entries([(1, &manifest)]);
        let expected = json!({
            "manifests": [attestation, {"mediaType": "m", "size": manifest.bytes.len(),
                "digest": manifest.digest(),
                "platform": {"os": "linux", "architecture": "amd64"}, "annotations": {"a": "b"}}],
            "annotations": {"c": "d"},
        });
        assert_eq!(String::from_utf8_lossy(&changed.bytes), expected.to_string());
        assert_eq!(index.media_type, OCI_INDEX);
        assert_eq!(manifest.media_type, "m");
    }
}
