//! A client of any number of registries, and one repository as one credential sees it.

use std::sync::Arc;

use super::hosts::Hosts;
use crate::{Config, Credential, Limits, Reference, token::Tokens, transport::Transport};

/// Speaks to any number of registries; tokens and connections are kept between requests.
#[derive(Debug)]
pub struct Client {
    pub(super) transport: Transport,
    pub(super) tokens: Tokens,
    pub(super) hosts: Hosts,
}

impl Client {
    pub fn new(config: Config) -> Self {
        let config = Arc::new(config);
        let hosts = Hosts::new(&config.limits);
        Self { transport: Transport::new(config), tokens: Tokens::new(), hosts }
    }

    /// Requests that left this process so far.
    pub fn requests_sent(&self) -> u64 {
        self.transport.sent()
    }

    pub(crate) fn config(&self) -> &Config {
        &self.transport.config
    }

    /// The repository of `reference` as `credential` sees it; `None` is anonymous.
    pub fn repository<'a>(
        &'a self,
        reference: &'a Reference,
        credential: Option<&'a Credential>,
    ) -> Repository<'a> {
        Repository { client: self, reference, credential }
    }
}

/// One repository, seen with one credential.
#[derive(Clone, Copy, Debug)]
pub struct Repository<'a> {
    pub(super) client: &'a Client,
    pub(super) reference: &'a Reference,
    pub(super) credential: Option<&'a Credential>,
}

impl Repository<'_> {
    pub(crate) fn reference(&self) -> &Reference {
        self.reference
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.client.config().limits
    }
}
