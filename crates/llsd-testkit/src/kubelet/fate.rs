//! What a test can make of a pod, and how that looks in its status.

use k8s_openapi::api::core::v1::Pod;

/// What becomes of a pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodFate {
    /// Runs and is ready.
    Ready,
    /// Runs, and its readiness probe never succeeds.
    NeverReady,
    /// Ends with an error again and again; the message is the last output of its containers.
    CrashLoop { message: String },
    /// Its images cannot be pulled, for the reason in the message.
    ImagePull { message: String },
    /// Ended well, as the pod of a Job does.
    Succeeded,
    /// Bound to the node, and nothing more happens.
    Pending,
}

impl PodFate {
    pub fn crash_loop(message: impl Into<String>) -> Self {
        Self::CrashLoop { message: message.into() }
    }
}

/// A fate as it shows, without the times.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Look {
    pub(super) phase: String,
    pub(super) ready: bool,
    /// Reason and message.
    pub(super) waiting: Option<(String, String)>,
    /// What a container said before it crashed.
    pub(super) last_message: Option<String>,
}

impl Look {
    /// `None` where nothing is to be shown.
    pub(super) fn of(fate: &PodFate) -> Option<Self> {
        let phase = |phase: &str| Self { phase: phase.into(), ..Self::default() };
        let look = match fate {
            PodFate::Pending => return None,
            PodFate::Ready => Self { ready: true, ..phase("Running") },
            PodFate::NeverReady => phase("Running"),
            PodFate::Succeeded => phase("Succeeded"),
            PodFate::ImagePull { message } => Self {
                waiting: Some(("ImagePullBackOff".into(), message.clone())),
                ..phase("Pending")
            },
            PodFate::CrashLoop { message } => Self {
                waiting: Some((
                    "CrashLoopBackOff".into(),
                    "back-off 5m0s restarting failed container".into(),
                )),
                last_message: Some(message.clone()),
                ..phase("Running")
            },
        };
        Some(look)
    }

    /// How a pod looks now; its containers all look the same.
    pub(super) fn at(pod: &Pod) -> Self {
        let Some(status) = &pod.status else {
            return Self::default();
        };
        let mut conditions = status.conditions.iter().flatten();
        let container = status.container_statuses.iter().flatten().next();
        let waiting =
            container.and_then(|container| container.state.as_ref()?.waiting.clone()).map(
                |waiting| (waiting.reason.unwrap_or_default(), waiting.message.unwrap_or_default()),
            );
        let last_message = container
            .and_then(|container| container.last_state.as_ref()?.terminated.clone())
            .map(|terminated| terminated.message.unwrap_or_default());
        Self {
            phase: status.phase.clone().unwrap_or_default(),
            ready: conditions.any(|met| met.type_ == "Ready" && met.status == "True"),
            waiting,
            last_message,
        }
    }

    pub(super) fn unready_reason(&self) -> &'static str {
        if self.phase == "Succeeded" { "PodCompleted" } else { "ContainersNotReady" }
    }
}
