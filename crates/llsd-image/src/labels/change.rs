//! The labels to write for a configuration, and nothing beside them.

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Map, Value};

use super::read::{INLINE, LAYER, PATH, VERSION};
use crate::Digest;

/// A configuration of fewer bytes is put into a label itself; a longer one is pointed to. Every
/// reader of an image fetches all its labels, so they stay small.
pub const INLINE_BELOW: usize = 51_200;

/// Labels to set and labels to take away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    set: Vec<(&'static str, String)>,
    /// What would say something else about the same configuration.
    remove: &'static [&'static str],
}

impl Change {
    /// The configuration itself.
    pub fn inline(text: &str, version: &str) -> Self {
        let set = vec![(INLINE, BASE64_STANDARD.encode(text)), (VERSION, version.to_owned())];
        Self { set, remove: &[LAYER, PATH] }
    }

    /// The layer that holds the configuration, and its path there.
    pub fn in_layer(layer: &Digest, path: &str, version: &str) -> Self {
        let (layer, path, version) = (layer.to_string(), path.to_owned(), version.to_owned());
        Self { set: vec![(LAYER, layer), (PATH, path), (VERSION, version)], remove: &[INLINE] }
    }

    /// The labels that are written, in their order.
    pub fn written(&self) -> impl Iterator<Item = &'static str> {
        self.set.iter().map(|(label, _)| *label)
    }

    /// Whether the labels say it already.
    pub fn is_made(&self, labels: &Map<String, Value>) -> bool {
        let set = |(label, value): &(&str, String)| {
            labels.get(*label).and_then(Value::as_str) == Some(value)
        };
        self.set.iter().all(set) && !self.remove.iter().any(|label| labels.contains_key(*label))
    }

    /// Other labels keep their values and their order.
    pub fn make(&self, labels: &mut Map<String, Value>) {
        for label in self.remove {
            labels.shift_remove(*label);
        }
        for (label, value) in &self.set {
            labels.insert((*label).to_owned(), Value::String(value.clone()));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::labels::{Labels, Location, locate};

    fn map(labels: Value) -> Map<String, Value> {
        let Value::Object(labels) = labels else { panic!("labels") };
        labels
    }

    #[test]
    fn what_is_written_is_what_is_read() {
        let digest = Digest::sha256(b"layer");
        for (change, expected) in [
            (
                Change::inline("version: 2", "2"),
                Location::Inline { label: INLINE.into(), text: "version: 2".into() },
            ),
            (
                Change::in_layer(&digest, "/app/c.yaml", "2"),
                Location::InLayer { digest: digest.clone(), path: "app/c.yaml".into() },
            ),
        ] {
            // Over the labels of the other form, which must not win afterwards.
            let before = json!({"z": "1", INLINE: "bzJk", LAYER: "sha256:0", PATH: "x", "a": "2"});
            let mut labels = map(before);
            assert!(!change.is_made(&labels));
            change.make(&mut labels);
            assert!(change.is_made(&labels));
            let others: Vec<&String> =
                labels.keys().filter(|label| !label.starts_with("io.llamastack.")).collect();
            assert_eq!(others, ["z", "a"]);
            let text = |value: Value| value.as_str().unwrap().to_owned();
            let read: Labels = labels.into_iter().map(|(key, value)| (key, text(value))).collect();
            assert_eq!(locate(&read, 1000).unwrap().unwrap(), expected);
            assert_eq!(read[VERSION], "2");
        }
    }
}
