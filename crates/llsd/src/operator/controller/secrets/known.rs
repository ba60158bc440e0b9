//! What is kept of one Secret between two looks at it: never a value.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use llsd_plan::facts::SecretKeyFacts;
use llsd_plan::resource::Key;
use tokio::time::Instant;

/// Namespace and name of a Secret.
pub(super) type Address = (Arc<str>, Box<str>);
/// What may be known of a Secret's values, by key.
pub(super) type Keys = BTreeMap<String, SecretKeyFacts>;

#[derive(Debug)]
pub(super) struct KnownSecret {
    pub(super) read: Instant,
    pub(super) users: HashSet<Key>,
    /// Hashes of the values by key; `None` while the Secret is missing.
    pub(super) hashes: Option<Keys>,
    /// Why it may not be read.
    pub(super) forbidden: Option<Box<str>>,
    /// The certificate in it, which is no secret: the server shows it to everybody.
    pub(super) certificate: Option<Box<[u8]>>,
    /// Of a Secret that the operator itself writes, where any change is put right.
    pub(super) own: Option<Own>,
}

impl KnownSecret {
    /// Nobody refers to it yet.
    pub(super) fn new() -> Self {
        Self {
            read: Instant::now(),
            users: HashSet::new(),
            hashes: None,
            forbidden: None,
            certificate: None,
            own: None,
        }
    }
}

/// A Secret of the operator's own making, as it was when it was read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Own {
    NotRead,
    Missing,
    Version(Box<str>),
}
