//! What every part of the controller shares.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use llsd_plan::objects::ObjectKind;
use llsd_plan::resource::{Key, Resource};
use llsd_plan::rollout::preflight::Urgency;
use llsd_plan::rollout::wave::{Candidate, Fleet, Waiting, WaveProgress};
use llsd_registry::credentials::ProviderPlugins;
use llsd_settings::RolloutSettings;
use serde_json::Value;

use crate::operator::api_clock::{ApiClock, ApiServer};
use crate::operator::controller::events::Events;
use crate::operator::controller::own_account::own_accounts;
use crate::operator::controller::registries::image_records::ImageRecords;
use crate::operator::controller::registries::lookups::Lookups;
use crate::operator::controller::registries::pull_credentials::PullCredentials;
use crate::operator::controller::secrets::Secrets;
use crate::operator::controller::secrets::hash_key::{self, HashKey};
use crate::operator::controller::servers::{ServerProbe, Servers};
use crate::operator::controller::state::{
    Bundles, Cache, Consequences, CurrentConfiguration, ImageKeys, Memory, Part, PreflightSlots,
    Queue, Rights, ServedKinds, Settings, SharedChanges, StartPrograms, Synced,
};
use crate::operator::health::Ready;
use crate::operator::telemetry::Metrics;

/// Everything that one operator holds while it runs.
pub struct Context {
    pub(super) client: Client,
    /// Set by what the client hears.
    pub(super) clock: ApiClock,
    pub(super) settings: Settings,
    pub(super) cache: Cache,
    pub(super) queue: Arc<Queue>,
    pub(super) bundles: Bundles,
    pub(super) secrets: Secrets,
    pub(super) memory: Memory,
    pub(super) preflight_slots: PreflightSlots,
    pub(super) programs: StartPrograms,
    pub(super) shared_changes: SharedChanges,
    pub(super) configuration: CurrentConfiguration,
    pub(super) pull_credentials: Arc<PullCredentials>,
    pub(super) lookups: Arc<Lookups>,
    pub(super) image_records: ImageRecords,
    pub(super) server_probe: ServerProbe,
    pub(super) servers: Servers,
    pub(super) events: Events,
    pub(super) metrics: Metrics,
    pub(super) served: ServedKinds,
    pub(super) synced: Arc<Synced>,
    pub(super) rights: Rights,
    /// The operator's own accounts, in its namespace.
    pub(super) own_accounts: BTreeSet<String>,
}

/// Why the operator cannot work.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the API server cannot be asked what it serves: {0}")]
    Discovery(#[source] Box<kube::Error>),
    #[error(transparent)]
    SecretKey(#[from] hash_key::Error),
    #[error("no client for the servers: {0}")]
    Servers(#[from] reqwest::Error),
}

impl Context {
    pub async fn new(
        api: ApiServer,
        settings: Settings,
        plugins: Arc<ProviderPlugins>,
        metrics: Metrics,
        ready: Ready,
    ) -> Result<Self, Error> {
        let served = ServedKinds::discover(&api.client).await;
        let served = served.map_err(|error| Error::Discovery(Box::new(error)))?;
        let key = HashKey::obtain(&api.client, &settings.operator_namespace).await?;
        let synced = Synced::new(metrics.clone(), ready);
        let context = Self::assemble(api, settings, plugins, metrics, key, served, synced)?;
        // Until the keys that images are signed with are read, there are none.
        context.configuration.set_keys(ImageKeys::new());
        Ok(context)
    }

    pub(super) fn assemble(
        api: ApiServer,
        settings: Settings,
        plugins: Arc<ProviderPlugins>,
        metrics: Metrics,
        key: HashKey,
        served: ServedKinds,
        synced: Arc<Synced>,
    ) -> Result<Self, Error> {
        let ApiServer { client, clock } = api;
        let queue = Arc::new(Queue::default());
        let rights = settings.rights();
        Ok(Self {
            cache: Cache::default(),
            lookups: Arc::new(Lookups::new(settings.registry_patience, Arc::clone(&queue))),
            image_records: ImageRecords::default(),
            queue,
            bundles: Bundles::default(),
            secrets: Secrets::new(key, settings.secret_refresh, rights.clone()),
            memory: Memory::default(),
            preflight_slots: PreflightSlots::new(settings.preflight_jobs),
            programs: StartPrograms::default(),
            shared_changes: SharedChanges::new(settings.is_operator),
            configuration: CurrentConfiguration::default(),
            pull_credentials: Arc::new(PullCredentials::new(plugins)),
            server_probe: ServerProbe::new(settings.server_url.clone())?,
            servers: Servers::new(settings.server_poll),
            events: Events::new(client.clone(), settings.instance.clone()),
            metrics,
            served,
            synced,
            rights,
            own_accounts: own_accounts(&settings.operator_namespace),
            client,
            clock,
            settings,
        })
    }

    /// Something about all resources of a part changed.
    pub(super) fn wake_part(&self, part: &Part) {
        for key in self.cache.resource_keys() {
            if part.holds(&key.namespace) {
                self.queue.add(&key);
            }
        }
    }

    /// Whether a change that waits since then may have its preflight now.
    pub(super) fn ask_for_slot(&self, key: &Key, since: i64, urgency: Urgency) -> bool {
        let jobs = || self.cache.jobs_under_way();
        let (has_slot, others) = self.preflight_slots.ask(key, since, urgency, jobs);
        self.wake(&others);
        has_slot
    }

    /// A reconcile ended: what it did not ask for, or made no Job with, others may have.
    pub(super) fn release_slot(&self, key: &Key) {
        let (now, jobs) = (self.clock.now().as_second(), || self.cache.jobs_under_way());
        self.wake(&self.preflight_slots.reconciled(key, now, jobs));
    }

    /// Wakes those who get a slot because a Job has ended.
    pub(super) fn pass_slots_on(&self) {
        self.wake(&self.preflight_slots.job_changed(|| self.cache.jobs_under_way()));
    }

    /// Takes an owned object in, as a watch or an answer shows it; what that wakes.
    pub(super) fn take_in(&self, kind: ObjectKind, object: &Value) -> Option<Key> {
        self.learn_programs(kind, object);
        self.cache.put_object(kind, object)
    }

    /// Keeps the start programs of an earlier operator, which this one could not make again.
    pub(super) fn learn_programs(&self, kind: ObjectKind, object: &Value) {
        if kind == ObjectKind::ConfigMap {
            self.programs.learn(object, |copy| self.cache.is_mounted(copy));
        }
    }

    /// Where a namespace lacks a copy of the start programs, each of its resources looks whether it needs it, and the
    /// first makes it.
    pub(super) fn wake_for_programs(&self, namespace: &str) {
        if self.cache.lacks_programs(namespace) {
            self.wake(&self.cache.resources_in(namespace));
        }
    }

    pub(super) fn wake(&self, keys: &[Key]) {
        for key in keys {
            self.queue.add(key);
        }
    }

    /// The servers that may change at a time because of inputs that they share.
    pub(super) fn fleet(&self) -> Fleet {
        let configuration = self.configuration.get();
        let RolloutSettings { budget, window, .. } = &configuration.config.rollout;
        let opens_at = window.as_ref().and_then(|window| window.opens_at(self.now()));
        Fleet { managed: self.cache.resources(), budget: *budget, opens_at }
    }

    /// Whether changes of shared inputs reach this server before others.
    pub(super) fn is_canary(&self, resource: &Resource) -> bool {
        let configuration = self.configuration.get();
        let canaries = configuration.config.rollout.canaries.as_ref();
        canaries.is_some_and(|label| label.is_among(&resource.labels))
    }

    /// Gives a server its turn in a change of shared inputs, or says why it has to wait.
    pub(super) fn ask_for_turn(&self, candidate: &Candidate) -> Result<(), Box<Waiting>> {
        self.shared_changes.ask(&self.cache, candidate, self.fleet(), self.now())
    }

    /// How far changes of shared inputs are. Those whose turn it is because time has passed are woken.
    pub(super) fn shared_progress(&self) -> WaveProgress {
        let (progress, woken) = self.shared_changes.progress(&self.cache, self.fleet(), self.now());
        self.wake(&woken);
        progress
    }

    /// A reconcile of a resource ended, whatever came of it: others that wait for their turn may have it now. How
    /// soon it is to be looked at again, as its own turn ends then without an event.
    pub(super) fn reconcile_ended(&self, key: &Key) -> Option<Duration> {
        let now = self.now();
        let Consequences { woken, event } =
            self.shared_changes.ended(&self.cache, key, self.fleet(), now);
        self.wake(&woken);
        self.events.publish_on_config_map(event.into_iter().collect());
        let rest = self.cache.member_changes_in(key, now)?;
        Some(Duration::from_secs(rest.unsigned_abs()))
    }

    fn now(&self) -> i64 {
        self.clock.now().as_second()
    }

    /// Forgets all notes on a resource that is gone. Whoever worked on it while it went may have
    /// made some since.
    pub(super) fn forget(&self, key: &Key) {
        self.cache.forget_uses_of_gone(key);
        self.secrets.forget(key);
        self.servers.forget(key);
        self.lookups.only(key, &[]);
        self.memory.forget(key);
    }

    /// The certificate in a Secret of the resource's namespace.
    pub(super) fn certificate(&self, key: &Key, secret: Option<&str>) -> Option<Box<[u8]>> {
        self.secrets.certificate(&key.namespace, secret?)
    }
}
