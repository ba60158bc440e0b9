//! The certificate by which webhooks know the API server, the authority behind it, and the files that
//! make an API server show it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, IsCa,
    KeyPair, KeyUsagePurpose,
};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::{ClientConfig, RootCertStore};

/// A client certificate, and the authority that signed it.
#[derive(Debug)]
pub struct WebhookClient {
    folder: TempDir,
    certificate: CertificateDer<'static>,
    key: Vec<u8>,
}

impl WebhookClient {
    /// One that nobody has seen before.
    #[allow(clippy::new_without_default, reason = "each is another one")]
    pub fn new() -> Self {
        let mut authority = CertificateParams::default();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        authority.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        authority.distinguished_name.push(DnType::CommonName, "callers of webhooks");
        let issuer = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let mut client = CertificateParams::default();
        client.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        client.distinguished_name.push(DnType::CommonName, "the API server");
        let key = KeyPair::generate().unwrap();
        let certificate = client.signed_by(&key, &issuer).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path
        };
        write("ca.crt", issuer.pem());
        let encoded = |pem: String| BASE64_STANDARD.encode(pem);
        let user = json!({
            "client-certificate-data": encoded(certificate.pem()),
            "client-key-data": encoded(key.serialize_pem()),
        });
        let users = json!({
            "apiVersion": "v1", "kind": "Config", "users": [{"name": "*", "user": user}],
        });
        let users = write("users.json", users.to_string());
        let api = "apiserver.config.k8s.io/v1";
        let admission = json!({
            "apiVersion": api, "kind": "AdmissionConfiguration",
            "plugins": [{
                "name": "ValidatingAdmissionWebhook",
                "configuration": {
                    "apiVersion": api, "kind": "WebhookAdmissionConfiguration",
                    "kubeConfigFile": users,
                },
            }],
        });
        write("admission.json", admission.to_string());
        Self { certificate: certificate.der().clone(), key: key.serialize_der(), folder }
    }

    /// What the operator's `--webhook-client-ca-file` names.
    pub fn authority_file(&self) -> PathBuf {
        self.folder.path().join("ca.crt")
    }

    /// Makes an API server show the certificate to validating webhooks.
    pub fn api_server_flag(&self) -> String {
        let file = self.folder.path().join("admission.json");
        format!("--admission-control-config-file={}", file.display())
    }
}

/// Sends a review to webhooks that serve under this authority, as `client` or as nobody; the answer.
pub async fn send(
    url: &str,
    authority: &[u8],
    client: Option<&WebhookClient>,
    review: &Value,
) -> Value {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_slice(authority).unwrap()).unwrap();
    let config = ClientConfig::builder().with_root_certificates(roots);
    let config = match client {
        None => config.with_no_client_auth(),
        Some(client) => {
            let key = PrivateKeyDer::try_from(client.key.clone()).unwrap();
            config.with_client_auth_cert(vec![client.certificate.clone()], key).unwrap()
        }
    };
    let client = reqwest::Client::builder()
        .use_preconfigured_tls(config)
        .no_proxy()
        .timeout(Duration::from_secs(10))
        .build()
        .unwrap();
    let sent = client.post(url).body(review.to_string()).send().await.unwrap();
    serde_json::from_str(&sent.text().await.unwrap()).unwrap()
}

/// For webhook servers that run within a test.
pub fn callers(client: &WebhookClient) -> Arc<llsd::operator::webhook::Callers> {
    Arc::new(llsd::operator::webhook::Callers::new(&client.authority_file()))
}
