//! What the kubelet and Prometheus see of a running operator.

use std::net::SocketAddr;
use std::time::Duration;

use llsd::operator::health::{Alive, BindAddress, Health, Listeners, Ready};
use llsd::operator::shutdown::{Shutdown, Trigger};
use llsd::operator::telemetry::{Metrics, Reconcile};
use llsd_testbed::access::eventually;

struct Operator {
    health: Health,
    end: Trigger,
    probes: SocketAddr,
    metrics: SocketAddr,
}

const LIMIT: Duration = Duration::from_millis(300);

async fn operator() -> Operator {
    let (end, shutdown) = Shutdown::new();
    let health = Health {
        alive: Alive::new(LIMIT),
        ready: Ready::default(),
        shutdown,
        metrics: Metrics::new("1.2.3"),
        readers: None,
    };
    let anywhere = BindAddress::At("127.0.0.1:0".to_owned());
    let listeners = Listeners::bind(&anywhere, &anywhere).await.unwrap();
    let (probes, metrics) = (listeners.probes().unwrap(), listeners.metrics().unwrap());
    tokio::spawn(listeners.serve(health.clone()));
    Operator { health, end, probes, metrics }
}

async fn get(address: SocketAddr, path: &str) -> (u16, String) {
    let answer = reqwest::get(format!("http://{address}{path}")).await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

#[tokio::test]
async fn a_replica_is_ready_from_when_it_says_so_until_it_is_asked_to_end() {
    let operator = operator().await;
    assert_eq!(get(operator.probes, "/readyz").await, (503, "starting\n".to_owned()));
    operator.health.ready.set();
    assert_eq!(get(operator.probes, "/readyz").await, (200, "ok\n".to_owned()));
    operator.end.request();
    assert_eq!(get(operator.probes, "/readyz").await, (503, "ending\n".to_owned()));
    // It ends, but it is not stuck.
    eventually("it is alive", async || {
        operator.health.alive.beat();
        get(operator.probes, "/healthz").await.0 == 200
    })
    .await;
}

/// Only the leader ever says so, and never for what is lacking beside its own watch.
#[tokio::test]
async fn a_leader_that_sees_no_resource_is_not_ready_and_says_why() {
    let operator = operator().await;
    operator.health.ready.set();
    operator.health.ready.set_blind(Some("the operator may not list them".to_owned()));
    let says = "no resource can be seen: the operator may not list them\n".to_owned();
    assert_eq!(get(operator.probes, "/readyz").await, (503, says));
    operator.health.ready.set_blind(None);
    assert_eq!(get(operator.probes, "/readyz").await.0, 200);
}

#[tokio::test]
async fn a_loop_that_is_stuck_is_told_and_one_that_goes_on_again_too() {
    let operator = operator().await;
    // On a busy machine the limit may pass between the beat and the question.
    let is_alive = async || {
        operator.health.alive.beat();
        get(operator.probes, "/healthz").await == (200, "ok\n".to_owned())
    };
    eventually("a loop that goes on is alive", &is_alive).await;
    tokio::time::sleep(LIMIT * 2).await;
    let (code, says) = get(operator.probes, "/healthz").await;
    assert!(code == 500 && says.starts_with("the main loop has been stuck for "), "{code} {says}");
    eventually("one that goes on again is alive", &is_alive).await;
}

#[tokio::test]
async fn figures_have_an_address_of_their_own() {
    let operator = operator().await;
    operator.health.metrics.reconciled(Reconcile::Planned, 0.1);
    let answer = reqwest::get(format!("http://{}/metrics", operator.metrics)).await.unwrap();
    assert_eq!(answer.status(), 200);
    let kind = answer.headers()["content-type"].to_str().unwrap().to_owned();
    assert_eq!(kind, "application/openmetrics-text; version=1.0.0; charset=utf-8");
    let text = answer.text().await.unwrap();
    assert!(text.contains("llsd_reconciles_total{result=\"planned\"} 1\n"), "{text}");
    assert!(text.ends_with("# EOF\n"));
    assert_eq!(get(operator.probes, "/metrics").await.0, 404);
    assert_eq!(get(operator.metrics, "/healthz").await.0, 404);
}

#[tokio::test]
async fn a_port_on_all_addresses_answers_there() {
    let everywhere: BindAddress = ":0".parse().unwrap();
    let listeners = Listeners::bind(&everywhere, &BindAddress::Nowhere).await.unwrap();
    assert_eq!(listeners.metrics(), None);
    let port = listeners.probes().unwrap().port();
    let operator = operator().await;
    tokio::spawn(listeners.serve(operator.health));
    assert_eq!(get(([127, 0, 0, 1], port).into(), "/healthz").await.0, 200);
}

#[tokio::test]
async fn an_address_in_use_is_named() {
    let operator = operator().await;
    let taken: BindAddress = operator.probes.to_string().parse().unwrap();
    let error = Listeners::bind(&taken, &BindAddress::Nowhere).await.unwrap_err();
    assert!(error.to_string().starts_with(&format!("cannot listen on {taken}: ")), "{error}");
}
