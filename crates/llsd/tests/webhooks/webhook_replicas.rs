//! Several replicas serve the webhooks, whoever leads: one may end or crash, and calls go on.

use std::sync::Arc;
use std::time::Duration;

use llsd_testkit::free_port;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::RwLock;
use tokio::time::sleep;

use llsd_testbed::access::eventually;
use llsd_testbed::operator::Operator;
use llsd_testbed::webhooks::{Calls, Site};

/// The place of a Service: passes connections on to replicas that were ready a moment ago, each to
/// the next one.
struct Balancer {
    port: u16,
    replicas: Arc<RwLock<Vec<(u16, Operator)>>>,
}

impl Balancer {
    async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let replicas = Arc::new(RwLock::new(Vec::new()));
        let ready = Arc::new(RwLock::new(Vec::new()));
        let (known, seen) = (Arc::clone(&replicas), Arc::clone(&ready));
        tokio::spawn(async move {
            loop {
                let mut found = Vec::new();
                for (port, replica) in known.read().await.iter() {
                    let replica: &Operator = replica;
                    if replica.probe("/readyz").await == Some(200) {
                        found.push(*port);
                    }
                }
                *seen.write().await = found;
                sleep(Duration::from_millis(100)).await;
            }
        });
        tokio::spawn(async move {
            for turn in 0_usize.. {
                let (mut from, _) = listener.accept().await.unwrap();
                let ready = ready.read().await.clone();
                tokio::spawn(async move {
                    let port = *ready.get(turn % ready.len().max(1))?;
                    let mut to = TcpStream::connect(("127.0.0.1", port)).await.ok()?;
                    copy_bidirectional(&mut from, &mut to).await.ok()
                });
            }
        });
        Self { port, replicas }
    }

    /// Adds a replica, and waits until it is ready.
    async fn add(&self, site: &Site) {
        let port = free_port().unwrap();
        let replica = site.replica(port, self.port, &[]);
        eventually("it is ready", async || replica.probe("/readyz").await == Some(200)).await;
        self.replicas.write().await.push((port, replica));
    }

    /// Which of them leads.
    async fn leader(&self) -> Option<usize> {
        for (position, (_, replica)) in self.replicas.read().await.iter().enumerate() {
            if replica.figure("llsd_leader").await == Some(1.0) {
                return Some(position);
            }
        }
        None
    }
}

/// `signal` ends the leader.
async fn calls_go_on_when_the_leader_ends(signal: &str) {
    let Some(site) = Site::set().await else { return };
    let balancer = Balancer::start().await;
    balancer.add(&site).await;
    balancer.add(&site).await;
    let mut calls = Calls::prepare(&site).await;
    for _ in 0..10 {
        calls.round().await;
    }
    let leader = balancer.leader().await.expect("one leads");
    balancer.replicas.read().await[leader].1.signal(signal);
    if signal == "KILL" {
        // What was under way is lost with the process; from the moment in which it is no longer
        // ready, nothing is.
        sleep(Duration::from_millis(500)).await;
        calls.round().await;
        calls.failed.clear();
    }
    for _ in 0..25 {
        calls.round().await;
    }
    balancer.add(&site).await;
    for _ in 0..25 {
        calls.round().await;
    }
    eventually("another one leads", async || {
        balancer.leader().await.is_some_and(|another| another != leader)
    })
    .await;
    calls.round().await;
    assert_eq!(calls.failed, Vec::<String>::new(), "of {}", calls.made);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_fails_when_a_replica_ends_and_another_takes_its_place() {
    calls_go_on_when_the_leader_ends("TERM").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn no_call_fails_after_a_crash_once_the_replica_is_seen_to_be_gone() {
    calls_go_on_when_the_leader_ends("KILL").await;
}
