//! What a pod waits for before its server can start. The program that waits ends whenever that changes,
//! for its last words are then in the pod's status; they quote no value of a Secret.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};

use super::messages::bounded;
use crate::live::pod::ended_last;
use crate::objects::labels::WAIT_FOR_MODELS;

/// What the program puts before what it waits for.
const WAITS: &str = "start: waits: ";
const TEXT_BYTES: usize = 600;

/// The model, its provider, the address and what to do; `None` of a pod that waits for none.
pub fn models_awaited(pod: &Pod) -> Option<String> {
    let containers = pod.status.as_ref()?.init_container_statuses.iter().flatten();
    containers.filter(|container| container.name == WAIT_FOR_MODELS).find_map(words)
}

/// The words of a container that only waits, though Kubernetes takes it for one that fails.
pub(super) fn words(container: &ContainerStatus) -> Option<String> {
    let ended = ended_last(container).filter(|ended| ended.exit_code != 0)?;
    let mut lines = ended.message.as_deref().unwrap_or_default().lines().rev();
    lines.find_map(|line| line.trim().strip_prefix(WAITS)).map(|text| bounded(text, TEXT_BYTES))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::status::pod_trouble;

    fn pod(state: &Value) -> Pod {
        let message =
            "a line\nstart: waits: model m of provider ollama: http://o:1 does not answer\n";
        let last = json!({"terminated": {"exitCode": 1, "reason": "Error", "message": message}});
        let container = json!({
            "name": WAIT_FOR_MODELS, "image": "i", "imageID": "i", "restartCount": 1, "ready": false,
            "state": state, "lastState": last,
        });
        let pod =
            json!({"metadata": {"name": "p"}, "status": {"initContainerStatuses": [container]}});
        serde_json::from_value(pod).unwrap()
    }

    #[rstest]
    #[case(json!({"running": {}}))]
    #[case(json!({"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 10s"}}))]
    fn a_pod_that_waits_for_a_model_has_no_trouble(#[case] state: Value) {
        let expected = "model m of provider ollama: http://o:1 does not answer";
        assert_eq!(models_awaited(&pod(&state)).as_deref(), Some(expected));
        assert_eq!(pod_trouble(&pod(&state), None), None);
    }

    #[test]
    fn once_the_model_is_there_nothing_is_awaited() {
        let done = pod(&json!({"terminated": {"exitCode": 0, "reason": "Completed"}}));
        assert_eq!(models_awaited(&done), None);
        assert_eq!(pod_trouble(&done, None), None);
    }
}
