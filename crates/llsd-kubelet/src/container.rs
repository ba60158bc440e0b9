//! The life of one container: started, probed, started again when it ends, and stopped with its pod.

use std::{
    sync::{Mutex, PoisonError},
    time::{Duration, Instant},
};

use k8s_openapi::{api::core::v1::Container, jiff::Timestamp};
use tokio::time::sleep;

use crate::{
    context::RETRY,
    environment::invocation,
    events::{self, Told},
    memory,
    objects::Objects,
    prepared::PreparedPod,
    probe::{Kind, ProbeResult, Prober},
    process::{Process, Spec},
    refusal::Refusal,
    snapshot::{ContainerSnapshot, Ended, START_ERROR, State},
    stop::{Stop, Stopping, stopped},
};

/// A kubelet waits ten times as long, up to five minutes.
const FIRST_PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_secs(10);
/// One that has run for so long has not crashed at its start.
const LONG_RUN: Duration = Duration::from_mins(1);
/// What a kubelet leaves a container when its hook has used up all of the grace.
const AFTER_THE_HOOK: Duration = Duration::from_secs(2);
/// The policy by which the end of the log becomes a part of the pod's status.
const FALLBACK_TO_LOGS: &str = "FallbackToLogsOnError";

/// When a container that has ended is started again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Restart {
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

/// Ends a process within the time that is left of its grace; a pod that is deleted once more, or
/// abandoned, has no longer the time that it had.
async fn bring_to_end(
    process: &mut Process,
    mut stop: Stop,
    mut left: Duration,
    stopping: &mut Stopping,
) -> i32 {
    loop {
        tokio::select! {
            code = process.stop(left) => return code,
            hurry = another(stop, stopping), if left > Duration::ZERO => {
                stop = hurry;
                left = stop.grace();
            }
        }
    }
}

/// Waits for another end to be called for than this one.
async fn another(stop: Stop, stopping: &mut Stopping) -> Stop {
    let other = stopping.wait_for(|now| *now != Some(stop)).await.map(|now| *now);
    other.ok().flatten().unwrap_or(Stop::Abandoned)
}

/// A container in its pod.
pub(crate) struct Life<'a> {
    pub(crate) pod: &'a PreparedPod,
    pub(crate) container: &'a Container,
    /// Among all containers of the pod, the init containers first.
    pub(crate) index: usize,
}

/// How one run of a container ended.
enum End {
    Itself(i32),
    Unhealthy(Kind),
    /// Its processes held more memory than its limit.
    OutOfMemory,
    Stopped(Stop),
}

impl Life<'_> {
    /// Returns the exit code of a container that need not run again, `None` of one that was
    /// stopped.
    pub(crate) async fn live(&self, restart: Restart, mut stopping: Stopping) -> Option<i32> {
        let mut pause = FIRST_PAUSE;
        loop {
            let (mut process, spec) = tokio::select! {
                started = self.start() => started,
                _ = stopped(&mut stopping) => return None,
            };
            let (since, clock) = (Timestamp::now(), Instant::now());
            self.update(|snapshot| snapshot.state = State::Running { since });
            let end = tokio::select! {
                code = process.wait() => End::Itself(code),
                kind = self.probe(&spec) => End::Unhealthy(kind),
                () = memory::exceeded(self.container, &spec.pid_file) => End::OutOfMemory,
                stop = stopped(&mut stopping) => End::Stopped(stop),
            };
            let (code, message) = self.finish(&end, &mut process, &mut stopping).await;
            self.update(|snapshot| snapshot.ready = false);
            let out_of_memory = matches!(end, End::OutOfMemory);
            let finished = Timestamp::now();
            let ended = Ended { code, out_of_memory, message, started: since, finished };
            self.update(|snapshot| {
                snapshot.started = false;
                snapshot.state = State::Ended(ended.clone());
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
            self.update(|snapshot| {
                snapshot.state = State::Waiting(Refusal { reason: "CrashLoopBackOff", message });
                snapshot.last = Some(ended);
                snapshot.restarts += 1;
            });
            tokio::select! {
                () = sleep(pause) => {}
                _ = stopped(&mut stopping) => return None,
            }
            pause = LONGEST_PAUSE.min(pause * 2);
        }
    }

    /// Stops the process unless it exited by itself; returns its exit code and the termination message.
    async fn finish(
        &self,
        end: &End,
        process: &mut Process,
        stopping: &mut Stopping,
    ) -> (i32, String) {
        match end {
            End::Itself(code) => (*code, self.message(*code, process)),
            End::Unhealthy(kind) => {
                self.update(|snapshot| snapshot.ready = false);
                self.tell(&events::killing(&self.container.name, *kind));
                let left = self.hook_before_stop(process, self.grace_of_probes()).await;
                let code = process.stop(left).await;
                (code, self.message(code, process))
            }
            End::OutOfMemory => {
                let code = process.stop(Duration::ZERO).await;
                (code, self.message(code, process))
            }
            End::Stopped(stop) => {
                let stop = *stop;
                let left = tokio::select! {
                    left = self.hook_before_stop(process, stop.grace()) => left,
                    hurry = another(stop, stopping) => hurry.grace(),
                };
                self.update(|snapshot| snapshot.ready = false);
                let code = bring_to_end(process, stop, left, stopping).await;
                (code, self.message(code, process))
            }
        }
    }

    /// Waits as long as the container's `preStop` hook says, or until it has ended by itself; how much
    /// is left of its grace then. Other hooks than `sleep` are not known here.
    async fn hook_before_stop(&self, process: &mut Process, grace: Duration) -> Duration {
        let lifecycle = self.container.lifecycle.as_ref();
        let sleeps = lifecycle.and_then(|hooks| hooks.pre_stop.as_ref()?.sleep.as_ref());
        let seconds = sleeps.and_then(|action| u64::try_from(action.seconds).ok()).unwrap_or(0);
        let Some(pause) = Some(Duration::from_secs(seconds).min(grace)).filter(|it| !it.is_zero())
        else {
            return grace;
        };
        let begun = Instant::now();
        tokio::select! {
            () = sleep(pause) => {}
            _ = process.wait() => {}
        }
        // A hook that has used up the grace costs the container no more than a kubelet lets it.
        grace.saturating_sub(begun.elapsed()).max(AFTER_THE_HOOK)
    }

    /// How long a container has to end whose probe failed.
    fn grace_of_probes(&self) -> Duration {
        let probes = [&self.container.liveness_probe, &self.container.startup_probe];
        let mut given =
            probes.into_iter().filter_map(|probe| probe.as_ref()?.termination_grace_period_seconds);
        let given = given.next().and_then(|seconds| u64::try_from(seconds).ok());
        given.map_or_else(|| self.pod.grace(), Duration::from_secs)
    }

    /// What the pod's status shows of the container's output: what it wrote to its file for that, else
    /// the reason why it could not be started, and its own last output only where its policy asks for
    /// that.
    fn message(&self, code: i32, process: &Process) -> String {
        let words = self.pod.files().last_words(&self.container.name);
        if !words.is_empty() && code != START_ERROR {
            return words;
        }
        let policy = self.container.termination_message_policy.as_deref();
        let shown = code == START_ERROR || (code != 0 && policy == Some(FALLBACK_TO_LOGS));
        if shown { process.last_output() } else { String::new() }
    }

    /// Tries until everything that the container needs is there.
    async fn start(&self) -> (Process, Spec) {
        let mut tries = 0_u32;
        loop {
            match self.try_start().await {
                Ok(started) => return started,
                Err(refusal) => {
                    let refusal = refusal.after(tries);
                    self.update(|snapshot| snapshot.state = State::Waiting(refusal));
                }
            }
            tries += 1;
            sleep(RETRY).await;
        }
    }

    async fn try_start(&self) -> Result<(Process, Spec), Refusal> {
        let PreparedPod { kubelet, pod, ip, .. } = self.pod;
        let name = self.container.image.as_deref().unwrap_or_default();
        let image = (kubelet.images)(name).ok_or_else(|| Refusal::image(name))?;
        let spec = pod.spec.as_ref().ok_or_else(|| Refusal::create("the pod has no spec"))?;
        let objects = Objects::fetch(&kubelet.client, &self.pod.namespace, spec).await;
        let objects = objects.map_err(|error| Refusal::configuration(error.to_string()))?;
        let invocation = invocation(pod, ip, self.container, &image, &objects)?;
        let spec = self.pod.files().spec(pod, self.container, &image, invocation)?;
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

    /// Returns with the probe for which the container must be restarted.
    async fn probe(&self, spec: &Spec) -> Kind {
        let kubelet = &self.pod.kubelet;
        let prober = Prober {
            container: self.container,
            network: &self.pod.sandbox.network,
            ip: &self.pod.ip,
            client: &kubelet.http,
            namespaces: &kubelet.namespaces,
            sandbox: self.pod.sandbox.id,
            pid_file: &spec.pid_file,
            env: &spec.env,
            identity: &spec.identity,
        };
        // A kubelet reports each failure. Here the same message is reported once: Events would slow tests down.
        let told = Mutex::new(None);
        let record = |result| match result {
            ProbeResult::Started => self.update(|snapshot| snapshot.started = true),
            ProbeResult::Ready(ready) => self.update(|snapshot| snapshot.ready = ready),
            ProbeResult::Failed(kind, met) => {
                let unhealthy = events::unhealthy(kind, &met);
                let mut told = told.lock().unwrap_or_else(PoisonError::into_inner);
                if told.as_ref() != Some(&unhealthy) {
                    self.tell(&unhealthy);
                    *told = Some(unhealthy);
                }
            }
        };
        prober.watch(record).await
    }

    /// Tells an Event about the container, beside all else.
    fn tell(&self, told: &Told) {
        let is_init = self.pod.pod.spec.as_ref().is_some_and(|spec| {
            spec.init_containers.iter().flatten().any(|init| init.name == self.container.name)
        });
        let list = if is_init { "initContainers" } else { "containers" };
        let field = format!("spec.{list}{{{}}}", self.container.name);
        let event = events::event(&self.pod.pod, told, Some(&field));
        tokio::spawn(events::send(self.pod.kubelet.client.clone(), event));
    }

    fn update(&self, change: impl FnOnce(&mut ContainerSnapshot)) {
        self.pod.record.snapshot.send_if_modified(|snapshot| {
            let container = &mut snapshot.containers[self.index];
            let before = container.clone();
            change(container);
            *container != before
        });
    }
}
