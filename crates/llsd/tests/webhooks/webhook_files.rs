//! Certificates of the webhooks that somebody else makes, as files: taken when they change, and
//! nothing of the operator's own beside them.

use std::path::Path;
use std::time::Duration;

use llsd_testkit::free_port;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use serde_json::Value;

use llsd_testbed::access::eventually;
use llsd_testbed::webhooks::{Calls, Site};

type Authority = CertifiedIssuer<'static, KeyPair>;

fn authority(name: &str) -> Authority {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(rcgen::DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

/// Writes a new certificate of `authority`, the certificate before its key as a slow hand would.
fn issue(folder: &Path, authority: &Authority) {
    let key = KeyPair::generate().unwrap();
    let params = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
    let certificate = params.signed_by(&key, authority).unwrap();
    std::fs::write(folder.join("tls.crt"), certificate.pem()).unwrap();
    std::fs::write(folder.join("tls.key"), key.serialize_pem()).unwrap();
}

/// Whether the webhooks are served with a certificate of `authority`.
async fn is_served(port: u16, authority: &Authority) -> bool {
    let trusted = reqwest::Certificate::from_pem(authority.pem().as_bytes()).unwrap();
    let client = reqwest::Client::builder().tls_certs_only([trusted]).no_proxy();
    let client = client.timeout(Duration::from_secs(5)).build().unwrap();
    client.get(format!("https://127.0.0.1:{port}/")).send().await.is_ok()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_are_served_and_taken_anew_when_they_change() {
    let Some(site) = Site::set().await else { return };
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (authority("one"), authority("other"));
    let port = free_port().unwrap();
    let files = format!("--webhook-cert-dir={}", folder.path().display());
    let replica = site.replica(port, port, &[&files]);
    eventually("it waits", async || replica.log().contains("no certificate for the webhooks"))
        .await;
    assert_ne!(replica.probe("/readyz").await, Some(200));

    std::fs::write(folder.path().join("ca.crt"), one.pem() + &other.pem()).unwrap();
    issue(folder.path(), &one);
    eventually("it is ready", async || replica.probe("/readyz").await == Some(200)).await;
    assert!(is_served(port, &one).await);
    let mut calls = Calls::prepare(&site).await;
    issue(folder.path(), &other);
    calls.until("the other is served", async || is_served(port, &other).await).await;
    // Half of a pair changes nothing.
    let key = KeyPair::generate().unwrap().serialize_pem();
    std::fs::write(folder.path().join("tls.key"), key).unwrap();
    calls
        .until("it is seen", async || replica.log().contains("belongs to another certificate"))
        .await;
    assert!(is_served(port, &other).await);
    calls.round().await;
    assert_eq!(calls.failed, Vec::<String>::new());
    assert_eq!(site.secret().await, Value::Null, "there is nothing of its own");
    assert!(!replica.log().contains("PRIVATE KEY"));
}
