//! What was read of images, in memory once for all resources that run them.

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use llsd_plan::live::LiveObject;
use llsd_plan::objects::image_record::ImageRecord;

/// Bytes of records in memory; beyond that all are forgotten and read again.
const ROOM: usize = 16 << 20;

/// Objects that are remembered not to be what they should be.
const FORGED: usize = 10_000;

/// The records that are known, by their hash. Resources of one image have the same.
#[derive(Debug, Default)]
pub struct ImageRecords(Mutex<KnownRecords>);

#[derive(Debug, Default)]
struct KnownRecords {
    records: HashMap<Box<str>, Arc<ImageRecord>>,
    bytes: usize,
    /// Objects, by uid, that hold something else than what was kept under their hash.
    forged: HashSet<Box<str>>,
}

impl ImageRecords {
    /// Takes in a record that is known to be ours.
    pub fn insert(&self, hash: &str, record: Arc<ImageRecord>, bytes: usize) {
        let mut known = self.lock();
        if known.records.contains_key(hash) {
            return;
        }
        if known.bytes + bytes > ROOM {
            known.records.clear();
            known.bytes = 0;
        }
        known.bytes += bytes;
        known.records.insert(hash.into(), record);
    }

    /// Nothing where it is to be read first.
    pub fn get(&self, hash: &str) -> Option<Arc<ImageRecord>> {
        self.lock().records.get(hash).cloned()
    }

    /// Notes an object that is not to be read again.
    pub fn set_forged(&self, uid: &str) {
        let mut known = self.lock();
        if known.forged.len() >= FORGED {
            known.forged.clear();
        }
        known.forged.insert(uid.into());
    }

    pub fn is_forged(&self, live: &LiveObject) -> bool {
        self.lock().forged.contains(&live.uid)
    }

    fn lock(&self) -> MutexGuard<'_, KnownRecords> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
