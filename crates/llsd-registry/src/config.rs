//! What the operator's own configuration allows, host by host, and the limits of every lookup.
//! Nothing in here may come from a tenant.

use std::{collections::BTreeMap, time::Duration};

use crate::mirrors::Registries;

/// How to treat one registry host beyond the defaults, which are: https only, public trust, no
/// addresses of the machine itself or of a cloud's metadata service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HostRules {
    /// Spoken to over plain http. There is no silent fall from https to http.
    pub plain_http: bool,
    /// May resolve to loopback, link-local and metadata addresses.
    pub allow_private: bool,
    /// Certificate authorities in PEM that are trusted for this host, beside the public ones.
    pub extra_cas: Vec<String>,
}

/// The operator's configuration of the client.
#[derive(Clone, Debug, Default)]
pub struct Config {
    /// The operator ConfigMap's `registries`: mirrors, authorities, insecure and private hosts.
    pub registries: Registries,
    /// What is allowed beyond that, as a command line would say it. Keyed by `host:port`, or by
    /// `host` for every port of it.
    pub hosts: BTreeMap<String, HostRules>,
    pub limits: Limits,
}

impl Config {
    fn rules(&self, host: &str) -> Option<&HostRules> {
        let without_port = match host.rsplit_once(':') {
            Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
            _ => host,
        };
        self.hosts.get(host).or_else(|| self.hosts.get(without_port))
    }

    pub(crate) fn plain_http(&self, host: &str) -> bool {
        self.rules(host).is_some_and(|rules| rules.plain_http) || self.registries.is_insecure(host)
    }

    pub(crate) fn allows_private(&self, host: &str) -> bool {
        self.rules(host).is_some_and(|rules| rules.allow_private)
            || self.registries.may_be_private(host)
    }

    pub(crate) fn authorities(&self, host: &str) -> Vec<&str> {
        let own = self.rules(host).map(|rules| rules.extra_cas.as_slice()).unwrap_or_default();
        let configured = self.registries.certificate_authorities(host);
        own.iter().map(String::as_str).chain(configured).collect()
    }
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
            host_memory: Duration::from_mins(10),
            cache: 32 << 20,
            per_host: 8,
            unpacking: 2,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rules_with_a_port_count_for_that_port_only() {
        let private = HostRules { allow_private: true, ..HostRules::default() };
        let hosts = [("a:5000".to_owned(), private.clone()), ("b".to_owned(), private)];
        let config = Config { hosts: hosts.into(), ..Config::default() };
        let allowed = ["a:5000", "a", "a:5001", "b", "b:1", "[::1]:5000"];
        assert_eq!(
            allowed.map(|host| config.allows_private(host)),
            [true, false, false, true, true, false]
        );
    }

    #[test]
    fn the_registries_document_counts_beside_them() {
        let text = "insecureHosts: [lab:5000]\nprivateHosts: ['*.internal']";
        let registries = Registries::parse(text).unwrap();
        let config = Config { registries, ..Config::default() };
        assert!(config.plain_http("lab:5000") && !config.plain_http("lab"));
        assert!(config.allows_private("a.internal") && !config.allows_private("lab:5000"));
        assert!(config.authorities("lab:5000").is_empty());
    }
}
