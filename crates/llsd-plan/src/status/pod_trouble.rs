//! What keeps a pod from running, in the words of Kubernetes, and why its container ended.

use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Pod};

use super::messages::bounded;
use super::{exit_reason, models_awaited};
use crate::live::installation::install_words;
use crate::live::pod::{ended, ended_last, unscheduled};
use crate::live::probe_kill::ProbeKill;
use crate::objects::labels::WAIT_FOR_MODELS;

const CRASH_LOOP: &str = "CrashLoopBackOff";

/// As much as is kept of why a change failed.
const CAUSE_BYTES: usize = 1000;

/// What is in the way of a pod.
struct Trouble {
    /// Begins with a word and a colon.
    what: String,
    /// The command that shows more, while the pod is there.
    look: Option<String>,
}

/// What keeps a pod from running; `None` of one that runs or is just coming up. `probe_kill` says why the kubelet
/// killed one of its containers, where that is known.
pub fn pod_trouble(pod: &Pod, probe_kill: Option<&ProbeKill>) -> Option<String> {
    find(pod, probe_kill).map(Trouble::with_look)
}

/// What keeps a pod from running or from being ready, where there was time enough for both.
pub fn overdue_trouble(pod: &Pod, probe_kill: Option<&ProbeKill>) -> Option<String> {
    find(pod, probe_kill).or_else(|| not_ready(pod)).map(Trouble::with_look)
}

/// Why a change failed, by one of its pods. That is read when the pod is gone.
pub fn failure_cause(pod: &Pod, probe_kill: Option<&ProbeKill>) -> Option<String> {
    let trouble = find(pod, probe_kill).or_else(|| not_ready(pod))?;
    Some(bounded(&trouble.what, CAUSE_BYTES))
}

impl Trouble {
    fn with_look(self) -> String {
        let Self { what, look } = self;
        look.map_or_else(|| what.clone(), |look| format!("{what} ({look})"))
    }
}

fn find(pod: &Pod, probe_kill: Option<&ProbeKill>) -> Option<Trouble> {
    let status = pod.status.as_ref()?;
    let containers = status.init_container_statuses.iter().flatten();
    let mut containers = containers.chain(status.container_statuses.iter().flatten());
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    let of_container = |container: &ContainerStatus| {
        let kill = probe_kill.filter(|kill| kill.container == container.name);
        of_container(container, name, kill)
    };
    let unscheduled = || unscheduled(pod).map(|what| Trouble { what, look: None });
    containers.find_map(of_container).or_else(unscheduled)
}

fn of_container(
    container: &ContainerStatus,
    pod: &str,
    probe_kill: Option<&ProbeKill>,
) -> Option<Trouble> {
    if container.name == WAIT_FOR_MODELS && models_awaited::words(container).is_some() {
        return None;
    }
    let waiting = container.state.as_ref().and_then(|state| state.waiting.as_ref());
    let reason = match waiting {
        Some(waiting) => waiting.reason.as_deref().unwrap_or_default(),
        // While it starts once more nothing has changed for the better. Kubernetes says so only
        // between the starts, and a status that did the same would change with every one.
        None if container.restart_count > 0 && !container.ready => CRASH_LOOP,
        None => return None,
    };
    if matches!(reason, "" | "ContainerCreating" | "PodInitializing") {
        return None;
    }
    let own_words = install_words(container);
    let why = ended_last(container)
        .map(|ended| own_words.unwrap_or_else(|| why_it_ended(ended, probe_kill)));
    // An init container that has done its work is not ready either.
    let is_done = ended(container).is_some_and(|now| now.exit_code == 0);
    if waiting.is_none() && (why.is_none() || is_done) {
        return None;
    }
    let name = &container.name;
    let look = why.is_some().then(|| format!("kubectl logs {pod} -c {name} --previous"));
    let message = || waiting.and_then(|waiting| waiting.message.clone()).unwrap_or_default();
    Some(Trouble { what: format!("{reason} ({name}): {}", why.unwrap_or_else(message)), look })
}

/// A container that runs, and whose probes do not pass.
fn not_ready(pod: &Pod) -> Option<Trouble> {
    let mut containers = pod.status.as_ref()?.container_statuses.iter().flatten();
    let running = |container: &&ContainerStatus| {
        let state = container.state.as_ref();
        !container.ready && state.is_some_and(|state| state.running.is_some())
    };
    let ContainerStatus { name, started, .. } = containers.find(running)?;
    let probe = if *started == Some(false) { "startup" } else { "readiness" };
    let pod = pod.metadata.name.as_deref().unwrap_or_default();
    Some(Trouble {
        what: format!("NotReady ({name}): it runs, and its {probe} probe does not pass"),
        look: Some(format!("kubectl logs {pod} -c {name}")),
    })
}

/// Its exit code, and the reason that Kubernetes, the kubelet's probe or the program itself gives.
fn why_it_ended(ended: &ContainerStateTerminated, probe_kill: Option<&ProbeKill>) -> String {
    let why = format!("exit code {}", ended.exit_code);
    let reason = ended.reason.as_deref().unwrap_or_default();
    let message = ended.message.as_deref().unwrap_or_default().trim();
    let cause = match reason {
        // It never ran, so these are the words of the runtime.
        "StartError" | "ContainerCannotRun" => Some(format!("{reason}: {message}")),
        "" | "Error" | "Completed" => {
            let killed = probe_kill.map(ProbeKill::words);
            killed.or_else(|| exit_reason::exit_reason(message))
        }
        _ => Some(reason.to_owned()),
    };
    cause.map_or_else(|| why.clone(), |cause| format!("{why}: {cause}"))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::live::probe_kill::KilledContainer;
    use k8s_openapi::api::events::v1::Event;

    fn trouble(container: &Value) -> Option<String> {
        let pod = json!({
            "metadata": {"name": "demo-1"},
            "status": {"containerStatuses": [container]},
        });
        pod_trouble(&serde_json::from_value(pod).unwrap(), None)
    }

    fn container(state: &Value, last: &Value, restarts: i32, ready: bool) -> Value {
        json!({
            "name": "server", "image": "i", "imageID": "i", "restartCount": restarts,
            "ready": ready, "state": state, "lastState": last,
        })
    }

    fn ended(code: i32, reason: &str, message: &str) -> Value {
        json!({"terminated": {"exitCode": code, "reason": reason, "message": message}})
    }

    #[test]
    fn a_crash_loop_is_told_the_same_while_it_waits_starts_and_ends() {
        let crash = ended(3, "Error", "ModuleNotFoundError: No module named 'torch'\n");
        let waits = json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}});
        let expected = "CrashLoopBackOff (server): exit code 3: ModuleNotFoundError: No module \
                        named 'torch' (kubectl logs demo-1 -c server --previous)";
        for state in [&waits, &json!({"running": {}}), &crash] {
            assert_eq!(trouble(&container(state, &crash, 2, false)).as_deref(), Some(expected));
        }
        assert_eq!(trouble(&container(&json!({"running": {}}), &crash, 2, true)), None);
    }

    #[rstest]
    #[case(ended(137, "OOMKilled", "sk-secret"), "exit code 137: OOMKilled (")]
    #[case(ended(1, "Error", "the key sk-secret is wrong"), "exit code 1 (")]
    #[case(ended(1, "Error", ""), "exit code 1 (")]
    #[case(
        ended(128, "StartError", "exec: \"python3\": not found"),
        "exit code 128: StartError: exec: \"python3\": not found ("
    )]
    fn what_a_container_says_is_told_as_far_as_it_is_no_secret(
        #[case] last: Value,
        #[case] expected: &str,
    ) {
        let waits = json!({"waiting": {"reason": "CrashLoopBackOff"}});
        let trouble = trouble(&container(&waits, &last, 1, false)).unwrap();
        assert!(
            trouble.starts_with(&format!("CrashLoopBackOff (server): {expected}")),
            "{trouble}"
        );
    }

    #[test]
    fn a_container_that_a_probe_killed_does_not_look_as_if_memory_were_short() {
        let killed = container(&json!({"running": {}}), &ended(137, "Error", ""), 1, false);
        assert!(trouble(&killed).unwrap().contains("exit code 137 (kubectl logs"));
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "demo-1"}, "status": {"containerStatuses": [killed]},
        }))
        .unwrap();
        let event: Event = serde_json::from_value(json!({
            "metadata": {"name": "e"}, "eventTime": null, "reason": "Killing",
            "note": "Container server failed startup probe, will be restarted",
        }))
        .unwrap();
        let kill = ProbeKill::find(&KilledContainer::find(&pod).unwrap(), &[event]).unwrap();
        let expected = "CrashLoopBackOff (server): exit code 137: the kubelet killed it because its \
                        startup probe failed";
        let look = " (kubectl logs demo-1 -c server --previous)";
        assert_eq!(pod_trouble(&pod, Some(&kill)), Some(format!("{expected}{look}")));
        assert_eq!(failure_cause(&pod, Some(&kill)).as_deref(), Some(expected));
        let mut other = kill;
        other.container = "proxy".into();
        assert!(pod_trouble(&pod, Some(&other)).unwrap().contains("exit code 137 (kubectl"));
    }

    #[rstest]
    #[case(Some(false), "NotReady (server): it runs, and its startup probe does not pass")]
    #[case(Some(true), "NotReady (server): it runs, and its readiness probe does not pass")]
    fn a_pod_that_is_never_ready_has_trouble_once_it_is_overdue(
        #[case] started: Option<bool>,
        #[case] expected: &str,
    ) {
        let mut runs = container(&json!({"running": {}}), &json!({}), 0, false);
        runs["started"] = json!(started);
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {"name": "demo-1"}, "status": {"containerStatuses": [runs]},
        }))
        .unwrap();
        assert_eq!(pod_trouble(&pod, None), None, "it may just be coming up");
        let overdue = overdue_trouble(&pod, None).unwrap();
        assert_eq!(overdue, format!("{expected} (kubectl logs demo-1 -c server)"));
        assert_eq!(failure_cause(&pod, None).as_deref(), Some(expected));
    }

    #[test]
    fn what_kubernetes_waits_for_is_told_in_its_words() {
        let waits = |reason: &str| json!({"waiting": {"reason": reason, "message": "no image"}});
        let none = json!({});
        let pull = container(&waits("ImagePullBackOff"), &none, 0, false);
        assert_eq!(trouble(&pull).as_deref(), Some("ImagePullBackOff (server): no image"));
        for quiet in [
            container(&waits("ContainerCreating"), &none, 0, false),
            container(&json!({"running": {}}), &none, 0, false),
            // An init container that once failed, and then did its work.
            container(&ended(0, "Completed", ""), &ended(1, "Error", ""), 1, false),
        ] {
            assert_eq!(trouble(&quiet), None);
        }
    }
}
