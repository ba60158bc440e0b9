//! Watches all pods: binds those that wait for a node, runs those of its own, and stops them when
//! they are deleted.

use std::{
    collections::{BTreeMap, BTreeSet},
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use futures::{StreamExt, future::join_all, pin_mut};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, ResourceExt,
    runtime::{WatchStreamExt, watcher},
};
use tokio::{
    sync::{Notify, oneshot, watch},
    task::JoinHandle,
    time::timeout,
};

use llsd_testkit::node::{NODE, bind, may_be_scheduled, register};

use crate::{
    context::{KubeletContext, Start},
    pod,
    record::Record,
    routing, services,
    stop::Stop,
};

/// Killing needs no time; a machine that is busy does.
const PATIENCE: Duration = Duration::from_secs(10);

type Ready = oneshot::Sender<anyhow::Result<(Arc<KubeletContext>, SocketAddr)>>;

/// A pod that runs here.
struct FollowedPod {
    record: Arc<Record>,
    stop: watch::Sender<Option<Stop>>,
    task: JoinHandle<()>,
}

impl FollowedPod {
    /// Deleted again, a pod has less time left, never more.
    fn stop_within(&self, grace: Duration) {
        self.record
            .snapshot
            .send_if_modified(|snapshot| !std::mem::replace(&mut snapshot.terminating, true));
        self.stop.send_if_modified(|stop| {
            let shorter = stop.is_none_or(|stop| stop.grace() > grace);
            if shorter {
                *stop = Some(Stop::Deleted(grace));
            }
            shorter
        });
    }
}

pub(crate) async fn work(start: Start, stop: Arc<Notify>, ready: Ready) {
    let begin = async || -> anyhow::Result<_> {
        let client = register(start.config.clone()).await?;
        let kubelet = Arc::new(KubeletContext::new(start, client)?);
        let proxy = services::serve(Arc::clone(&kubelet)).await?;
        Ok((kubelet, proxy))
    };
    let kubelet = match begin().await {
        Ok((kubelet, proxy)) => {
            if ready.send(Ok((Arc::clone(&kubelet), proxy))).is_err() {
                return;
            }
            kubelet
        }
        Err(error) => return drop(ready.send(Err(error))),
    };
    let mut followed = BTreeMap::new();
    tokio::select! {
        // Wherever the work is: an API server that a test has frozen must not keep the test from
        // ending.
        () = stop.notified() => {}
        () = follow_all(&kubelet, &mut followed) => {}
    }
    for pod in followed.values() {
        pod.stop.send_replace(Some(Stop::Abandoned));
    }
    let tasks = followed.into_values().map(|pod| pod.task);
    let _ = timeout(PATIENCE, join_all(tasks)).await;
}

async fn follow_all(kubelet: &Arc<KubeletContext>, followed: &mut BTreeMap<String, FollowedPod>) {
    let all: Api<Pod> = Api::all(kubelet.client.clone());
    let events = watcher(all, watcher::Config::default()).default_backoff();
    pin_mut!(events);
    let mut listed = BTreeSet::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Apply(pod)) => follow(kubelet, followed, &pod).await,
            Ok(watcher::Event::Delete(pod)) => {
                if let Some(known) = followed.get(&pod.uid().unwrap_or_default()) {
                    known.stop_within(Duration::ZERO);
                }
            }
            Ok(watcher::Event::Init) => listed.clear(),
            Ok(watcher::Event::InitApply(pod)) => {
                listed.extend(pod.uid());
                follow(kubelet, followed, &pod).await;
            }
            Ok(watcher::Event::InitDone) => {
                // Deleted while nobody watched.
                for (_, gone) in followed.iter().filter(|(uid, _)| !listed.contains(*uid)) {
                    gone.stop_within(Duration::ZERO);
                }
            }
            Err(_) => {}
        }
        followed.retain(|_, pod| !pod.task.is_finished());
    }
}

async fn follow(
    kubelet: &Arc<KubeletContext>,
    followed: &mut BTreeMap<String, FollowedPod>,
    pod: &Pod,
) {
    let uid = pod.uid().unwrap_or_default();
    let deleted = pod.metadata.deletion_timestamp.is_some();
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    let over = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let over = matches!(over, Some("Succeeded" | "Failed"));
    if let Some(known) = followed.get(&uid) {
        if deleted {
            let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or_default();
            known.stop_within(Duration::from_secs(u64::try_from(grace).unwrap_or_default()));
        }
    } else if node == Some(NODE) && (!over || deleted) {
        // One that is deleted before it ran has nothing to stop, and goes at once.
        let begun = deleted.then_some(Stop::Deleted(Duration::ZERO));
        let Ok(record) = kubelet.record(pod) else { return };
        let (stop, stopping) = watch::channel(begun);
        let (context, known) = (Arc::clone(kubelet), Arc::clone(&record));
        let task = tokio::spawn(pod::run(context, known, pod.clone(), stopping));
        tokio::spawn(routing::follow(Arc::clone(&record)));
        followed.insert(uid, FollowedPod { record, stop, task });
    } else if node.is_none() && !deleted && may_be_scheduled(pod) {
        // An error is left to the next event: the pod changed meanwhile, or is gone.
        let _ = bind(&kubelet.client, pod).await;
    }
}
