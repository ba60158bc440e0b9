//! How far the pod of the preflight Job is.

use k8s_openapi::api::core::v1::{Container, ContainerStateTerminated, ContainerStatus, Pod};

use super::provenance::of_init;
use super::result::PreflightResult;
use crate::live::image_pull::{cannot_pull, is_final};
use crate::live::installation::install_words;
use crate::live::pod::{ended, unscheduled};
use crate::server::paths::PREFLIGHT_PROGRAM;

/// Why a container ended that wanted more memory than it may have.
const OUT_OF_MEMORY: &str = "OOMKilled";

/// What is seen of a Job's pods.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Seen {
    /// There is none.
    NoPod,
    /// There is none, because the cluster denies it, in its words.
    NotCreated(String),
    /// It has not started, for the reason in the words of Kubernetes, where that says one.
    Pending(Option<String>),
    /// The image of a container cannot be pulled, in the words of Kubernetes.
    CannotPull {
        container: String,
        why: String,
        /// Trying again does not help: there is no such image, or it may not be had.
        is_final: bool,
    },
    Running,
    Checked(PreflightResult),
}

impl Seen {
    /// The newest pod counts.
    pub fn from_pods(pods: &[Pod]) -> Self {
        let created = |pod: &&Pod| pod.metadata.creation_timestamp.as_ref().map(|time| time.0);
        pods.iter().max_by_key(created).map_or(Self::NoPod, of_pod)
    }
}

fn of_pod(pod: &Pod) -> Seen {
    let Some(status) = &pod.status else { return Seen::Pending(None) };
    if status.phase.as_deref() == Some("Failed")
        && let Some(why @ ("Evicted" | "Preempting" | "NodeLost" | "NodeShutdown")) =
            status.reason.as_deref()
    {
        return Seen::Checked(PreflightResult::not_checked(why));
    }
    let installs =
        status.init_container_statuses.iter().flatten().filter(|it| !is_sidecar(pod, &it.name));
    let preflight = preflight_container(pod);
    for container in installs.clone().chain(preflight) {
        if let Some((reason, message)) = waits(container)
            && cannot_pull(&reason)
        {
            let why = format!("{} ({reason}): {message}", container.image);
            let is_final = is_final(&reason, &message);
            return Seen::CannotPull { container: container.name.clone(), why, is_final };
        }
    }
    for install in installs {
        if let Some(ended) = ended(install).filter(|ended| ended.exit_code != 0) {
            if ended.reason.as_deref() == Some(OUT_OF_MEMORY) {
                let why = format!("{} needs more memory ({OUT_OF_MEMORY})", install.name);
                return Seen::Checked(PreflightResult::not_checked(why));
            }
            let mut message = format!("{} ended with exit code {}", install.name, ended.exit_code);
            if let Some(words) = install_words(install) {
                message = format!("{message}: {words}");
            }
            return Seen::Checked(PreflightResult::refused(
                "package",
                &of_init(&install.name),
                message,
            ));
        }
    }
    if let Some(ended) = preflight.and_then(ended) {
        return Seen::Checked(last_words(ended));
    }
    let is_running = preflight.is_some_and(|preflight| {
        preflight.state.as_ref().is_some_and(|state| state.running.is_some())
    });
    match status.phase.as_deref() {
        Some("Failed") => {
            let why = status.reason.as_deref().unwrap_or("the judge's pod failed");
            Seen::Checked(PreflightResult::not_checked(why))
        }
        _ if is_running => Seen::Running,
        _ => Seen::Pending(trouble(pod, preflight)),
    }
}

/// The container of the preflight. A cluster may put others beside it, before it in their order too.
fn preflight_container(pod: &Pod) -> Option<&ContainerStatus> {
    let mut containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let is_ours = |container: &&Container| {
        container.command.iter().flatten().any(|word| word == PREFLIGHT_PROGRAM)
    };
    let name = containers.find(is_ours).map(|container| container.name.as_str());
    let mut all = pod.status.as_ref()?.container_statuses.iter().flatten();
    all.find(|container| name.is_none_or(|name| container.name == name))
}

/// Whether an init container runs beside the others and never ends.
fn is_sidecar(pod: &Pod, name: &str) -> bool {
    let mut all = pod.spec.iter().flat_map(|spec| spec.init_containers.iter().flatten());
    all.any(|container| {
        container.name == name && container.restart_policy.as_deref() == Some("Always")
    })
}

fn last_words(ended: &ContainerStateTerminated) -> PreflightResult {
    let words = ended.message.as_deref().unwrap_or_default();
    match ended.reason.as_deref() {
        // It never ran, or was killed: what it says is not the preflight's.
        Some(reason @ ("StartError" | "ContainerCannotRun" | OUT_OF_MEMORY)) => {
            PreflightResult::not_checked(format!("the judge did not run ({reason})"))
        }
        _ if words.trim().is_empty() => PreflightResult::not_checked(format!(
            "the judge left no verdict (exit code {})",
            ended.exit_code
        )),
        _ => PreflightResult::parse(words),
    }
}

fn trouble(pod: &Pod, preflight: Option<&ContainerStatus>) -> Option<String> {
    if let Some(why) = unscheduled(pod) {
        return Some(why);
    }
    let (reason, message) = preflight.and_then(waits)?;
    let is_usual = matches!(reason.as_str(), "" | "ContainerCreating" | "PodInitializing");
    (!is_usual).then(|| format!("{reason}: {message}"))
}

fn waits(container: &ContainerStatus) -> Option<(String, String)> {
    let waiting = container.state.as_ref()?.waiting.clone()?;
    Some((waiting.reason.unwrap_or_default(), waiting.message.unwrap_or_default()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use llsd_api::v1alpha2::PreflightVerdict;

    fn seen(status: &Value) -> Seen {
        let pod = json!({"metadata": {"name": "p"}, "status": status});
        Seen::from_pods(&[serde_json::from_value(pod).unwrap()])
    }

    fn container(state: &Value) -> Value {
        json!([{
            "name": "c", "image": "server:1", "imageID": "", "ready": false, "restartCount": 0,
            "state": state,
        }])
    }

    #[test]
    fn the_preflight_is_known_by_what_it_runs_and_no_sidecar_is_taken_for_it() {
        let proxy = json!({
            "name": "linkerd-proxy", "image": "proxy:1", "imageID": "", "ready": true,
            "restartCount": 0, "state": {"running": {}},
        });
        let mut statuses = ended(0, "Completed", r#"{"verdict": "good"}"#);
        statuses.as_array_mut().unwrap().insert(0, proxy.clone());
        let mut killed = proxy.clone();
        killed["state"] = json!({"terminated": {"exitCode": 137}});
        let pod = json!({
            "metadata": {"name": "p"},
            "spec": {
                "initContainers": [{"name": "linkerd-proxy", "restartPolicy": "Always"}],
                "containers": [
                    {"name": "linkerd-proxy"},
                    {"name": "c", "command": ["python3", PREFLIGHT_PROGRAM]},
                ],
            },
            "status": {"containerStatuses": statuses, "initContainerStatuses": [killed]},
        });
        let seen = Seen::from_pods(&[serde_json::from_value(pod).unwrap()]);
        let Seen::Checked(result) = seen else { panic!("{seen:?}") };
        assert_eq!(result.outcome, PreflightVerdict::Good);
    }

    #[test]
    fn who_was_evicted_or_lacked_memory_refuses_nothing() {
        let outcome = |status: &Value| match seen(status) {
            Seen::Checked(result) => result.outcome,
            other => panic!("{other:?}"),
        };
        let killed = json!({"initContainerStatuses": ended(137, OUT_OF_MEMORY, "")});
        assert_eq!(outcome(&killed), PreflightVerdict::NotJudged);
        let evicted = json!({
            "phase": "Failed", "reason": "Evicted", "initContainerStatuses": ended(137, "Error", ""),
        });
        assert_eq!(outcome(&evicted), PreflightVerdict::NotJudged);
    }

    fn ended(code: i32, reason: &str, message: &str) -> Value {
        container(&json!({"terminated": {"exitCode": code, "reason": reason, "message": message}}))
    }

    #[test]
    fn a_pod_is_told_by_what_it_waits_for_or_said_last() {
        assert_eq!(Seen::from_pods(&[]), Seen::NoPod);
        let running = json!({"containerStatuses": container(&json!({"running": {}}))});
        assert_eq!(seen(&running), Seen::Running);
        let waits = |reason: &str| {
            let state = json!({"waiting": {"reason": reason, "message": "no such image"}});
            seen(&json!({"containerStatuses": container(&state)}))
        };
        assert_eq!(waits("ContainerCreating"), Seen::Pending(None));
        assert_eq!(
            waits("ErrImagePull"),
            Seen::Pending(Some("ErrImagePull: no such image".into()))
        );
        let why = "server:1 (ImagePullBackOff): no such image".to_owned();
        assert_eq!(
            waits("ImagePullBackOff"),
            Seen::CannotPull { container: "c".into(), why, is_final: true }
        );
        let unscheduled = json!({"conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3",
        }]});
        assert_eq!(seen(&unscheduled), Seen::Pending(Some("Unschedulable: 0/3".into())));
    }

    #[test]
    fn what_ended_has_a_result_whatever_it_said() {
        let outcome = |status: &Value| match seen(status) {
            Seen::Checked(result) => result.outcome,
            other => panic!("{other:?}"),
        };
        let preflight = |containers: Value| outcome(&json!({"containerStatuses": containers}));
        assert_eq!(
            preflight(ended(0, "Completed", r#"{"verdict": "good"}"#)),
            PreflightVerdict::Good
        );
        assert_eq!(preflight(ended(0, "Completed", "")), PreflightVerdict::NotJudged);
        assert_eq!(
            preflight(ended(137, "OOMKilled", r#"{"verdict": "good"}"#)),
            PreflightVerdict::NotJudged
        );
        assert_eq!(preflight(ended(128, "StartError", "no python3")), PreflightVerdict::NotJudged);
        let install = json!({"initContainerStatuses": ended(1, "Error", "")});
        assert_eq!(outcome(&install), PreflightVerdict::Refused, "the pods would not start either");
        assert_eq!(
            outcome(&json!({"phase": "Failed", "reason": "Evicted"})),
            PreflightVerdict::NotJudged
        );
    }
}
