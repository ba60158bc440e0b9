//! What the status of a pod says of its scheduling, and of the end of its containers.

use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Pod};

/// Why no node takes the pod, in the words of Kubernetes.
pub(crate) fn unscheduled(pod: &Pod) -> Option<String> {
    let mut conditions = pod.status.as_ref()?.conditions.iter().flatten();
    let found =
        conditions.find(|known| known.type_ == "PodScheduled" && known.status == "False")?;
    let reason = found.reason.as_deref().unwrap_or("Unschedulable");
    Some(format!("{reason}: {}", found.message.as_deref().unwrap_or_default()))
}

/// How a container has ended, if it does not run.
pub(crate) fn ended(container: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    container.state.as_ref()?.terminated.as_ref()
}

/// How a container has ended, or ended last.
pub(crate) fn ended_last(container: &ContainerStatus) -> Option<&ContainerStateTerminated> {
    ended(container).or_else(|| container.last_state.as_ref()?.terminated.as_ref())
}
