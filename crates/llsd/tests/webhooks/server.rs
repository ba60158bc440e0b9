//! The webhook server on a thread of its own, with a certificate for loopback.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::thread::JoinHandle;

use llsd::operator::shutdown::{Shutdown, Trigger};
use llsd::operator::telemetry::Metrics;
use llsd::operator::webhook::{Callers, ClusterLookups, Webhooks, serve};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// A certificate for loopback, and the authority that signed it.
#[derive(Debug)]
pub struct Identity {
    pub authority: String,
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

impl Identity {
    pub fn new() -> Self {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.distinguished_name.push(DnType::CommonName, "webhook test");
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let leaf = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
        let certificate = leaf.signed_by(&key, &issuer).unwrap();
        Self {
            authority: issuer.pem(),
            certificate: certificate.der().clone(),
            key: key.serialize_der(),
        }
    }

    /// With what identifies callers.
    fn tls(&self, callers: Option<Arc<Callers>>) -> Arc<ServerConfig> {
        llsd_testkit::install_crypto_provider();
        let key = PrivateKeyDer::try_from(self.key.clone()).unwrap();
        let config = ServerConfig::builder();
        let config = match callers {
            Some(callers) => config.with_client_cert_verifier(callers),
            None => config.with_no_client_auth(),
        };
        let config = config.with_single_cert(vec![self.certificate.clone()], key);
        Arc::new(config.unwrap())
    }
}

/// A webhook server that runs beside the tests, whatever becomes of their runtimes.
#[derive(Debug)]
pub struct Server {
    pub address: SocketAddr,
    pub metrics: Metrics,
    stop: Trigger,
    thread: Option<JoinHandle<()>>,
}

impl Server {
    /// On a free port. Given a cluster, it looks there for the callers that are known.
    pub fn start(identity: &Identity, cluster: Option<(kube::Config, Arc<Callers>)>) -> Self {
        Self::start_at(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)), identity, cluster)
    }

    /// On the port that one had before.
    pub fn start_at(
        address: SocketAddr,
        identity: &Identity,
        cluster: Option<(kube::Config, Arc<Callers>)>,
    ) -> Self {
        let tls = identity.tls(cluster.as_ref().map(|(_, callers)| Arc::clone(callers)));
        let metrics = Metrics::new("test");
        let mut webhooks = Webhooks::new(metrics.clone());
        let (stop, shutdown) = Shutdown::new();
        let listener = std::net::TcpListener::bind(address).unwrap();
        listener.set_nonblocking(true).unwrap();
        let address = listener.local_addr().unwrap();
        let thread = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_multi_thread()
                .worker_threads(2)
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                webhooks.lookups = cluster.map(|(config, callers)| {
                    ClusterLookups::new(kube::Client::try_from(config).unwrap(), callers)
                });
                let listener = tokio::net::TcpListener::from_std(listener).unwrap();
                serve(listener, tls, webhooks, shutdown).await.unwrap();
            });
        });
        Self { address, metrics, stop, thread: Some(thread) }
    }

    /// Asks for the end and does not wait for it.
    pub fn ask_to_end(&self) {
        self.stop.request();
    }

    /// Ends it in good order.
    pub fn end(mut self) -> SocketAddr {
        self.stop.request();
        self.thread.take().unwrap().join().unwrap();
        self.address
    }
}
