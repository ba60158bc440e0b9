//! Watches all pods: hands those that wait for a node to the scheduler, runs those of its own, and stops them when
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

use llsd_testkit::node::{NODE, NodeRoom, may_be_scheduled, register};

use crate::{
    context::{KubeletContext, Start},
    pod,
    record::Record,
    routing,
    scheduler::{Room, Scheduler, sum},
    services,
    stop::Stop,
};

/// Killing needs no time; a machine that is busy does.
const PATIENCE: Duration = Duration::from_secs(10);

type Ready = oneshot::Sender<anyhow::Result<(Arc<KubeletContext>, SocketAddr)>>;

/// A pod that runs here.
struct FollowedPod {
    record: Arc<Record>,
    asked: Room,
    stop: watch::Sender<Option<Stop>>,
    task: JoinHandle<()>,
}

impl FollowedPod {
    /// It has come to its end by itself, and takes no room.
    fn is_over(&self) -> bool {
        matches!(self.record.snapshot.borrow().phase(), "Succeeded" | "Failed")
    }

    /// Its object is gone, and with it its claim on the node: others may have the room while the last of it ends.
    fn gone(&mut self) {
        self.asked = Room::default();
        self.stop_within(Duration::ZERO);
    }

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
    let room = start.room;
    let begin = async || -> anyhow::Result<_> {
        let client = register(start.config.clone(), room).await?;
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
        () = follow_all(&kubelet, room, &mut followed) => {}
    }
    for pod in followed.values() {
        pod.stop.send_replace(Some(Stop::Abandoned));
    }
    let tasks = followed.into_values().map(|pod| pod.task);
    let _ = timeout(PATIENCE, join_all(tasks)).await;
}

async fn follow_all(
    kubelet: &Arc<KubeletContext>,
    room: NodeRoom,
    followed: &mut BTreeMap<String, FollowedPod>,
) {
    let all: Api<Pod> = Api::all(kubelet.client.clone());
    let events = watcher(all, watcher::Config::default()).default_backoff();
    pin_mut!(events);
    let mut scheduler = Scheduler::new(room);
    let mut listed = BTreeSet::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Apply(pod)) => follow(kubelet, followed, &mut scheduler, &pod),
            Ok(watcher::Event::Delete(pod)) => {
                let uid = pod.uid().unwrap_or_default();
                scheduler.forget(&uid);
                if let Some(known) = followed.get_mut(&uid) {
                    known.gone();
                }
            }
            Ok(watcher::Event::Init) => listed.clear(),
            Ok(watcher::Event::InitApply(pod)) => {
                listed.extend(pod.uid());
                follow(kubelet, followed, &mut scheduler, &pod);
            }
            Ok(watcher::Event::InitDone) => {
                // Deleted while nobody watched.
                scheduler.keep(&listed);
                for (_, pod) in followed.iter_mut().filter(|(uid, _)| !listed.contains(*uid)) {
                    pod.gone();
                }
            }
            Err(_) => {}
        }
        followed.retain(|_, pod| !pod.task.is_finished());
        let running = followed.values().filter(|pod| !pod.is_over()).map(|pod| pod.asked);
        scheduler.schedule(&kubelet.client, sum(running)).await;
    }
}

fn follow(
    kubelet: &Arc<KubeletContext>,
    followed: &mut BTreeMap<String, FollowedPod>,
    scheduler: &mut Scheduler,
    pod: &Pod,
) {
    let uid = pod.uid().unwrap_or_default();
    let deleted = pod.metadata.deletion_timestamp.is_some();
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    let over = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let over = matches!(over, Some("Succeeded" | "Failed"));
    if node.is_none() && !deleted && may_be_scheduled(pod) {
        return scheduler.note(pod);
    }
    scheduler.forget(&uid);
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
        let asked = pod.spec.as_ref().map(Room::of_pod).unwrap_or_default();
        followed.insert(uid, FollowedPod { record, asked, stop, task });
    }
}
