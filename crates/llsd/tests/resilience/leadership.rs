//! Of several replicas one leads, whatever happens to it, to the others and to the API server.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use llsd::operator::leadership::{ElectionSettings, LEASE_NAME, stand};
use llsd_testkit::{ControlPlane, SharedControlPlane};
use serde_json::json;
use tokio::sync::oneshot;
use tokio::time::timeout;

use llsd_testbed::access::within;

use crate::election::{Candidate, Link, hasty, holder, lease, overlap};

static CLUSTER: SharedControlPlane = SharedControlPlane::new(ControlPlane::builder);

const SOON: Duration = Duration::from_secs(10);

/// The shared control plane, a namespace in it and a client.
async fn setup() -> Option<(&'static ControlPlane, String, kube::Client)> {
    let cluster = CLUSTER.get_or_skip().await?;
    let namespace = cluster.namespace("election").await.unwrap();
    Some((cluster, namespace, cluster.client()))
}

/// A second replica that knows the Lease: who reads it for the second time has seen the first
/// answer.
async fn informed_follower(cluster: &ControlPlane, namespace: &str) -> Candidate {
    let user = format!("second-{namespace}");
    let client = cluster.client_for(&user, &["system:masters"]);
    let second = Candidate::start(client, hasty(namespace, "second"));
    within(SOON, "the second has seen the lease", async || {
        cluster.audit().requests_of(&user).await.unwrap().reads().len() >= 2
    })
    .await;
    second
}

#[tokio::test(flavor = "multi_thread")]
async fn of_two_replicas_one_leads_and_the_lease_says_so() {
    let Some((cluster, namespace, client)) = setup().await else { return };
    let leader = cluster.client_for("leader", &["system:masters"]);
    let mut first = Candidate::start(leader, hasty(&namespace, "first"));
    first.acquired_within(SOON).await;
    let second = Candidate::start(client.clone(), hasty(&namespace, "second"));

    let before = cluster.audit().mark().await.unwrap();
    let taken = lease(&client, &namespace).await.unwrap();
    within(SOON, "the lease was renewed twice", async || {
        let requests = cluster.audit().requests_of("leader").await.unwrap();
        requests.since(before).writes().len() >= 2
    })
    .await;
    let renewed = lease(&client, &namespace).await.unwrap();
    assert_eq!(renewed.holder_identity.as_deref(), Some("first"));
    assert_eq!(renewed.lease_duration_seconds, Some(4));
    assert_eq!(renewed.lease_transitions, Some(0));
    assert_eq!(renewed.acquire_time, taken.acquire_time);
    assert!(renewed.renew_time > taken.renew_time);
    assert!(first.leads() && second.terms().is_empty());

    // In the steady state a leader writes and does not read.
    let requests = cluster.audit().requests_of("leader").await.unwrap();
    let requests = requests.since(before);
    assert_eq!(requests.len(), requests.writes().len());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_vanishes_is_replaced_within_twenty_seconds() {
    let Some((_, namespace, client)) = setup().await else { return };
    let mut first = Candidate::start(client.clone(), ElectionSettings::new(&*namespace));
    first.acquired_within(SOON).await;
    let mut second = Candidate::start(client.clone(), ElectionSettings::new(&*namespace));
    // Right after a renewal is the worst moment.
    let taken = lease(&client, &namespace).await.unwrap().renew_time;
    within(SOON, "the first renewal", async || {
        lease(&client, &namespace).await.unwrap().renew_time != taken
    })
    .await;

    first.vanish();
    let took = second.acquired_within(Duration::from_secs(20)).await;
    assert!(
        took > Duration::from_secs(10),
        "a leader of the same times could still lead: {took:?}"
    );
    assert!(!overlap(&first, &second));
    assert_eq!(lease(&client, &namespace).await.unwrap().lease_transitions, Some(1));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_stops_hands_over_at_once() {
    let Some((_, namespace, client)) = setup().await else { return };
    let mut first = Candidate::start(client.clone(), hasty(&namespace, "first"));
    first.acquired_within(SOON).await;
    first.stop().await;
    assert!(!first.leads());
    assert_eq!(holder(&client, &namespace).await, "");

    let mut third = Candidate::start(client.clone(), hasty(&namespace, "third"));
    third.acquired_within(SOON).await;
    let mut second = Candidate::start(client.clone(), hasty(&namespace, "second"));
    third.stop().await;
    // Half of what it would take if the lease had to run out.
    let took = second.acquired_within(Duration::from_secs(2)).await;
    assert!(!overlap(&third, &second), "{took:?}");
    let now = lease(&client, &namespace).await.unwrap();
    assert_eq!(now.lease_transitions, Some(2));
    assert_eq!(now.lease_duration_seconds, Some(4));
}

#[tokio::test]
async fn work_that_takes_all_the_time_there_is_does_not_cost_the_lease() {
    let Some((cluster, namespace, client)) = setup().await else { return };
    let settings = hasty(&namespace, "busy");
    let long = 2 * settings.lease_duration;
    let connect = || {
        let config = cluster.config_for("busy", &["system:masters"]);
        anyhow::Ok(kube::Client::try_from(config)?)
    };
    let (stop, stopped) = oneshot::channel::<()>();
    let (mut leadership, ended) = stand(connect, settings, async { drop(stopped.await) }).unwrap();
    timeout(SOON, leadership.acquired()).await.unwrap();

    // The only thread of this runtime does nothing else meanwhile.
    std::thread::sleep(long);
    assert!(leadership.is_leading());
    drop(stop);
    timeout(SOON, ended).await.unwrap();
    assert!(!leadership.is_leading());
    assert_eq!(holder(&client, &namespace).await, "");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_follower_that_stops_leaves_the_lease_alone() {
    let Some((_, namespace, client)) = setup().await else { return };
    let mut first = Candidate::start(client.clone(), hasty(&namespace, "first"));
    first.acquired_within(SOON).await;
    let mut second = Candidate::start(client.clone(), hasty(&namespace, "second"));
    second.stop().await;
    assert_eq!(holder(&client, &namespace).await, "first");
    assert!(first.leads());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_api_server_makes_no_two_leaders() {
    let Some(cluster) = ControlPlane::start_or_skip().await else { return };
    let namespace = cluster.namespace("election").await.unwrap();
    let mut first = Candidate::start(cluster.client(), hasty(&namespace, "first"));
    first.acquired_within(SOON).await;
    let second = Candidate::start(cluster.client(), hasty(&namespace, "second"));

    for freeze in [3000, 4500, 6000] {
        let leader = if first.leads() { &first } else { &second };
        let mut leadership = leader.leadership.clone();
        cluster.pause_api_server().unwrap();
        let frozen = tokio::time::Instant::now();
        let lost = tokio::time::timeout(Duration::from_secs(3), leadership.lost()).await;
        assert!(lost.is_ok(), "a leader must notice by itself within its deadline");
        tokio::time::sleep_until(frozen + Duration::from_millis(freeze)).await;
        assert!(!first.leads() && !second.leads());
        cluster.resume_api_server().unwrap();
        within(SOON, "somebody leads again", async || first.leads() || second.leads()).await;
    }
    assert!(!overlap(&first, &second), "{:?} {:?}", first.terms(), second.terms());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_killed_api_server_is_waited_for() {
    let Some(mut cluster) = ControlPlane::start_or_skip().await else { return };
    let namespace = cluster.namespace("election").await.unwrap();
    let mut only = Candidate::start(cluster.client(), hasty(&namespace, "only"));
    only.acquired_within(SOON).await;
    cluster.stop_api_server();
    only.lost_within(Duration::from_secs(3)).await;
    cluster.restart_api_server().await.unwrap();
    only.acquired_within(SOON).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_is_cut_off_stops_before_another_begins() {
    let Some((cluster, namespace, client)) = setup().await else { return };
    let mut config = cluster.config_for("cut-off", &["system:masters"]);
    let link = Link::before(&mut config).await;
    let over_the_link = kube::Client::try_from(config).unwrap();
    let mut first = Candidate::start(over_the_link, hasty(&namespace, "first"));
    first.acquired_within(SOON).await;
    let mut second = Candidate::start(client.clone(), hasty(&namespace, "second"));
    within(SOON, "a renewal that both know of", async || {
        lease(&client, &namespace).await.is_some_and(|lease| lease.renew_time > lease.acquire_time)
    })
    .await;

    link.shut();
    second.acquired_within(SOON).await;
    let stopped = first.terms()[0].1.expect("the one that was cut off has stopped");
    let began = second.terms().first().map_or_else(tokio::time::Instant::now, |term| term.0);
    assert!(stopped < began);

    // What it sent meanwhile arrives late, and must change nothing.
    link.open();
    let renewals = async || lease(&client, &namespace).await.unwrap().renew_time;
    let before = renewals().await;
    within(SOON, "the second renews", async || renewals().await != before).await;
    assert_eq!(holder(&client, &namespace).await, "second");
    assert!(second.leads() && !first.leads());
    assert!(!overlap(&first, &second));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_freeze_changes_nothing() {
    let Some((cluster, namespace, client)) = setup().await else { return };
    let mut config = cluster.config_for("slow", &["system:masters"]);
    let link = Link::before(&mut config).await;
    let settings = ElectionSettings::new(&*namespace);
    let mut only = Candidate::start(kube::Client::try_from(config).unwrap(), settings);
    only.acquired_within(SOON).await;
    let before = lease(&client, &namespace).await.unwrap().renew_time;
    // Shut when the first renewal is due, and longer than one request may take.
    tokio::time::sleep(Duration::from_secs(4)).await;
    link.shut();
    tokio::time::sleep(Duration::from_millis(3800)).await;
    link.open();
    within(SOON, "the renewal came through", async || {
        lease(&client, &namespace).await.unwrap().renew_time != before
    })
    .await;
    assert_eq!(only.terms().len(), 1);
    assert!(only.leads());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_lease_is_written_anew_by_its_leader() {
    let Some((cluster, namespace, client)) = setup().await else { return };
    let mut first = Candidate::start(client.clone(), hasty(&namespace, "first"));
    first.acquired_within(SOON).await;
    let second = informed_follower(cluster, &namespace).await;
    let leases: Api<Lease> = Api::namespaced(client.clone(), &namespace);
    leases.delete(LEASE_NAME, &DeleteParams::default()).await.unwrap();
    within(SOON, "it is there again", async || lease(&client, &namespace).await.is_some()).await;
    assert_eq!(holder(&client, &namespace).await, "first");
    assert_eq!(first.terms().len(), 1);
    assert!(first.leads() && second.terms().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deleted_lease_whose_leader_is_gone_is_taken_when_it_would_have_run_out() {
    let Some((cluster, namespace, client)) = setup().await else { return };
    let mut first = Candidate::start(client.clone(), hasty(&namespace, "first"));
    first.acquired_within(SOON).await;
    let mut second = informed_follower(cluster, &namespace).await;
    first.vanish();
    let leases: Api<Lease> = Api::namespaced(client.clone(), &namespace);
    leases.delete(LEASE_NAME, &DeleteParams::default()).await.unwrap();
    let took = second.acquired_within(SOON).await;
    assert!(took > Duration::from_millis(3900), "the first might have led still: {took:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lease_that_lacks_fields_is_read_as_far_as_it_goes() {
    let Some((cluster, _, client)) = setup().await else { return };
    for (spec, must_wait) in [
        (json!(null), false),
        (json!({}), false),
        (json!({"leaseDurationSeconds": 3600}), false),
        (json!({"holderIdentity": "", "leaseDurationSeconds": 3600}), false),
        (json!({"holderIdentity": "they"}), true),
        (json!({"holderIdentity": "they", "renewTime": "2001-01-01T00:00:00.000000Z"}), true),
        (json!({"holderIdentity": "they", "renewTime": "2999-01-01T00:00:00.000000Z"}), true),
    ] {
        let namespace = cluster.namespace("election").await.unwrap();
        let written = json!({"metadata": {"name": LEASE_NAME}, "spec": spec});
        let written: Lease = serde_json::from_value(written).unwrap();
        let leases: Api<Lease> = Api::namespaced(client.clone(), &namespace);
        leases.create(&PostParams::default(), &written).await.unwrap();
        let mut only = Candidate::start(client.clone(), hasty(&namespace, "only"));
        let took = only.acquired_within(SOON).await;
        assert_eq!(took >= Duration::from_secs(4), must_wait, "{spec} took {took:?}");
        assert_eq!(lease(&client, &namespace).await.unwrap().lease_transitions, Some(1));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn who_finds_another_in_the_lease_leads_no_more() {
    let Some((_, namespace, client)) = setup().await else { return };
    let mut first = Candidate::start(client.clone(), hasty(&namespace, "first"));
    first.acquired_within(SOON).await;
    let leases: Api<Lease> = Api::namespaced(client.clone(), &namespace);
    let robbed = Patch::Merge(json!({"spec": {"holderIdentity": "robber"}}));
    leases.patch(LEASE_NAME, &PatchParams::default(), &robbed).await.unwrap();
    // At its next renewal, and not first at its deadline.
    first.lost_within(Duration::from_secs(2)).await;
    assert_eq!(holder(&client, &namespace).await, "robber");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_label_on_the_lease_disturbs_nobody() {
    let Some((_, namespace, client)) = setup().await else { return };
    let mut first = Candidate::start(client.clone(), hasty(&namespace, "first"));
    first.acquired_within(SOON).await;
    let leases: Api<Lease> = Api::namespaced(client.clone(), &namespace);
    let labelled = Patch::Merge(json!({"metadata": {"labels": {"team": "a"}}}));
    let before = leases.patch(LEASE_NAME, &PatchParams::default(), &labelled).await.unwrap();
    within(SOON, "it is renewed", async || {
        leases.get(LEASE_NAME).await.unwrap().spec != before.spec
    })
    .await;
    assert_eq!(first.terms().len(), 1);
    assert_eq!(leases.get(LEASE_NAME).await.unwrap().metadata.labels, before.metadata.labels);
}
