//! What every part of the controller shares.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use kube::Client;
use llsd_plan::resource::Key;
use llsd_registry::credentials::ProviderPlugins;

use super::bundles::Bundles;
use super::cache::Cache;
use super::configuration::CurrentConfiguration;
use super::events::Events;
use super::image_records::ImageRecords;
use super::lookups::Lookups;
use super::memory::Memory;
use super::pull_credentials::PullCredentials;
use super::queue::Queue;
use super::secret_key::{self, SecretKey};
use super::secrets::Secrets;
use super::server_probe::ServerProbe;
use super::servers::Servers;
use super::settings::Settings;
use crate::operator::telemetry::Metrics;

/// Everything that one operator holds while it runs.
pub struct Context {
    pub(super) client: Client,
    pub(super) settings: Settings,
    pub(super) cache: Cache,
    pub(super) queue: Arc<Queue>,
    pub(super) bundles: Bundles,
    pub(super) secrets: Secrets,
    pub(super) memory: Memory,
    pub(super) configuration: CurrentConfiguration,
    pub(super) pull_credentials: Arc<PullCredentials>,
    pub(super) lookups: Arc<Lookups>,
    pub(super) image_records: ImageRecords,
    pub(super) server_probe: ServerProbe,
    pub(super) servers: Servers,
    pub(super) events: Events,
    pub(super) metrics: Metrics,
    pub(super) served: BTreeSet<String>,
}

/// Why the operator cannot work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the API server cannot be asked what it serves: {0}")]
    Discovery(#[source] Box<kube::Error>),
    #[error(transparent)]
    SecretKey(#[from] secret_key::Error),
    #[error("no client for the servers: {0}")]
    Servers(#[from] reqwest::Error),
}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("settings", &self.settings).finish_non_exhaustive()
    }
}

impl Context {
    pub async fn new(
        client: Client,
        settings: Settings,
        plugins: Arc<ProviderPlugins>,
        metrics: Metrics,
    ) -> Result<Self, Error> {
        let groups = client.list_api_groups().await;
        let groups = groups.map_err(|error| Error::Discovery(Box::new(error)))?;
        let key = SecretKey::obtain(&client, &settings.operator_namespace).await?;
        let served = groups.groups.into_iter().map(|group| group.name).collect();
        Self::assemble(client, settings, plugins, metrics, key, served)
    }

    pub(super) fn assemble(
        client: Client,
        settings: Settings,
        plugins: Arc<ProviderPlugins>,
        metrics: Metrics,
        key: SecretKey,
        served: BTreeSet<String>,
    ) -> Result<Self, Error> {
        let queue = Arc::new(Queue::default());
        Ok(Self {
            cache: Cache::default(),
            lookups: Arc::new(Lookups::new(settings.registry_patience, Arc::clone(&queue))),
            image_records: ImageRecords::default(),
            queue,
            bundles: Bundles::default(),
            secrets: Secrets::new(key, settings.secret_refresh),
            memory: Memory::default(),
            configuration: CurrentConfiguration::default(),
            pull_credentials: Arc::new(PullCredentials::new(plugins)),
            server_probe: ServerProbe::new(settings.server_url.clone())?,
            servers: Servers::new(settings.server_poll),
            events: Events::new(client.clone(), settings.instance.clone()),
            metrics,
            served,
            client,
            settings,
        })
    }

    /// The certificate in a Secret of the resource's namespace.
    pub(super) fn certificate(&self, key: &Key, secret: Option<&str>) -> Option<Box<[u8]>> {
        self.secrets.certificate(&key.namespace, secret?)
    }
}
