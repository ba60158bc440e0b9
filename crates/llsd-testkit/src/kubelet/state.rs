//! The states that a test can put a pod into, and what its status shows of each.

use k8s_openapi::api::core::v1::Pod;

/// What a program says that checks a configuration and finds nothing wrong.
const CONTENT: &str = r#"{"verdict": "good"}"#;

/// The state that a pod is brought to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PodState {
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
    /// The same, with last words.
    Ended { message: String },
    /// Bound to the node, and nothing more happens.
    Pending,
}

impl PodState {
    /// A pod that is to run once does not run on: where it would be ready, it has ended well.
    pub(super) fn of_pod(self, pod: &Pod) -> Self {
        let policy = pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref());
        match self {
            Self::Ready if policy == Some("Never") => Self::Ended { message: CONTENT.to_owned() },
            other => other,
        }
    }

    pub fn crash_loop(message: impl Into<String>) -> Self {
        Self::CrashLoop { message: message.into() }
    }
}

/// What a status shows of a state, without the times.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct StatusSummary {
    pub(super) phase: String,
    pub(super) ready: bool,
    /// Reason and message.
    pub(super) waiting: Option<(String, String)>,
    /// The last output of a container before it crashed.
    pub(super) last_message: Option<String>,
    /// The last words of one that ended well.
    pub(super) words: String,
}

impl StatusSummary {
    /// `None` where nothing is shown.
    pub(super) fn from_state(state: &PodState) -> Option<Self> {
        let phase = |phase: &str| Self { phase: phase.into(), ..Self::default() };
        let summary = match state {
            PodState::Pending => return None,
            PodState::Ready => Self { ready: true, ..phase("Running") },
            PodState::NeverReady => phase("Running"),
            PodState::Succeeded => phase("Succeeded"),
            PodState::Ended { message } => Self { words: message.clone(), ..phase("Succeeded") },
            PodState::ImagePull { message } => Self {
                waiting: Some(("ImagePullBackOff".into(), message.clone())),
                ..phase("Pending")
            },
            PodState::CrashLoop { message } => Self {
                waiting: Some((
                    "CrashLoopBackOff".into(),
                    "back-off 5m0s restarting failed container".into(),
                )),
                last_message: Some(message.clone()),
                ..phase("Running")
            },
        };
        Some(summary)
    }

    /// What a pod's status shows now; it is the same for all its containers.
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
        let words = container
            .and_then(|container| container.state.as_ref()?.terminated.as_ref()?.message.clone())
            .unwrap_or_default();
        Self {
            words,
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
