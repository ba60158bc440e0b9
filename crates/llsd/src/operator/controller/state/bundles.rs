//! Which namespaces hold OpenShift AI's bundle of trusted certificates, as the watch of ConfigMaps
//! tells; all that is kept of ConfigMaps that are not ours.

use std::collections::HashSet;
use std::sync::{PoisonError, RwLock};

use crate::operator::controller::state::scope::Part;

/// The namespaces that hold a bundle.
#[derive(Debug, Default)]
pub struct Bundles(RwLock<HashSet<Box<str>>>);

impl Bundles {
    pub fn is_in(&self, namespace: &str) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(namespace)
    }

    pub fn set(&self, namespace: &str, is_there: bool) {
        let mut namespaces = self.0.write().unwrap_or_else(PoisonError::into_inner);
        if is_there {
            namespaces.insert(namespace.into());
        } else {
            namespaces.remove(namespace);
        }
    }

    /// Takes over what a new list of one part showed; in which namespaces that is a change.
    pub fn replace(&self, part: &Part, listed: HashSet<Box<str>>) -> Vec<Box<str>> {
        let mut namespaces = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let before = namespaces.iter().filter(|namespace| part.holds(namespace)).cloned().collect();
        let changed = listed.symmetric_difference(&before).cloned().collect();
        namespaces.retain(|namespace| !before.contains(namespace));
        namespaces.extend(listed);
        changed
    }
}
