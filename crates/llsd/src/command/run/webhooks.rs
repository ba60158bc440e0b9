//! Serving webhooks in `llsd run`: first a certificate, then the server, and when it is known who
//! leads, what keeps both up to date.

use std::sync::Arc;

use kube::Client;
use llsd_install::names::webhook_hosts;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::rustls::server::danger::ClientCertVerifier;

use super::failure::StartFailure;
use super::webhook_flags::{Plan, Source};
use crate::operator::health;
use crate::operator::leadership::Leadership;
use crate::operator::shutdown::Shutdown;
use crate::operator::telemetry::Metrics;
use crate::operator::webhook::certificates::{self, CertificateKeeper, Files, server_config};
use crate::operator::webhook::install::{Installer, WebhookTarget};
use crate::operator::webhook::{self, Callers, ClusterLookups, Webhooks};

/// What the webhooks have around them.
pub(super) struct Site {
    pub client: Client,
    pub namespace: String,
    pub metrics: Metrics,
    pub shutdown: Shutdown,
}

/// What keeps the certificates, their registration and the authorities of callers up to date.
pub(super) struct WebhookCertificates {
    keeper: Kept,
    installer: Option<Installer>,
    callers: Option<Arc<Callers>>,
}

enum Kept {
    Own(Box<CertificateKeeper>),
    Files(Box<Files>),
}

/// Returns when the webhooks are served, or nothing if the end was asked for before.
pub(super) async fn start(
    plan: Plan,
    site: Site,
    calls: &mut JoinSet<()>,
) -> Result<Option<WebhookCertificates>, StartFailure> {
    let listener = health::bind(&plan.address).await.map_err(StartFailure::WebhookAddress)?;
    let Some(listener) = listener else { return Ok(None) };
    let mut certificates = prepare(&plan, &site);
    tokio::select! {
        () = certificates.keeper.obtain() => {}
        () = site.shutdown.requested() => return Ok(None),
    }
    let callers = certificates.callers.clone();
    let verifier = callers.clone().map(|callers| callers as Arc<dyn ClientCertVerifier>);
    let tls = server_config(certificates.keeper.served(), verifier)?;
    let address = listener.local_addr().ok();
    let mut webhooks = Webhooks::new(site.metrics);
    webhooks.lookups = callers.map(|callers| ClusterLookups::new(site.client, callers));
    calls.spawn(async move {
        let served = webhook::serve(listener, Arc::new(tls), webhooks, site.shutdown).await;
        if let Err(error) = served {
            tracing::error!(%error, "webhooks are no longer served");
        }
    });
    tracing::info!(webhooks = ?address, "serving");
    Ok(Some(certificates))
}

fn prepare(plan: &Plan, site: &Site) -> WebhookCertificates {
    let (confirm, confirmed) = watch::channel(None);
    let url = plan.url.as_ref();
    let target = match url {
        Some(url) => WebhookTarget::Url(url.text.clone()),
        None => WebhookTarget::Service { namespace: site.namespace.clone() },
    };
    let install =
        |bundle| Installer::new(site.client.clone(), target.clone(), bundle, confirm.clone());
    let callers = plan.client_authority.as_deref().map(|file| Arc::new(Callers::new(file)));
    match &plan.certificates {
        Source::Own(times) => {
            let host = url.map(|url| url.host.as_str());
            let names = webhook_hosts(&site.namespace, host);
            let (client, metrics) = (&site.client, site.metrics.clone());
            let keeper =
                CertificateKeeper::new(client, &site.namespace, names, *times, confirmed, metrics);
            let installer = Some(install(keeper.bundle()));
            WebhookCertificates { keeper: Kept::Own(Box::new(keeper)), installer, callers }
        }
        // Whoever makes the files also registers whom to trust; only an address has to be
        // registered by us.
        Source::Files(folder) => {
            let files = Files::new(folder, site.metrics.clone());
            let installer = url.map(|_| install(files.bundle()));
            WebhookCertificates { keeper: Kept::Files(Box::new(files)), installer, callers }
        }
    }
}

impl WebhookCertificates {
    /// From now on; the parts that only the leader does wait for leadership.
    pub(super) fn keep(self, leadership: Option<&Leadership>, background: &mut JoinSet<()>) {
        let leadership = leadership.cloned();
        if let Some(callers) = self.callers {
            background.spawn(callers.keep());
        }
        if let Some(installer) = self.installer {
            background.spawn(installer.run(leadership.clone()));
        }
        match self.keeper {
            Kept::Own(keeper) => background.spawn(keeper.keep(leadership)),
            Kept::Files(files) => background.spawn(files.keep()),
        };
    }
}

impl Kept {
    async fn obtain(&mut self) {
        match self {
            Self::Own(keeper) => keeper.obtain().await,
            Self::Files(files) => files.obtain().await,
        }
    }

    fn served(&self) -> Arc<certificates::Served> {
        match self {
            Self::Own(keeper) => keeper.served(),
            Self::Files(files) => files.served(),
        }
    }
}
