//! What those who run the client configure, and the limits of every lookup. Nothing in here may come
//! from a tenant.

use std::time::Duration;

use crate::{Error, mirrors::Registries};

/// The operator's configuration of the client. Without a word in it the defaults hold: https only,
/// public trust, no addresses of the machine itself or of a cloud's metadata service.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// Mirrors, authorities, insecure and private hosts: the operator ConfigMap's `registries`, or
    /// what a command line allows.
    pub registries: Registries,
    pub limits: Limits,
}

/// Bounds that hold against any registry, however hostile. Sizes are in bytes.
#[derive(Clone, Debug)]
pub struct Limits {
    pub manifest: u64,
    pub config: u64,
    pub token: u64,
    /// A layer as it is transferred.
    pub layer: u64,
    /// The same layer unpacked.
    pub unpacked_layer: u64,
    /// The configuration file itself.
    pub file: u64,
    pub connect: Duration,
    /// The longest wait for the next byte.
    pub idle: Duration,
    /// A whole request, layers excepted.
    pub request: Duration,
    /// A whole lookup in one place.
    pub lookup: Duration,
    pub redirects: usize,
    /// How often a busy or failing registry is asked before giving up.
    pub attempts: u32,
    /// The longest `Retry-After` that is waited for; above it the lookup fails at once.
    pub longest_wait: Duration,
    /// How long a failure is answered from memory.
    pub failure_memory: Duration,
    /// The same of a name that could not be resolved: no registry was asked, so none has to be spared.
    pub name_memory: Duration,
    /// How long it is believed that a host still asks for the same kind of authentication.
    pub host_memory: Duration,
    /// What the cache of configurations may hold.
    pub cache: u64,
    /// Lookups in one host under way at the same time.
    pub per_host: usize,
    /// Layers unpacked at the same time.
    pub unpacking: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            manifest: 4 << 20,
            config: 4 << 20,
            token: 256 << 10,
            layer: 1 << 30,
            unpacked_layer: 4 << 30,
            file: 1 << 20,
            connect: Duration::from_secs(10),
            idle: Duration::from_secs(15),
            request: Duration::from_secs(30),
            lookup: Duration::from_mins(2),
            redirects: 5,
            attempts: 3,
            longest_wait: Duration::from_secs(10),
            failure_memory: Duration::from_secs(30),
            name_memory: Duration::from_secs(5),
            host_memory: Duration::from_mins(10),
            cache: 32 << 20,
            per_host: 8,
            unpacking: 2,
        }
    }
}

impl Limits {
    /// How long this failure is answered from memory.
    pub fn memory_of(&self, failure: &Error) -> Duration {
        if failure.is_unresolved() {
            self.failure_memory.min(self.name_memory)
        } else {
            self.failure_memory
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::UNRESOLVED;

    #[test]
    fn a_name_that_cannot_be_resolved_is_asked_for_again_soon() {
        let limits = Limits::default();
        let memory = |reason: &str| {
            let (host, reason) = ("r.io".to_owned(), reason.to_owned());
            limits.memory_of(&Error::Unreachable { host, reason })
        };
        assert_eq!(memory("connection refused"), limits.failure_memory);
        assert_eq!(memory(UNRESOLVED), limits.name_memory);
        assert!(limits.name_memory < limits.failure_memory);
    }
}
