//! The watch of the operator's own ConfigMap. What it says is checked key by key: a broken key leaves the
//! last good value in use, and so does a ConfigMap that is gone. What is in use is kept before it is
//! used, so that it outlives the operator; what is broken is logged, counted and an event.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::runtime::watcher::{Config, Error, Event};
use kube::runtime::{WatchStreamExt, watcher};
use llsd_plan::resource::Key;
use tokio::time::{Instant, sleep, sleep_until};

use super::follow::trouble;
use super::kept_config::KeptConfig;
use crate::operator::controller::context::Context;
use crate::operator::controller::registries::image_keys;
use crate::operator::controller::state::{Part, Trouble, Watch, safe_message};
use llsd_install::names::{CONFIG_MAP, KEPT_CONFIG_MAP};
use llsd_settings::{CheckedTexts, TextsInUse};

/// How long a ConfigMap stays away that somebody deleted, perhaps to make it anew, and how soon a write
/// that failed is tried again. Pauses grow, as only somebody else can help by then.
const PAUSE: Duration = Duration::from_mins(1);
const LONGEST_PAUSE: Duration = Duration::from_hours(1);
/// How soon what was kept is asked for again: nothing may be decided without it.
const RECALL: Duration = Duration::from_secs(1);

/// Watches until it is dropped.
pub async fn keep(context: Arc<Context>, mut watch: Watch) {
    let namespace = &context.settings.operator_namespace;
    let mut keeper = Keeper::recall(&context).await;
    let api: Api<ConfigMap> = Api::namespaced(context.client.clone(), namespace);
    let only = Config::default().fields(&format!("metadata.name={CONFIG_MAP}"));
    let mut events = pin!(watcher(api, only).default_backoff());
    let mut listed = None;
    loop {
        let event = tokio::select! {
            event = events.next() => event,
            () = sleep_until(keeper.due), if keeper.has_to_write() => {
                keeper.write().await;
                continue;
            }
            () = sleep_until(keeper.keys_due), if keeper.asks_for_signatures() => {
                keeper.read_keys().await;
                continue;
            }
        };
        match event {
            None => return,
            Some(Ok(Event::Init)) => listed = None,
            Some(Ok(Event::InitApply(object))) => listed = Some(object),
            Some(Ok(Event::Apply(object))) => keeper.seen(object).await,
            Some(Ok(Event::Delete(_))) => keeper.gone(),
            Some(Ok(Event::InitDone)) => {
                match listed.take() {
                    Some(object) => keeper.seen(object).await,
                    None => keeper.missing().await,
                }
                watch.in_sync();
            }
            Some(Err(error)) => {
                keeper.unreadable(&error);
                match trouble(&context.rights, &error) {
                    // Nobody else waits for a right that may never come: what was kept is in use.
                    refused @ (Trouble::Forbidden(_) | Trouble::NotServed) => {
                        watch.failed(refused);
                    }
                    Trouble::NotAnswering(_) => {}
                }
            }
        }
    }
}

struct Keeper<'a> {
    context: &'a Context,
    config_maps: KeptConfig,
    /// What the operator's own ConfigMap holds. Where that may not be read it is not known, and nothing is
    /// written over it.
    kept: Option<TextsInUse>,
    /// What the ConfigMap for people holds, where it was seen.
    seen: Option<BTreeMap<String, String>>,
    /// There is no ConfigMap for people to edit.
    is_missing: bool,
    /// When what is not written yet is tried.
    due: Instant,
    pause: Duration,
    /// When the keys that images are signed with are read again.
    keys_due: Instant,
    /// What was said last of the ConfigMap, and of requests that fail.
    told: CheckedTexts,
    failure: Option<String>,
}

/// Figures are the leader's; one that no longer leads shows none.
impl Drop for Keeper<'_> {
    fn drop(&mut self) {
        self.context.metrics.broken_configuration(&[]);
    }
}

impl<'a> Keeper<'a> {
    /// Begins with what was in use last, whoever led then.
    async fn recall(context: &'a Context) -> Self {
        let config_maps = KeptConfig::new(&context.client, &context.settings.operator_namespace);
        let mut keeper = Self {
            context,
            config_maps,
            kept: None,
            seen: None,
            is_missing: false,
            due: Instant::now(),
            pause: PAUSE,
            keys_due: Instant::now(),
            told: CheckedTexts::default(),
            failure: None,
        };
        loop {
            match keeper.config_maps.fetch().await {
                Ok(kept) => {
                    keeper.put_to_use(kept.clone()).await;
                    keeper.kept = Some(kept);
                    return keeper;
                }
                Err(kube::Error::Api(status)) if status.code == 403 => {
                    // A right that may never come; work goes on without it.
                    keeper.failed("what was in use last cannot be read", status.message.clone());
                    keeper.later();
                    return keeper;
                }
                Err(error) => {
                    keeper.failed("what was in use last cannot be read", safe_message(&error));
                    sleep(RECALL).await;
                }
            }
        }
    }

    async fn seen(&mut self, object: ConfigMap) {
        self.is_missing = false;
        let key = Key::new(&self.context.settings.operator_namespace, CONFIG_MAP);
        self.context.events.set_config_map(&key, &object.metadata);
        let data = object.data.clone().unwrap_or_default();
        self.recall_late().await;
        let checked = self.context.configuration.texts().check(&data);
        self.seen = Some(data);
        self.use_texts(checked.in_use.clone()).await;
        self.tell(checked);
    }

    /// There was none when the watch began.
    async fn missing(&mut self) {
        self.recall_late().await;
        if self.context.configuration.texts() == TextsInUse::default() {
            // Nor was there ever one: all keys have their defaults.
            let checked = TextsInUse::default().check(&[].into());
            self.use_texts(checked.in_use).await;
        }
        self.is_missing = true;
        self.write().await;
    }

    /// Reads what was in use last, where that was not allowed before. It holds wherever the ConfigMap for
    /// people has nothing valid, as if it had been known from the start.
    async fn recall_late(&mut self) {
        if self.kept.is_some() {
            return;
        }
        let Ok(kept) = self.config_maps.fetch().await else { return };
        if kept != TextsInUse::default() {
            let texts = match &self.seen {
                Some(data) => kept.check(data).in_use,
                None => kept.clone(),
            };
            self.put_to_use(texts).await;
        }
        self.kept = Some(kept);
    }

    fn gone(&mut self) {
        tracing::warn!("ConfigMap {CONFIG_MAP} is gone; what it said last stays in use");
        self.is_missing = true;
        self.due = Instant::now() + PAUSE;
    }

    /// Keeps the texts, and then uses them: after a crash between the two the same is read again.
    async fn use_texts(&mut self, texts: TextsInUse) {
        if self.kept.as_ref() != Some(&texts) {
            self.save(&texts).await;
        }
        self.put_to_use(texts).await;
    }

    async fn put_to_use(&mut self, texts: TextsInUse) {
        if self.context.configuration.set_texts(texts) {
            if self.asks_for_signatures() {
                self.read_keys().await;
            }
            self.context.wake_part(&Part::Cluster);
        }
    }

    fn asks_for_signatures(&self) -> bool {
        self.context.configuration.get().config.images.asks_for_signatures()
    }

    /// Reads the keys that images are signed with. Without them no image counts as signed.
    async fn read_keys(&mut self) {
        self.keys_due = Instant::now() + image_keys::REFRESH;
        let Context { client, settings, configuration, .. } = self.context;
        match image_keys::fetch(client, &settings.operator_namespace).await {
            Ok(keys) => {
                if configuration.set_keys(keys) {
                    self.context.wake_part(&Part::Cluster);
                }
            }
            Err(error) => {
                self.failed(
                    "the keys that images are signed with cannot be read",
                    safe_message(&error),
                );
            }
        }
    }

    fn has_to_write(&self) -> bool {
        self.is_missing || self.kept != Some(self.context.configuration.texts())
    }

    /// Writes what is not written yet.
    async fn write(&mut self) {
        self.recall_late().await;
        let texts = self.context.configuration.texts();
        if self.kept.as_ref() != Some(&texts) {
            self.save(&texts).await;
        }
        if self.is_missing {
            match self.make(&texts).await {
                Ok(()) => {
                    tracing::info!("ConfigMap {CONFIG_MAP} was made, for people to edit");
                    self.is_missing = false;
                    self.pause = PAUSE;
                }
                Err(why) => {
                    self.failed("its ConfigMap cannot be made", why);
                    self.later();
                }
            }
        }
    }

    /// Makes the ConfigMap for people, but not without what was in use last: what it says counts.
    async fn make(&self, texts: &TextsInUse) -> Result<(), String> {
        if self.kept.is_none() {
            return Err(format!("ConfigMap {KEPT_CONFIG_MAP} has to be read first"));
        }
        self.config_maps.make(texts).await.map_err(|error| safe_message(&error))
    }

    async fn save(&mut self, texts: &TextsInUse) {
        let saved = match self.kept {
            Some(_) => self.config_maps.keep(texts).await.map_err(|error| safe_message(&error)),
            None => Err("what it holds cannot be read, and is not written over".to_owned()),
        };
        match saved {
            Ok(()) => {
                self.kept = Some(texts.clone());
                self.pause = PAUSE;
                self.failure = None;
            }
            Err(why) => {
                let what = "what is in use cannot be kept, and a restart would forget it";
                self.failed(what, format!("ConfigMap {KEPT_CONFIG_MAP}: {why}"));
                self.later();
            }
        }
    }

    /// What failed is tried again after a pause, and after a longer one each time.
    fn later(&mut self) {
        self.due = Instant::now() + self.pause;
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
    }

    fn unreadable(&mut self, error: &Error) {
        self.failed(
            "ConfigMap cannot be watched; what it said last stays in use",
            error.to_string(),
        );
    }

    /// The same again and again would bury what else is to be read.
    fn failed(&mut self, what: &'static str, why: String) {
        if self.failure.as_ref() != Some(&why) {
            tracing::warn!(config_map = CONFIG_MAP, why, "the operator's configuration: {what}");
            self.failure = Some(why);
        }
    }

    /// Says what is broken, or no longer, where that changed.
    fn tell(&mut self, checked: CheckedTexts) {
        if (&self.told.broken, &self.told.unknown) == (&checked.broken, &checked.unknown) {
            return;
        }
        let names: Vec<&str> = checked.broken.keys().map(|key| key.name()).collect();
        self.context.metrics.broken_configuration(&names);
        for problem in checked.problems() {
            tracing::warn!(%problem, "ConfigMap {CONFIG_MAP} has a mistake");
        }
        self.context.events.publish_on_config_map(checked.events(&self.told));
        self.told = checked;
    }
}
