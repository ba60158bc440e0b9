//! One HTTP client for each way of reaching a host: with which trust, through a proxy or not, and
//! with the address check or, where the operator allows it, without.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
};

use hyper_util::client::proxy::matcher::Matcher;
use reqwest::{Certificate, Client, Url, redirect};

use super::host_of;
use crate::{
    Config, Error,
    address::{GuardedResolver, literal},
};

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Way {
    guarded: bool,
    proxied: bool,
    /// Without a bound on the wait for the answer's first byte: the HTTP client counts it from the
    /// request's first byte, and an upload may take long.
    uploading: bool,
    /// Authorities in PEM that are trusted beside the public ones.
    trust: Vec<String>,
}

#[derive(Debug)]
pub(super) struct Clients {
    config: Arc<Config>,
    proxies: Matcher,
    built: Mutex<HashMap<Way, Client>>,
}

impl Clients {
    pub(super) fn new(config: Arc<Config>) -> Self {
        Self::with_proxies(config, Matcher::from_env())
    }

    fn with_proxies(config: Arc<Config>, proxies: Matcher) -> Self {
        Self { config, proxies, built: Mutex::default() }
    }

    /// Whether a proxy is asked for this address.
    pub(super) fn is_proxied(&self, url: &Url) -> bool {
        let host = host_of(url);
        // As Go's programs and so the kubelet's runtime have it: never a proxy to this machine.
        let is_local = host == "localhost"
            || host.starts_with("localhost:")
            || literal(url).is_some_and(|address| address.is_loopback());
        !is_local && url.as_str().parse().is_ok_and(|uri| self.proxies.intercept(&uri).is_some())
    }

    pub(super) fn for_url(&self, url: &Url, uploading: bool) -> Result<Client, Error> {
        let way = self.way(url, uploading);
        let mut built = self.built.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = built.get(&way) {
            return Ok(client.clone());
        }
        let client = self.build(&way)?;
        built.insert(way, client.clone());
        Ok(client)
    }

    fn way(&self, url: &Url, uploading: bool) -> Way {
        let host = host_of(url);
        let proxied = self.is_proxied(url);
        let trust = self.config.registries.certificate_authorities(&host);
        let trust = trust.into_iter().map(str::to_owned).collect();
        Way {
            // Behind a proxy, the only name that this client resolves is the proxy's own, which the
            // operator's environment gives; the target was looked at before.
            guarded: !proxied && !self.config.registries.may_be_private(&host),
            proxied,
            uploading,
            trust,
        }
    }

    fn build(&self, way: &Way) -> Result<Client, Error> {
        let limits = &self.config.limits;
        let mut builder = Client::builder()
            .user_agent(concat!("llsd/", env!("CARGO_PKG_VERSION")))
            // Followed by hand, because each hop needs this crate's own checks.
            .redirect(redirect::Policy::none())
            .referer(false)
            .connect_timeout(limits.connect);
        if !way.uploading {
            builder = builder.read_timeout(limits.idle);
        }
        if !way.proxied {
            builder = builder.no_proxy();
        }
        if way.guarded {
            builder = builder.dns_resolver(GuardedResolver);
        }
        if !way.trust.is_empty() {
            builder = builder.tls_certs_merge(authorities(&way.trust)?);
        }
        builder.build().map_err(|error| Error::Configuration(error.without_url().to_string()))
    }
}

fn authorities(bundles: &[String]) -> Result<Vec<Certificate>, Error> {
    let mut all = Vec::new();
    for bundle in bundles {
        let found = Certificate::from_pem_bundle(bundle.as_bytes()).unwrap_or_default();
        if found.is_empty() {
            return Err(Error::Configuration("a CA bundle holds no certificate in PEM".into()));
        }
        all.extend(found);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proxy_is_asked_for_all_hosts_but_this_machine_and_those_that_are_left_out() {
        let proxies = Matcher::builder().all("http://proxy:3128").no(".svc,10.0.0.0/8").build();
        let clients = Clients::with_proxies(Arc::default(), proxies);
        let proxied = |url: &str| clients.is_proxied(&url.parse().unwrap());
        assert!(proxied("https://quay.io/v2/"));
        for url in
            ["https://registry.team.svc/v2/", "https://10.1.2.3/v2/", "https://localhost:5000/"]
        {
            assert!(!proxied(url), "{url}");
        }
    }
}
