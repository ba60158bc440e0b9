//! Watches all pods: binds those that wait for a node, runs those of its own, and tells them when
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

use super::{
    super::{NODE, bind, register, status},
    container::Stop,
    context::{KubeletContext, Start},
    front, pod,
};

/// Killing needs no time; a machine that is busy does.
const PATIENCE: Duration = Duration::from_secs(10);

type Ready = oneshot::Sender<anyhow::Result<(Arc<KubeletContext>, SocketAddr)>>;

/// A pod that runs here.
struct Attended {
    stop: watch::Sender<Option<Stop>>,
    task: JoinHandle<()>,
}

impl Attended {
    /// Deleted again, a pod has less time left, never more.
    fn stop_within(&self, grace: Duration) {
        self.stop.send_if_modified(|stop| {
            let shorter = stop.is_none_or(|stop| stop.grace() > grace);
            if shorter {
                *stop = Some(Stop::Deleted(grace));
            }
            shorter
        });
    }
}

pub(super) async fn work(start: Start, stop: Arc<Notify>, ready: Ready) {
    let begin = async || -> anyhow::Result<_> {
        let client = register(start.config.clone()).await?;
        let kubelet = Arc::new(KubeletContext::new(start, client)?);
        let front = front::serve(Arc::clone(&kubelet)).await?;
        Ok((kubelet, front))
    };
    let kubelet = match begin().await {
        Ok((kubelet, front)) => {
            if ready.send(Ok((Arc::clone(&kubelet), front))).is_err() {
                return;
            }
            kubelet
        }
        Err(error) => return drop(ready.send(Err(error))),
    };
    let mut attended = BTreeMap::new();
    tokio::select! {
        // Wherever the work is: an API server that a test has frozen must not keep the test from
        // ending.
        () = stop.notified() => {}
        () = attend_all(&kubelet, &mut attended) => {}
    }
    for pod in attended.values() {
        pod.stop.send_replace(Some(Stop::Abandoned));
    }
    let tasks = attended.into_values().map(|pod| pod.task);
    let _ = timeout(PATIENCE, join_all(tasks)).await;
}

async fn attend_all(kubelet: &Arc<KubeletContext>, attended: &mut BTreeMap<String, Attended>) {
    let all: Api<Pod> = Api::all(kubelet.client.clone());
    let events = watcher(all, watcher::Config::default()).default_backoff();
    pin_mut!(events);
    let mut listed = BTreeSet::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(watcher::Event::Apply(pod)) => attend(kubelet, attended, &pod).await,
            Ok(watcher::Event::Delete(pod)) => {
                if let Some(known) = attended.get(&pod.uid().unwrap_or_default()) {
                    known.stop_within(Duration::ZERO);
                }
            }
            Ok(watcher::Event::Init) => listed.clear(),
            Ok(watcher::Event::InitApply(pod)) => {
                listed.extend(pod.uid());
                attend(kubelet, attended, &pod).await;
            }
            Ok(watcher::Event::InitDone) => {
                // Deleted while nobody watched.
                for (_, gone) in attended.iter().filter(|(uid, _)| !listed.contains(*uid)) {
                    gone.stop_within(Duration::ZERO);
                }
            }
            Err(_) => {}
        }
        attended.retain(|_, pod| !pod.task.is_finished());
    }
}

async fn attend(
    kubelet: &Arc<KubeletContext>,
    attended: &mut BTreeMap<String, Attended>,
    pod: &Pod,
) {
    let uid = pod.uid().unwrap_or_default();
    let deleted = pod.metadata.deletion_timestamp.is_some();
    let node = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
    let over = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    let over = matches!(over, Some("Succeeded" | "Failed"));
    if let Some(known) = attended.get(&uid) {
        if deleted {
            let grace = pod.metadata.deletion_grace_period_seconds.unwrap_or_default();
            known.stop_within(Duration::from_secs(u64::try_from(grace).unwrap_or_default()));
        }
    } else if node == Some(NODE) && (!over || deleted) {
        // One that is deleted before it ran has nothing to stop, and goes at once.
        let begun = deleted.then_some(Stop::Deleted(Duration::ZERO));
        let Ok(record) = kubelet.record(pod) else { return };
        let (stop, stopping) = watch::channel(begun);
        let task = tokio::spawn(pod::run(Arc::clone(kubelet), record, pod.clone(), stopping));
        attended.insert(uid, Attended { stop, task });
    } else if node.is_none() && !deleted && status::may_be_scheduled(pod) {
        // An error is left to the next event: the pod changed meanwhile, or is gone.
        let _ = bind(&kubelet.client, pod).await;
    }
}
