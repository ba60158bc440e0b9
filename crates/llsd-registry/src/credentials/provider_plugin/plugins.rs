//! Asks the configured plugins for credentials, and keeps what they answered while it is fresh.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::Semaphore;

use super::cache::{Cache, Entries};
use super::config::{PluginConfig, ProviderConfig};
use super::process::{PluginError, PluginFailure, Program};
use crate::credentials::keyring::Pattern;
use crate::credentials::{Credential, Keyring};
use crate::settings::ConfigProblem;

/// What the kubelet gives a plugin.
const TIME_LIMIT: Duration = Duration::from_mins(1);
/// A plugin that hangs must not pile up processes behind a thousand resources.
const PROCESSES_PER_PROVIDER: usize = 4;

type Clock = Arc<dyn Fn() -> Instant + Send + Sync>;

/// All configured plugins, with what they answered while it is fresh. The credentials are the
/// installation's own identity, the same for every tenant, as they are on a node.
pub struct ProviderPlugins {
    providers: Vec<Provider>,
    clock: Clock,
}

struct Provider {
    config: ProviderConfig,
    program: Program,
    cache: Cache,
    /// One lock per image that is being asked about, so that concurrent asks start one process.
    asking: Mutex<HashMap<String, Arc<tokio::sync::Mutex<()>>>>,
    processes: Semaphore,
}

/// What the plugins said about one image. A plugin that fails hides no other one's answer.
#[derive(Debug, Default)]
pub struct PluginLookup {
    pub credentials: Vec<Credential>,
    pub errors: Vec<PluginError>,
}

impl Default for ProviderPlugins {
    /// No plugins.
    fn default() -> Self {
        Self { providers: Vec::new(), clock: Arc::new(Instant::now) }
    }
}

impl ProviderPlugins {
    /// Takes the configuration and the folder of the binaries; each provider must be an executable
    /// file there.
    pub fn new(config: PluginConfig, bin_dir: &Path) -> Result<Self, Vec<ConfigProblem>> {
        let mut problems = Vec::new();
        let mut providers = Vec::new();
        for (position, config) in config.providers.into_iter().enumerate() {
            match Program::find(bin_dir, &config, TIME_LIMIT) {
                Ok(program) => providers.push(Provider {
                    config,
                    program,
                    cache: Cache::default(),
                    asking: Mutex::default(),
                    processes: Semaphore::new(PROCESSES_PER_PROVIDER),
                }),
                Err(message) => problems
                    .push(ConfigProblem { path: format!("providers[{position}].name"), message }),
            }
        }
        if problems.is_empty() { Ok(Self { providers, ..Self::default() }) } else { Err(problems) }
    }

    /// Another clock for the age of answers.
    #[must_use]
    pub fn with_clock(mut self, clock: impl Fn() -> Instant + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Another limit than the kubelet's minute.
    #[must_use]
    pub fn with_time_limit(mut self, limit: Duration) -> Self {
        for provider in &mut self.providers {
            provider.program.time_limit = limit;
        }
        self
    }

    /// Asks every plugin whose `matchImages` fit `host[:port]/repository/path`. Their answers form
    /// one keyring, which is then asked for the image: a plugin may answer for more than it was
    /// asked.
    pub async fn candidates(&self, image: &str) -> PluginLookup {
        let mut lookup = PluginLookup::default();
        let Some(target) = Pattern::parse(image) else {
            return lookup;
        };
        let mut keyring = Keyring::new();
        for provider in &self.providers {
            if !provider.config.match_images.iter().any(|pattern| pattern.matches(&target)) {
                continue;
            }
            match provider.answer(image, &self.clock).await {
                Ok(entries) => {
                    for (key, credential) in entries.iter() {
                        keyring.add(key, credential.clone());
                    }
                }
                Err(failure) => lookup
                    .errors
                    .push(PluginError { provider: provider.config.name.clone(), failure }),
            }
        }
        lookup.credentials = keyring.candidates(image);
        lookup
    }
}

impl Provider {
    async fn answer(&self, image: &str, clock: &Clock) -> Result<Entries, PluginFailure> {
        if let Some(entries) = self.cache.get(image, clock()) {
            return Ok(entries);
        }
        let ask = self.lock_of(image);
        let _alone = ask.lock().await;
        self.ask(image, clock).await
    }

    async fn ask(&self, image: &str, clock: &Clock) -> Result<Entries, PluginFailure> {
        let _place = self.processes.acquire().await.map_err(|_| PluginFailure::Interrupted)?;
        // Another ask may have filled the cache meanwhile, also for the whole registry.
        if let Some(entries) = self.cache.get(image, clock()) {
            return Ok(entries);
        }
        let response = self.program.run(&self.config, image).await?;
        let entries = Arc::new(response.entries);
        let fresh_for = response.cache_duration.unwrap_or(self.config.default_cache_duration);
        self.cache.put(response.scope.key(image), &entries, clock(), fresh_for);
        Ok(entries)
    }

    fn lock_of(&self, image: &str) -> Arc<tokio::sync::Mutex<()>> {
        let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        // Locks that nobody holds any more, also of asks that were given up half-way.
        asking.retain(|_, lock| Arc::strong_count(lock) > 1);
        Arc::clone(asking.entry(image.to_owned()).or_default())
    }
}

impl fmt::Debug for ProviderPlugins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.providers.iter().map(|provider| &provider.config.name)).finish()
    }
}
