//! The life of one container: started, probed, started anew when it ends, and stopped with its pod.

use std::time::{Duration, Instant};

use k8s_openapi::{api::core::v1::Container, jiff::Timestamp};
use tokio::{sync::watch, time::sleep};

use super::{
    environment::invocation,
    look::{ContainerLook, Ended, START_ERROR, State},
    objects::Objects,
    pod::RunningPod,
    probe::{Finding, Prober},
    process::{Process, Spec},
    refusal::Refusal,
};

/// How long what is missing is waited for before it is asked for again.
pub(super) const RETRY: Duration = Duration::from_secs(1);
/// A kubelet waits ten times as long, up to five minutes.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// One that has run for so long has not crashed at its start.
const LONG_RUN: Duration = Duration::from_mins(1);
/// The policy by which the end of the log becomes a part of the pod's status.
const FALLBACK_TO_LOGS: &str = "FallbackToLogsOnError";

/// When a container that has ended is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Restart {
    Always,
    OnFailure,
    Never,
}

impl Restart {
    fn after(self, code: i32) -> bool {
        match self {
            Self::Always => true,
            Self::OnFailure => code != 0,
            Self::Never => false,
        }
    }
}

/// Why a pod's containers have to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stop {
    /// The pod was deleted; they have this long to end by themselves.
    Deleted(Duration),
    /// The stand-in ends, and the pod's object is left as it is.
    Abandoned,
}

impl Stop {
    pub(super) fn grace(self) -> Duration {
        match self {
            Self::Deleted(grace) => grace,
            Self::Abandoned => Duration::ZERO,
        }
    }
}

pub(super) type Stopping = watch::Receiver<Option<Stop>>;

/// Waits for the end to be called for.
pub(super) async fn stopped(stopping: &mut Stopping) -> Stop {
    let stop = stopping.wait_for(Option::is_some).await.map(|stop| *stop);
    stop.ok().flatten().unwrap_or(Stop::Abandoned)
}

/// Ends a process; a pod that is deleted once more, or abandoned, has no longer the time that it
/// had.
async fn bring_to_end(process: &mut Process, mut stop: Stop, stopping: &mut Stopping) -> i32 {
    loop {
        let hurried = async {
            let hurried = stopping.wait_for(|now| *now != Some(stop)).await.map(|now| *now);
            hurried.ok().flatten().unwrap_or(Stop::Abandoned)
        };
        tokio::select! {
            code = process.stop(stop.grace()) => return code,
            hurry = hurried, if stop.grace() > Duration::ZERO => stop = hurry,
        }
    }
}

/// A container in its pod.
pub(super) struct Life<'a> {
    pub(super) pod: &'a RunningPod,
    pub(super) container: &'a Container,
    /// Among all containers of the pod, the init containers first.
    pub(super) index: usize,
}

/// How one run of a container ended.
enum End {
    Itself(i32),
    Unhealthy(String),
    Stopped(Stop),
}

impl Life<'_> {
    /// Returns the exit code of a container that need not run again, `None` of one that was
    /// stopped.
    pub(super) async fn live(&self, restart: Restart, mut stopping: Stopping) -> Option<i32> {
        let mut pause = FIRST_PAUSE;
        loop {
            let (mut process, spec) = tokio::select! {
                started = self.start() => started,
                _ = stopped(&mut stopping) => return None,
            };
            let (since, clock) = (Timestamp::now(), Instant::now());
            self.update(|look| look.state = State::Running { since });
            let end = tokio::select! {
                code = process.wait() => End::Itself(code),
                why = self.probe(&spec) => End::Unhealthy(why),
                stop = stopped(&mut stopping) => End::Stopped(stop),
            };
            self.update(|look| look.ready = false);
            let (code, message) = match &end {
                End::Itself(code) => (*code, self.last_words(*code, &process)),
                End::Unhealthy(why) => (process.stop(self.pod.grace()).await, why.clone()),
                End::Stopped(stop) => {
                    let code = bring_to_end(&mut process, *stop, &mut stopping).await;
                    (code, self.last_words(code, &process))
                }
            };
            let ended = Ended { code, message, started: since, finished: Timestamp::now() };
            self.update(|look| {
                look.started = false;
                look.state = State::Ended(ended.clone());
            });
            if matches!(end, End::Stopped(_)) {
                return None;
            }
            if !restart.after(code) {
                return Some(code);
            }
            if clock.elapsed() > LONG_RUN {
                pause = FIRST_PAUSE;
            }
            let name = &self.container.name;
            let message =
                format!("back-off {}s restarting failed container={name}", pause.as_secs());
            self.update(|look| {
                look.state = State::Waiting(Refusal { reason: "CrashLoopBackOff", message });
                look.last = Some(ended);
                look.restarts += 1;
            });
            tokio::select! {
                () = sleep(pause) => {}
                _ = stopped(&mut stopping) => return None,
            }
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    /// What the pod's status shows of what the container said: the reason why it could not be
    /// started, and what it said itself only where its policy asks for that. The file that a
    /// container could write instead is not looked at.
    fn last_words(&self, code: i32, process: &Process) -> String {
        let policy = self.container.termination_message_policy.as_deref();
        let shown = code == START_ERROR || (code != 0 && policy == Some(FALLBACK_TO_LOGS));
        if shown { process.last_words() } else { String::new() }
    }

    /// Tries until everything that the container needs is there.
    async fn start(&self) -> (Process, Spec) {
        loop {
            match self.try_start().await {
                Ok(started) => return started,
                Err(refusal) => self.update(|look| look.state = State::Waiting(refusal)),
            }
            sleep(RETRY).await;
        }
    }

    async fn try_start(&self) -> Result<(Process, Spec), Refusal> {
        let RunningPod { kubelet, pod, ip, .. } = self.pod;
        let name = self.container.image.as_deref().unwrap_or_default();
        let image = (kubelet.images)(name).ok_or_else(|| Refusal::image(name))?;
        let spec = pod.spec.as_ref().ok_or_else(|| Refusal::create("the pod has no spec"))?;
        let objects = Objects::read(&kubelet.client, &self.pod.namespace, spec).await;
        let objects = objects.map_err(|error| Refusal::configuration(error.to_string()))?;
        let invocation = invocation(pod, ip, self.container, &image, &objects)?;
        let spec = self.pod.place().spec(pod, self.container, &image, invocation)?;
        let log = self.pod.record.log_file(&self.container.name);
        let started = Process::start(
            &kubelet.namespaces,
            &kubelet.container_script,
            (self.pod.sandbox.id, kubelet.group),
            &spec,
            &log,
        );
        let process = started.await.map_err(|error| Refusal::create(format!("{error:#}")))?;
        Ok((process, spec))
    }

    async fn probe(&self, spec: &Spec) -> String {
        let kubelet = &self.pod.kubelet;
        let prober = Prober {
            container: self.container,
            network: &self.pod.sandbox.network,
            client: &kubelet.http,
            namespaces: &kubelet.namespaces,
            sandbox: self.pod.sandbox.id,
            pid_file: &spec.pid_file,
            env: &spec.env,
            identity: &spec.identity,
        };
        let tell = |finding| {
            self.update(|look| match finding {
                Finding::Started => look.started = true,
                Finding::Ready(ready) => look.ready = ready,
            });
        };
        prober.watch(tell).await
    }

    fn update(&self, change: impl FnOnce(&mut ContainerLook)) {
        self.pod.record.look.send_if_modified(|look| {
            let container = &mut look.containers[self.index];
            let before = container.clone();
            change(container);
            *container != before
        });
    }
}
