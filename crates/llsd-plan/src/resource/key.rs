//! What a resource is called.

use std::fmt;
use std::sync::Arc;

/// Namespace and name of a resource or of an object; many places hold the same.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Key {
    pub namespace: Arc<str>,
    pub name: Arc<str>,
}

impl Key {
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl Key {
    /// Stands for what the resources of a namespace share. No resource has an empty name.
    pub fn of_namespace(namespace: &str) -> Self {
        Self::new(namespace, "")
    }

    pub fn is_of_namespace(&self) -> bool {
        self.name.is_empty()
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}
