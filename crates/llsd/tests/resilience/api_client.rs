//! The operator's client of the API server: what is asked is counted, what is not answered ends,
//! and what is answered never reaches the log.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::TryStreamExt;
use http::Request;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::Api;
use kube::api::{
    DeleteParams, ListParams, Patch, PatchParams, PostParams, WatchEvent, WatchParams,
};
use llsd::operator::api_clock::ApiClock;
use llsd::operator::telemetry::Metrics;
use llsd::operator::telemetry::api_calls::{NoAnswer, Patience, client, patient_client};
use llsd::operator::telemetry::logs::{Format, subscriber};
use llsd_testkit::{ControlPlane, SharedControlPlane};
use serde_json::json;

use crate::election::Link;

static CLUSTER: SharedControlPlane = SharedControlPlane::new(ControlPlane::builder);

const HASTY: Patience = Patience {
    connect: Duration::from_secs(3),
    request: Duration::from_secs(1),
    silence: Duration::from_secs(5),
    idle: Duration::from_secs(1),
};

fn config_map(name: &str, size: usize) -> ConfigMap {
    let data = json!({"metadata": {"name": name}, "data": {"key": "x".repeat(size)}});
    serde_json::from_value(data).unwrap()
}

fn took_too_long(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Service(error) if error.is::<NoAnswer>())
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_counted_by_verb_and_answer() {
    let Some(cluster) = CLUSTER.get_or_skip().await else {
        return;
    };
    let namespace = cluster.namespace("counted").await.unwrap();
    let metrics = Metrics::new("0");
    let client =
        client(cluster.config_for("admin", &["system:masters"]), &metrics, &ApiClock::default())
            .unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, &namespace);

    let mut map = maps.create(&PostParams::default(), &config_map("a", 1)).await.unwrap();
    maps.create(&PostParams::default(), &config_map("a", 1)).await.unwrap_err();
    map = maps.get(map.metadata.name.as_deref().unwrap()).await.unwrap();
    maps.get_opt("b").await.unwrap();
    assert_eq!(maps.list(&ListParams::default()).await.unwrap().items.len(), 1);
    maps.replace("a", &PostParams::default(), &map).await.unwrap();
    let patch = Patch::Merge(json!({"data": {"key": "y"}}));
    maps.patch("a", &PatchParams::default(), &patch).await.unwrap();
    drop(maps.watch(&WatchParams::default().timeout(1), "0").await.unwrap());
    maps.delete("a", &DeleteParams::default()).await.unwrap();

    let text = metrics.text();
    for (verb, code) in [
        ("create", 201),
        ("create", 409),
        ("get", 200),
        ("get", 404),
        ("list", 200),
        ("update", 200),
        ("patch", 200),
        ("watch", 200),
        ("delete", 200),
    ] {
        let line = format!("llsd_api_requests_total{{verb=\"{verb}\",code=\"{code}\"}} 1");
        assert!(text.contains(&line), "no {line}:\n{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_api_server_ends_requests_and_watches() {
    let Some(cluster) = ControlPlane::start_or_skip().await else { return };
    let metrics = Metrics::new("0");
    let config = cluster.config_for("admin", &["system:masters"]);
    let client = patient_client(config, &metrics, &ApiClock::default(), HASTY).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let watch = maps.watch(&WatchParams::default(), "0").await.unwrap();
    maps.list(&ListParams::default()).await.unwrap();

    cluster.pause_api_server().unwrap();
    let frozen = Instant::now();
    let error = maps.get("a").await.unwrap_err();
    assert!(took_too_long(&error), "{error}");
    assert!(frozen.elapsed() < Duration::from_secs(3));
    let error = maps.watch(&WatchParams::default(), "0").await.err().unwrap();
    assert!(took_too_long(&error), "{error}");
    let lines = metrics.text();
    assert!(lines.contains("llsd_api_requests_total{verb=\"get\",code=\"none\"} 1"), "{lines}");

    // The watch from before ends too, be it with an error or without.
    let rest = watch.try_collect::<Vec<_>>();
    assert!(tokio::time::timeout(Duration::from_secs(10), rest).await.is_ok());
    cluster.resume_api_server().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_stops_in_its_midst_ends_too() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let namespace = cluster.namespace("midst").await.unwrap();
    let mut config = cluster.config_for("admin", &["system:masters"]);
    let link = Link::before(&mut config).await;
    // Compressed, the many equal bytes would be few.
    config.disable_compression = true;
    let client = patient_client(config, &Metrics::new("0"), &ApiClock::default(), HASTY).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, &namespace);
    maps.create(&PostParams::default(), &config_map("big", 900_000)).await.unwrap();
    link.shut_after(200_000);
    let asked = Instant::now();
    let error = maps.get("big").await.unwrap_err();
    assert!(took_too_long(&error), "{error}");
    assert!(asked.elapsed() < Duration::from_secs(3));
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_that_nobody_needs_are_closed() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let mut config = cluster.config_for("admin", &["system:masters"]);
    let link = Link::before(&mut config).await;
    let client = patient_client(config, &Metrics::new("0"), &ApiClock::default(), HASTY).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, "default");
    let watch = maps.watch(&WatchParams::default(), "0").await.unwrap();
    let limit = ListParams::default().limit(1);
    futures::future::join_all((0..8).map(|_| maps.list(&limit))).await;
    assert!(link.connections() > 2, "{}", link.connections());
    let only_the_watch = async {
        while link.connections() > 1 {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(HASTY.idle * 10, only_the_watch).await.unwrap();
    drop(watch);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quiet_watch_outlasts_the_bound_of_requests() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let namespace = cluster.namespace("quiet").await.unwrap();
    let config = cluster.config_for("admin", &["system:masters"]);
    let client = patient_client(config, &Metrics::new("0"), &ApiClock::default(), HASTY).unwrap();
    let maps: Api<ConfigMap> = Api::namespaced(client, &namespace);
    let now = maps.list(&ListParams::default()).await.unwrap().metadata.resource_version.unwrap();
    let mut watch = Box::pin(maps.watch(&WatchParams::default(), &now).await.unwrap());

    // Other namespaces are not watched here, so for three times the bound nothing comes.
    let quiet = tokio::time::timeout(HASTY.request * 3, watch.try_next()).await;
    assert!(quiet.is_err(), "{quiet:?}");
    maps.create(&PostParams::default(), &config_map("late", 1)).await.unwrap();
    let event = watch.try_next().await.unwrap();
    assert!(matches!(event, Some(WatchEvent::Added(_))), "{event:?}");
}

#[derive(Clone, Default)]
struct Page(Arc<Mutex<Vec<u8>>>);

impl Page {
    fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().unwrap()).into_owned()
    }
}

impl Write for Page {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Reads a Secret as something that it is not. On one thread, where the log of this test is set.
async fn misread(config: kube::Config, namespace: &str) {
    let client = client(config, &Metrics::new("0"), &ApiClock::default()).unwrap();
    let uri = format!("/api/v1/namespaces/{namespace}/secrets/password");
    let request = Request::get(uri).body(Vec::new()).unwrap();
    let error = client.request::<Vec<u8>>(request).await.unwrap_err();
    assert!(matches!(error, kube::Error::SerdeError(_)), "{error}");
}

#[tokio::test]
async fn a_secret_that_cannot_be_read_is_not_in_the_log_at_any_level() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let namespace = cluster.namespace("secret").await.unwrap();
    let value = "aHVudGVyMi1odW50ZXIy";
    let secret = json!({"metadata": {"name": "password"}, "data": {"key": value}});
    let secret: Secret = serde_json::from_value(secret).unwrap();
    let secrets: Api<Secret> = Api::namespaced(cluster.client(), &namespace);
    secrets.create(&PostParams::default(), &secret).await.unwrap();
    let config = cluster.config_for("admin", &["system:masters"]);

    for filter in [
        "error",
        "warn",
        "info",
        "debug",
        "trace",
        "kube_client=trace",
        "kube_client::client=trace",
        "trace,kube_client=trace,kube=trace,hyper=trace,rustls=trace",
    ] {
        for format in [Format::Json, Format::Text] {
            let page = Page::default();
            let copy = page.clone();
            let log = subscriber(format, filter, move || copy.clone()).unwrap();
            let log = tracing::subscriber::set_default(log);
            misread(config.clone(), &namespace).await;
            tracing::error!("the last line");
            drop(log);
            let text = page.text();
            let seen = filter.starts_with("kube_client") || text.contains("the last line");
            assert!(seen, "{filter} shows nothing");
            assert!(!text.contains(value) && !text.contains("hunter2"), "{filter}: {text}");
        }
    }

    // Without our filter it would be there, or this test would prove nothing.
    let page = Page::default();
    let copy = page.clone();
    let plain = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::WARN)
        .with_writer(move || copy.clone())
        .finish();
    let log = tracing::subscriber::set_default(plain);
    misread(config, &namespace).await;
    drop(log);
    assert!(page.text().contains(value));
}
