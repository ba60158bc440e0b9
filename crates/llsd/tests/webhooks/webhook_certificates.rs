//! The certificates that the operator makes for its webhooks: they change, get lost and are broken,
//! and no call of the API server fails.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use http::Method;
use llsd_install::names;
use llsd_testkit::free_port;
use serde_json::{Value, json};
use tokio::time::{Duration, Instant, sleep};

use llsd_testbed::access::eventually;
use llsd_testbed::webhooks::{Calls, Site, secret_path};

/// A certificate every 13 s, an authority every 20 s.
const QUICK: [&str; 2] = ["--webhook-certificate-lifetime=20", "--webhook-authority-lifetime=30"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_fails_while_certificates_and_authorities_change_every_few_seconds() {
    let Some(site) = Site::set().await else { return };
    let port = free_port().unwrap();
    let replica = site.replica(port, port, &QUICK);
    let calls = Calls::prepare(&site).await;
    // Several at once, until there were a thousand of them and several changes.
    let changed = AtomicBool::new(false);
    let streams = (0..4).map(async |_| {
        let mut calls = calls.another();
        while calls.made < 250 || !changed.load(Ordering::Relaxed) {
            calls.round().await;
        }
        calls
    });
    let changes = async {
        let (mut leaves, mut authorities) = (BTreeSet::new(), BTreeSet::new());
        let begun = Instant::now();
        while leaves.len() < 5 || authorities.len() < 3 {
            assert!(begun.elapsed() < Duration::from_mins(5), "they do not change");
            let secret = site.secret().await;
            leaves.insert(secret["data"]["tls.crt"].to_string());
            authorities.insert(secret["data"]["ca.crt"].to_string());
            sleep(Duration::from_millis(200)).await;
        }
        changed.store(true, Ordering::Relaxed);
    };
    let (streams, ()) = futures::join!(futures::future::join_all(streams), changes);
    let made: u32 = streams.iter().map(|calls| calls.made).sum();
    let failed: Vec<&String> = streams.iter().flat_map(|calls| &calls.failed).collect();
    assert!(made >= 1000 && failed.is_empty(), "of {made}: {failed:?}; {}", replica.log());
    let log = replica.log();
    for said in ["signs when it is trusted", "signs from now on", "is no longer trusted"] {
        assert!(log.contains(said), "{said}: {log}");
    }
    assert!(!log.contains("PRIVATE KEY") && !log.contains("BEGIN CERTIFICATE"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_broken_or_lost_secret_is_mended_and_no_call_fails() {
    let Some(site) = Site::set().await else { return };
    let port = free_port().unwrap();
    // Renewed in days, but looked at every two seconds.
    let slow = ["--webhook-certificate-lifetime=100", "--webhook-authority-lifetime=360000"];
    let replica = site.replica(port, port, &slow);
    let mut calls = Calls::prepare(&site).await;
    let whole = |secret: &Value| {
        let field = |name: &str| secret["data"][name].as_str().is_some_and(|text| text.len() > 100);
        ["ca.crt", "ca.key", "tls.crt", "tls.key"].into_iter().all(field)
    };
    let before = site.secret().await;
    assert!(whole(&before) && before["metadata"]["name"] == names::WEBHOOK_SECRET);

    let broken = json!({"data": {"tls.key": "bm8ga2V5", "previous-ca.crt": "cGFzc3dvcmQ="}});
    site.send(Method::PATCH, &secret_path(), "application/merge-patch+json", &broken).await;
    calls
        .until("what is broken is mended", async || {
            let secret = site.secret().await;
            whole(&secret) && secret["data"].get("previous-ca.crt").is_none()
        })
        .await;
    let mended = site.secret().await;
    assert_eq!(mended["data"]["ca.crt"], before["data"]["ca.crt"], "the authority was fine");
    assert!(replica.log().contains("previous-ca.crt: no certificate"), "{}", replica.log());

    for emptied in [true, false] {
        let before = site.secret().await;
        if emptied {
            let nothing = json!({"data": {"ca.crt": null, "ca.key": "cGFzc3dvcmQ="}});
            let kind = "application/merge-patch+json";
            site.send(Method::PATCH, &secret_path(), kind, &nothing).await;
        } else {
            site.send(Method::DELETE, &secret_path(), "application/json", &Value::Null).await;
        }
        calls
            .until("there is another authority", async || {
                let secret = site.secret().await;
                whole(&secret) && secret["data"]["ca.crt"] != before["data"]["ca.crt"]
            })
            .await;
        let served = replica.log().matches("is served").count();
        calls
            .until("its certificate is served", async || {
                replica.log().matches("is served").count() > served
            })
            .await;
        let bundle = site.registered().await;
        assert!(bundle.as_str().unwrap().len() > before["data"]["ca.crt"].as_str().unwrap().len());
    }
    for _ in 0..20 {
        calls.round().await;
    }
    assert_eq!(calls.failed, Vec::<String>::new(), "of {}; {}", calls.made, replica.log());
    assert!(!replica.log().contains("password"), "{}", replica.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_that_start_together_share_one_authority() {
    let Some(site) = Site::set().await else { return };
    let ports = [(); 3].map(|()| free_port().unwrap());
    let replicas = ports.map(|port| site.replica(port, ports[0], &[]));
    for replica in &replicas {
        eventually("it is ready", async || replica.probe("/readyz").await == Some(200)).await;
    }
    let authority = site.secret().await["data"]["ca.crt"].clone();
    assert_eq!(site.registered().await, authority);
    let made = replicas.iter().filter(|replica| replica.log().contains("a new authority"));
    assert_eq!(made.count(), 1);
    let writes = site.cluster.audit().requests_of(&site.user).await.unwrap().writes();
    let rewritten = writes.only(|request| request.name == names::WEBHOOK_SECRET);
    assert!(rewritten.only(|request| request.verb != "create").is_empty(), "{rewritten:#?}");
}
