//! Certificates that somebody else makes and renews, such as cert-manager or OpenShift's service CA:
//! files in a folder, read again and again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use super::certificate::Leaf;
use super::keep::Bundle;
use super::served::Served;
use crate::operator::telemetry::{Certificate, Metrics};

/// The kubelet brings a changed Secret within a minute or two; reading costs next to nothing.
const POLL: Duration = Duration::from_secs(2);

/// `tls.crt`, `tls.key` and, if it is there, `ca.crt`.
#[derive(Debug)]
pub struct Files {
    folder: PathBuf,
    served: Arc<Served>,
    bundle: watch::Sender<Option<Bundle>>,
    serving: Option<String>,
    last_failure: Option<String>,
    metrics: Metrics,
}

impl Files {
    pub fn new(folder: &Path, metrics: Metrics) -> Self {
        Self {
            folder: folder.to_owned(),
            served: Arc::default(),
            bundle: watch::Sender::new(None),
            serving: None,
            last_failure: None,
            metrics,
        }
    }

    pub fn served(&self) -> Arc<Served> {
        Arc::clone(&self.served)
    }

    /// What is in `ca.crt`, for whoever registers an address.
    pub fn bundle(&self) -> watch::Receiver<Option<Bundle>> {
        self.bundle.subscribe()
    }

    /// Returns once there is something to serve.
    pub async fn obtain(&mut self) {
        while !self.refresh() {
            sleep(POLL).await;
        }
    }

    /// Takes what changes, as long as it is polled.
    pub async fn keep(mut self) {
        loop {
            sleep(POLL).await;
            self.refresh();
        }
    }

    /// Whether there is something to serve. A pair that does not match is one that is just being
    /// replaced: what is served stays.
    fn refresh(&mut self) -> bool {
        match self.load() {
            Ok(leaf) => {
                self.last_failure = None;
                if self.serving.as_ref() != Some(&leaf.pem) && self.served.serve(&leaf).is_ok() {
                    tracing::info!(folder = %self.folder.display(), until = %leaf.until, "the certificate of the webhooks is taken from its files");
                    let (from, until) = (leaf.from.as_second(), leaf.until.as_second());
                    self.metrics.certificate(Certificate::Served, from, until);
                    self.serving = Some(leaf.pem);
                }
            }
            Err(failure) => {
                if self.last_failure.as_ref() != Some(&failure) {
                    tracing::warn!(folder = %self.folder.display(), failure, "no certificate for the webhooks in these files");
                    self.last_failure = Some(failure);
                }
            }
        }
        if let Ok(text) = std::fs::read_to_string(self.folder.join("ca.crt")) {
            let bundle = Some(Bundle(text));
            self.bundle.send_if_modified(|now| {
                let changed = *now != bundle;
                *now = bundle;
                changed
            });
        }
        self.serving.is_some()
    }

    fn load(&self) -> Result<Leaf, String> {
        let text = |name: &str| {
            std::fs::read_to_string(self.folder.join(name))
                .map_err(|error| format!("{name}: {error}"))
        };
        let (certificate, key) = (text("tls.crt")?, text("tls.key")?.into());
        Leaf::foreign(&certificate, &key).map_err(|flaw| format!("tls.crt, tls.key: {flaw}"))
    }
}
