//! Registers with the API server where the webhooks are and whom to trust there: `caBundle`, and the address
//! of an operator outside of the cluster, in the resource's definition and in the validating
//! webhook. The leader does this; a replica that does not lead yet does it where nothing is
//! registered, because without it no object can be converted. It writes nothing else of these two
//! objects, and nothing at all when nothing changed.

mod client_config;
mod registration;

use std::future::pending;
use std::time::Duration;

use futures::StreamExt;
use kube::Client;
use tokio::sync::watch;
use tokio::time::{Instant, sleep};

pub use client_config::{Decision, WebhookTarget, decide};
pub use llsd_install::names::WEBHOOK_FIELD_MANAGER as FIELD_MANAGER;

use super::certificates::{Bundle, Confirmed};
use crate::operator::leadership::Leadership;
use registration::{Definition, Registration, ValidatingWebhook};

/// How soon a write that failed is tried again.
const RETRY: Duration = Duration::from_secs(2);
/// How often a replica that does not lead tries to register where nothing is registered.
const FIRST_TRIES: u32 = 30;

/// Registers the webhooks.
pub struct Installer {
    client: Client,
    target: WebhookTarget,
    bundle: watch::Receiver<Option<Bundle>>,
    confirmed: watch::Sender<Option<Confirmed>>,
}

impl Installer {
    /// Registers `target` with whatever `bundle` holds, and sends `confirmed` what is registered.
    pub fn new(
        client: Client,
        target: WebhookTarget,
        bundle: watch::Receiver<Option<Bundle>>,
        confirmed: watch::Sender<Option<Confirmed>>,
    ) -> Self {
        Self { client, target, bundle, confirmed }
    }

    /// Goes on as long as it is polled, in every term that this replica leads. What `bundle` holds
    /// now is registered before the first term where nothing is: operator v0.9 does not give its
    /// lease back when it ends.
    pub fn run(self, leadership: Option<Leadership>) -> impl Future<Output = ()> + Send + use<> {
        let first = self.bundle.borrow().clone();
        self.run_from(first, leadership)
    }

    async fn run_from(mut self, first: Option<Bundle>, mut leadership: Option<Leadership>) {
        if let (Some(first), Some(leadership)) = (first, &mut leadership) {
            tokio::select! {
                () = self.register_first(&first) => {}
                () = leadership.acquired() => {}
            }
        }
        loop {
            let Some(leadership) = &mut leadership else {
                return self.lead().await;
            };
            leadership.acquired().await;
            tokio::select! {
                () = self.lead() => {}
                () = leadership.lost() => {}
            }
            self.confirmed.send_replace(None);
        }
    }

    /// Registers `bundle` in each of the two objects that names no authority.
    async fn register_first(&self, bundle: &Bundle) {
        let mut definition = Registration::<Definition>::new(&self.client, &self.target);
        let mut webhook = Registration::<ValidatingWebhook>::new(&self.client, &self.target);
        for _ in 0..FIRST_TRIES {
            let registered = definition.register_first(bundle).await;
            if webhook.register_first(bundle).await && registered {
                return;
            }
            sleep(RETRY).await;
        }
    }

    /// One term: looks whenever one of the objects or the authorities change.
    async fn lead(&mut self) {
        let mut definition = Registration::<Definition>::new(&self.client, &self.target);
        let mut webhook = Registration::<ValidatingWebhook>::new(&self.client, &self.target);
        let mut definitions = Registration::<Definition>::watch(&self.client).boxed();
        let mut webhooks = Registration::<ValidatingWebhook>::watch(&self.client).boxed();
        self.bundle.mark_changed();
        loop {
            let bundle = self.bundle.borrow_and_update().clone();
            let mut failed = false;
            if let Some(bundle) = bundle {
                let registered = definition.register(&bundle).await;
                let validating = webhook.register(&bundle).await;
                failed = registered.is_err() || validating.is_err();
                // The validating webhook may be left out of an installation: what it finds, the
                // operator finds as well. Without the other no object of v1alpha1 can be read.
                if registered == Ok(true) && validating.is_ok() {
                    self.confirm(bundle);
                } else {
                    self.confirmed.send_replace(None);
                }
            }
            tokio::select! {
                event = definitions.next() => match event {
                    Some(event) => definition.see(event),
                    None => return,
                },
                event = webhooks.next() => match event {
                    Some(event) => webhook.see(event),
                    None => return,
                },
                changed = self.bundle.changed() => if changed.is_err() {
                    return pending().await;
                },
                () = sleep(RETRY), if failed => {}
            }
        }
    }

    fn confirm(&self, bundle: Bundle) {
        self.confirmed.send_if_modified(|now| {
            let unchanged = now.as_ref().is_some_and(|now| now.bundle == bundle);
            if !unchanged {
                *now = Some(Confirmed { bundle, since: Instant::now() });
            }
            !unchanged
        });
    }
}
