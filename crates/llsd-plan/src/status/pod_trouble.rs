//! What keeps a pod from running, in the words of Kubernetes, and why its container ended.

use k8s_openapi::api::core::v1::{ContainerStateTerminated, ContainerStatus, Pod};

use super::{exit_reason, models_awaited};
use crate::live::installation::install_words;
use crate::live::pod::{ended, ended_last, unscheduled};
use crate::objects::labels::WAIT_FOR_MODELS;

const CRASH_LOOP: &str = "CrashLoopBackOff";

/// What keeps a pod from running; `None` of one that runs or is just coming up.
pub fn pod_trouble(pod: &Pod) -> Option<String> {
    let status = pod.status.as_ref()?;
    let containers = status.init_container_statuses.iter().flatten();
    let mut containers = containers.chain(status.container_statuses.iter().flatten());
    let name = pod.metadata.name.as_deref().unwrap_or_default();
    containers.find_map(|container| of_container(container, name)).or_else(|| unscheduled(pod))
}

fn of_container(container: &ContainerStatus, pod: &str) -> Option<String> {
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
    let why = ended_last(container).map(|ended| match &own_words {
        Some(words) => format!("{words} (kubectl logs {pod} -c {} --previous)", container.name),
        None => why_it_ended(ended, &container.name, pod),
    });
    // An init container that has done its work is not ready either.
    let is_done = ended(container).is_some_and(|now| now.exit_code == 0);
    if waiting.is_none() && (why.is_none() || is_done) {
        return None;
    }
    let message = || waiting.and_then(|waiting| waiting.message.clone()).unwrap_or_default();
    Some(format!("{reason} ({}): {}", container.name, why.unwrap_or_else(message)))
}

/// Its exit code, the reason that Kubernetes or the program itself gives, and where there is more.
fn why_it_ended(ended: &ContainerStateTerminated, container: &str, pod: &str) -> String {
    let mut why = format!("exit code {}", ended.exit_code);
    let reason = ended.reason.as_deref().unwrap_or_default();
    let message = ended.message.as_deref().unwrap_or_default().trim();
    let cause = match reason {
        // It never ran, so these are the words of the runtime.
        "StartError" | "ContainerCannotRun" => Some(format!("{reason}: {message}")),
        "" | "Error" | "Completed" => exit_reason::exit_reason(message),
        _ => Some(reason.to_owned()),
    };
    if let Some(cause) = cause {
        why = format!("{why}: {cause}");
    }
    format!("{why} (kubectl logs {pod} -c {container} --previous)")
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn trouble(container: &Value) -> Option<String> {
        let pod = json!({
            "metadata": {"name": "demo-1"},
            "status": {"containerStatuses": [container]},
        });
        pod_trouble(&serde_json::from_value(pod).unwrap())
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
