//! A resource as it is kept in memory: compressed JSON without what nobody reads. A thousand of them
//! as parsed trees would take more than the rest of the operator.

use std::io::{Read, Write};
use std::sync::LazyLock;

use flate2::Compression;
use flate2::bufread::DeflateDecoder;
use flate2::write::DeflateEncoder;
use llsd_api::v1alpha2::Phase;
use serde::Deserialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::operator::telemetry::{Condition, HeldChange};
use llsd_plan::live::version;

/// One resource.
#[derive(Clone, Debug)]
pub struct Packed {
    pub uid: Box<str>,
    pub version: u64,
    pub phase: Option<Phase>,
    /// Why its server runs otherwise than is planned.
    pub held: Option<HeldChange>,
    pub conditions: Box<[Condition]>,
    bytes: Box<[u8]>,
    /// Of everything that a reconcile depends on.
    asked: [u8; 16],
    /// Of the status, so that our own writes are told from those of others.
    status: [u8; 16],
}

/// What is new about a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResourceNews {
    /// Nothing that a reconcile depends on.
    Nothing,
    /// Only its status, which another client wrote.
    Status,
    /// What it asks for.
    Asked,
}

impl Packed {
    pub fn new(mut object: Value) -> Self {
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("managedFields");
        }
        let version = version(&object["metadata"]);
        let status = digest(&object["status"]);
        let asked = digest_of(|hash| {
            feed_fields(hash, &object, &["metadata", "status"]);
            feed_fields(hash, &object["metadata"], &["resourceVersion"]);
        });
        Self {
            uid: object["metadata"]["uid"].as_str().unwrap_or_default().into(),
            version,
            phase: Phase::deserialize(&object["status"]["phase"]).ok(),
            held: HeldChange::from_status(&object["status"]),
            conditions: Condition::all_in_status(&object["status"]),
            bytes: pack(&object.to_string()),
            asked,
            status,
        }
    }

    pub fn unpack(&self) -> Value {
        serde_json::from_str(&unpack(&self.bytes)).expect("packed by us")
    }

    /// Whether a text is anywhere in it; quicker than to read it.
    pub fn mentions(&self, text: &str) -> bool {
        unpack(&self.bytes).contains(text)
    }

    /// What a later one brings that a reconcile depends on.
    pub fn news_in(&self, later: &Self) -> ResourceNews {
        if self.uid != later.uid || self.asked != later.asked {
            ResourceNews::Asked
        } else if self.status != later.status {
            ResourceNews::Status
        } else {
            ResourceNews::Nothing
        }
    }

    /// Notes the status that is about to be written, so that its event wakes nobody.
    pub fn expect_status(&mut self, status: &Value) {
        self.status = digest(status);
    }
}

/// A settled resource. What others have in common with it takes no room in them: each is compressed
/// as if this stood before it, and kept from there on.
struct Typical {
    text: String,
    packed: Vec<u8>,
}

static TYPICAL: LazyLock<Typical> = LazyLock::new(|| {
    let value: Value = serde_json::from_str(include_str!("typical.json")).expect("well-formed");
    let text = value.to_string();
    let packed = packer_after(&text).get_ref().clone();
    Typical { text, packed }
});

fn packer_after(text: &str) -> DeflateEncoder<Vec<u8>> {
    let mut packer = DeflateEncoder::new(Vec::new(), Compression::fast());
    packer.write_all(text.as_bytes()).expect("writing to memory");
    // Up to here the bytes are the same each time, whatever follows.
    packer.flush().expect("writing to memory");
    packer
}

fn pack(text: &str) -> Box<[u8]> {
    let mut packer = packer_after(&TYPICAL.text);
    packer.write_all(text.as_bytes()).expect("writing to memory");
    packer.finish().expect("writing to memory")[TYPICAL.packed.len()..].into()
}

fn unpack(bytes: &[u8]) -> String {
    let mut text = String::new();
    let whole = TYPICAL.packed.chain(bytes);
    DeflateDecoder::new(whole).read_to_string(&mut text).expect("packed by us");
    text.split_off(TYPICAL.text.len())
}

fn digest(value: &Value) -> [u8; 16] {
    digest_of(|hash| feed(hash, value))
}

fn digest_of(feed: impl FnOnce(&mut Sha256)) -> [u8; 16] {
    let mut hash = Sha256::new();
    feed(&mut hash);
    let mut short = [0; 16];
    short.copy_from_slice(&hash.finalize()[..16]);
    short
}

/// The fields of an object but for some, in the order of keys: the API server writes them in another
/// order than we do.
fn feed_fields(hash: &mut Sha256, object: &Value, except: &[&str]) {
    let mut fields: Vec<_> = object.as_object().into_iter().flatten().collect();
    fields.retain(|(key, _)| !except.contains(&key.as_str()));
    fields.sort_unstable_by_key(|(key, _)| *key);
    hash.update(b"{");
    for (key, value) in fields {
        hash.update(key);
        hash.update(b"\0");
        feed(hash, value);
    }
    hash.update(b"}");
}

fn feed(hash: &mut Sha256, value: &Value) {
    match value {
        Value::Object(_) => feed_fields(hash, value, &[]),
        Value::Array(items) => {
            hash.update(b"[");
            for item in items {
                feed(hash, item);
            }
            hash.update(b"]");
        }
        other => {
            hash.update(other.to_string());
            hash.update(b"\0");
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_most_resources_have_in_common_takes_no_room() {
        let typical: Value = serde_json::from_str(include_str!("typical.json")).unwrap();
        let mut other =
            typical.to_string().replace("llama", "mistral").replace("2026-01", "2027-02");
        other = other.replace("http://vllm", "https://elsewhere");
        let packed = pack(&other);
        assert!(packed.len() < other.len() / 10, "{} of {}", packed.len(), other.len());
        for text in [other.as_str(), "", "{}", &"ünlike it ".repeat(10_000)] {
            assert_eq!(unpack(&pack(text)), text);
        }
    }

    #[test]
    fn only_what_a_reconcile_depends_on_makes_a_difference() {
        let object = json!({
            "metadata": {"uid": "u", "resourceVersion": "1", "managedFields": [{}]},
            "spec": {"a": 1, "b": 2},
            "status": {"phase": "Ready"},
        });
        let packed = Packed::new(object.clone());
        let mut later = object.clone();
        later["metadata"]["resourceVersion"] = "2".into();
        later["spec"] = json!({"b": 2, "a": 1});
        assert_eq!(packed.news_in(&Packed::new(later.clone())), ResourceNews::Nothing);
        let mut other = later.clone();
        other["spec"]["a"] = 2.into();
        assert_eq!(packed.news_in(&Packed::new(other)), ResourceNews::Asked);
        let mut written = later;
        written["status"]["phase"] = "Failed".into();
        let mut expecting = packed.clone();
        expecting.expect_status(&written["status"]);
        assert_eq!(packed.news_in(&Packed::new(written.clone())), ResourceNews::Status);
        assert_eq!(expecting.news_in(&Packed::new(written)), ResourceNews::Nothing);
        assert!(packed.unpack()["metadata"].get("managedFields").is_none());
        assert_eq!(packed.unpack()["spec"], object["spec"]);
    }
}
