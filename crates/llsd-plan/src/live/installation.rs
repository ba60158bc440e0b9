//! How the installation of external providers in a pod goes, by its init containers. Those are given no
//! secret, so what they say can be passed on.

use std::collections::BTreeMap;
use std::fmt::Write;

use k8s_openapi::api::core::v1::{ContainerStatus, Pod};

use super::image_pull::pull_failed;
use super::pod::{ended, ended_last};
use crate::resource::external::INSTALL;

/// As much as a person reads.
const WORDS_BYTES: usize = 1000;

/// How far one init container is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Installation {
    /// Others before it are not done.
    Waiting,
    Running,
    Done,
    /// In its own words, or in those of Kubernetes.
    Failed(String),
}

/// The installing containers of a pod, by name.
pub fn installations(pod: &Pod) -> BTreeMap<String, Installation> {
    let all = pod.status.iter().flat_map(|status| status.init_container_statuses.iter().flatten());
    let installs = all.filter(|container| container.name.starts_with(INSTALL));
    installs.map(|container| (container.name.clone(), of_container(container))).collect()
}

fn of_container(container: &ContainerStatus) -> Installation {
    if ended(container).is_some_and(|ended| ended.exit_code == 0) {
        return Installation::Done;
    }
    if let Some(words) = install_words(container) {
        return Installation::Failed(words);
    }
    let state = container.state.as_ref();
    let waiting = state.and_then(|state| state.waiting.as_ref());
    let cannot_pull = waiting.and_then(|waiting| {
        let reason = waiting.reason.as_deref().filter(|reason| pull_failed(reason))?;
        let message = waiting.message.as_deref().unwrap_or_default();
        Some(format!("the image cannot be pulled ({reason}): {message}"))
    });
    match cannot_pull {
        Some(why) => Installation::Failed(why),
        None if state.is_some_and(|state| state.running.is_some()) => Installation::Running,
        None => Installation::Waiting,
    }
}

/// Why an installing container ended, or ended last: the problems that it found.
pub fn install_words(container: &ContainerStatus) -> Option<String> {
    if !container.name.starts_with(INSTALL) {
        return None;
    }
    let ended = ended_last(container).filter(|ended| ended.exit_code != 0)?;
    let lines = ended.message.as_deref().unwrap_or_default().lines().map(str::trim);
    let mut words = String::new();
    for line in lines.filter(|line| !line.is_empty()) {
        let written = match line.strip_prefix('→') {
            Some(remedy) => write!(words, " ({})", remedy.trim()),
            None if words.is_empty() => write!(words, "{line}"),
            None => write!(words, "; {line}"),
        };
        written.ok()?;
    }
    if words.is_empty() {
        let reason = ended.reason.as_deref().unwrap_or_default();
        write!(words, "exit code {} ({reason})", ended.exit_code).ok()?;
    }
    let end = words.char_indices().map(|(at, c)| at + c.len_utf8());
    let end = end.take_while(|end| *end <= WORDS_BYTES).last().unwrap_or_default();
    words.truncate(end);
    Some(words)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn seen(name: &str, state: &Value, last: &Value) -> Option<Installation> {
        let pod = json!({"status": {"initContainerStatuses": [{
            "name": name, "image": "i", "imageID": "", "ready": false, "restartCount": 0,
            "state": state, "lastState": last,
        }]}});
        installations(&serde_json::from_value(pod).unwrap()).into_values().next()
    }

    #[test]
    fn an_installation_is_told_by_its_container() {
        let none = json!({});
        let ended = |code: i32, message: &str| json!({"terminated": {"exitCode": code, "reason": "Error", "message": message}});
        let message = "a.whl: needs b>=2\n    → add a wheel of b\nc.whl: no\n    → d\n";
        let words = "a.whl: needs b>=2 (add a wheel of b); c.whl: no (d)";
        let failed = Some(Installation::Failed(words.to_owned()));
        let waits = |reason: &str| json!({"waiting": {"reason": reason, "message": "not found"}});
        assert_eq!(seen("install-a", &ended(1, message), &none), failed);
        assert_eq!(seen("install-a", &waits("CrashLoopBackOff"), &ended(1, message)), failed);
        assert_eq!(seen("install-a", &ended(0, ""), &ended(1, message)), Some(Installation::Done));
        assert_eq!(seen("install-a", &json!({"running": {}}), &none), Some(Installation::Running));
        let pull = "the image cannot be pulled (ImagePullBackOff): not found".to_owned();
        let pulls = seen("install-a", &waits("ImagePullBackOff"), &none);
        assert_eq!(pulls, Some(Installation::Failed(pull)));
        let first = seen("install-a", &waits("PodInitializing"), &none);
        assert_eq!(first, Some(Installation::Waiting));
        assert_eq!(seen("other", &ended(1, "secret"), &none), None);
    }
}
