//! What `llsd status` shows, from a resource, its Deployment and the states that are kept.

use std::fmt::Write as _;

use llsd_plan::live::DeploymentState;
use llsd_plan::resource::callers;
use llsd_plan::status::{ConditionReason, ConditionType};
use serde_json::Value;

use super::states::SeenWorkload;

pub(super) struct Screen {
    pub(super) text: String,
    pub(super) is_ready: bool,
}

pub(super) fn screen(resource: &Value, workload: &SeenWorkload) -> Screen {
    let (metadata, status) = (&resource["metadata"], &resource["status"]);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let ready = condition(status, ConditionType::Ready);
    let is_current = status["observedGeneration"] == metadata["generation"];
    let is_ready = is_current && ready.is_some_and(|ready| ready["status"] == "True");
    let mut lines = Lines::default();
    let name = format!("{}/{}", text(&metadata["namespace"]), text(&metadata["name"]));
    let phase = status["phase"].as_str().unwrap_or("Unknown");
    lines.add(&name, &format!("{phase}; {}", ready.map(sentence).unwrap_or_default()));
    if !is_current {
        lines.add("", "the operator has not looked at the last change of the resource yet");
    }
    runs(&mut lines, status, workload);
    if !workload.deployment.is_null() || workload.hides_its_deployment() {
        lines.add("for", &callers::described(resource));
    }
    for provider in status["externalProviders"].as_array().into_iter().flatten() {
        let [id, phase, message] =
            ["providerId", "phase", "message"].map(|key| text(&provider[key]));
        let message = if message.is_empty() { message } else { format!(": {message}") };
        lines.add("brought", &format!("{id}, {phase}{message}"));
    }
    let pending = [
        ConditionType::Paused,
        ConditionType::Contended,
        ConditionType::Unguarded,
        ConditionType::UpdatePending,
        ConditionType::RolledBack,
    ];
    for pending in pending {
        if let Some(pending) = condition(status, pending) {
            lines.add("pending", &sentence(pending));
        }
    }
    for wrong in wrong(status) {
        lines.add("wrong", &wrong);
    }
    for advice in advice(status, &text(&metadata["name"]), is_ready) {
        lines.add("do", &advice);
    }
    Screen { text: lines.0, is_ready }
}

/// What runs, from what, and where.
fn runs(lines: &mut Lines, status: &Value, workload: &SeenWorkload) {
    match &workload.unread {
        Some(why) if workload.hides_its_deployment() => {
            lines.add("runs", &format!("not known: {why}"));
        }
        _ if workload.deployment.is_null() => {
            return lines.add("runs", "nothing: there is no Deployment");
        }
        _ => lines.add("runs", &pods(&workload.deployment)),
    }
    if let Some(version) = status["version"]["llamaStackServerVersion"].as_str() {
        lines.add("", &format!("the server says that it is {version}"));
    }
    from(lines, workload);
    if let Some(url) = status["serviceURL"].as_str() {
        lines.add("at", url);
    }
    if let Some(url) = status["routeURL"].as_str().filter(|url| !url.is_empty()) {
        lines.add("at", url);
    }
}

fn pods(deployment: &Value) -> String {
    let pods = DeploymentState::parse(deployment);
    let image = pods.image.as_deref().unwrap_or("an unknown image");
    format!("{} of {} pods of {image}", pods.available, pods.wanted)
}

/// From which configuration and which state, as the ReplicaSets say.
fn from(lines: &mut Lines, workload: &SeenWorkload) {
    match &workload.unread {
        // The line about the pods says why.
        Some(_) if workload.deployment.is_null() => return,
        Some(why) => return lines.add("from", &format!("not known: {why}")),
        None => {}
    }
    let states = &workload.states;
    let now = states.first();
    let config = now.and_then(|state| state.config.as_deref());
    let from = config.map_or_else(
        || "the configuration inside of the image".to_owned(),
        |config| format!("the configuration in ConfigMap {config}"),
    );
    lines.add("from", &from);
    if let Some(state) = now {
        let kept = match states.len() - 1 {
            0 => "no earlier state is kept".to_owned(),
            more => format!("{more} earlier kept, see `llsd history`"),
        };
        lines.add("", &format!("state {} since {}; {kept}", state.hash, state.created));
    }
}

/// Conditions that do not hold; those that say the same as one before are left out.
fn wrong(status: &Value) -> Vec<String> {
    let mut told = Vec::new();
    let conditions = status["conditions"].as_array().into_iter().flatten();
    for condition in conditions.filter(|condition| condition["status"] == "False") {
        let said = sentence(condition);
        let kind = condition["type"].as_str().unwrap_or_default();
        let is_new = !told.iter().any(|(_, known): &(String, String)| *known == said);
        if kind != ConditionType::Ready.as_str() && is_new {
            told.push((kind.to_owned(), said));
        }
    }
    if let Some(limited) = condition(status, ConditionType::AccessLimited) {
        told.push((ConditionType::AccessLimited.as_str().to_owned(), sentence(limited)));
    }
    told.into_iter().map(|(kind, said)| format!("{kind}: {said}")).collect()
}

/// What a person can do now.
fn advice(status: &Value, name: &str, is_ready: bool) -> Vec<String> {
    let mut advice = Vec::new();
    let reason = |kind: ConditionType| condition(status, kind)?["reason"].as_str();
    let is = |kind: ConditionType, wanted: ConditionReason| reason(kind) == Some(wanted.as_str());
    if is(ConditionType::UpdatePending, ConditionReason::TemplateKept)
        || is(ConditionType::UpdatePending, ConditionReason::AdoptedTemplateKept)
    {
        advice.push(format!("llsd rollout approve {name}, to apply what waits"));
    }
    if is(ConditionType::UpdatePending, ConditionReason::WaitingForTurn) {
        advice.push(format!("wait, or llsd rollout approve {name}, to apply it before its turn"));
    }
    if is(ConditionType::UpdatePending, ConditionReason::NewerImage) {
        advice.push(format!("llsd refresh {name}, to run the newer image"));
    }
    if is(ConditionType::Preflight, ConditionReason::PreflightFailed) {
        advice.push(format!(
            "change what the image refuses, or llsd rollout retry {name} to ask it again"
        ));
    }
    if is(ConditionType::RolledBack, ConditionReason::RolledBack) {
        advice.push(format!(
            "change the resource, or llsd rollout retry {name} to try the same again"
        ));
    }
    if is(ConditionType::RolledBack, ConditionReason::RollbackRequested) {
        advice.push("change the spec, to leave the earlier state".to_owned());
    }
    if !is_ready && reason(ConditionType::Available).is_some() {
        advice.push(format!("llsd logs {name}, to see what the server says"));
    }
    advice
}

fn condition(status: &Value, wanted: ConditionType) -> Option<&Value> {
    let mut all = status["conditions"].as_array().into_iter().flatten();
    all.find(|condition| condition["type"] == wanted.as_str())
}

fn sentence(condition: &Value) -> String {
    condition["message"].as_str().unwrap_or_default().to_owned()
}

/// Lines with a word at the left, which is not repeated.
#[derive(Default)]
struct Lines(String);

impl Lines {
    fn add(&mut self, word: &str, line: &str) {
        let _ = writeln!(self.0, "{word:<9}{}{line}", if word.len() < 9 { "" } else { "  " });
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::command::server::states::ServerState;

    fn condition(kind: &str, status: &str, reason: &str, message: &str) -> Value {
        json!({"type": kind, "status": status, "reason": reason, "message": message})
    }

    fn deployment() -> Value {
        json!({
            "spec": {"replicas": 2, "template": {"spec": {"containers": [{"image": "r/a:1"}]}}},
            "status": {"availableReplicas": 2},
        })
    }

    fn workload(states: Vec<ServerState>) -> SeenWorkload {
        SeenWorkload { deployment: deployment(), states, unread: None }
    }

    #[test]
    fn one_screen_says_what_runs_what_is_pending_and_what_to_do() {
        let resource = json!({
            "metadata": {"name": "llama", "namespace": "team", "generation": 3},
            "spec": {"distribution": {"name": "starter"}},
            "status": {
                "observedGeneration": 3, "phase": "Ready", "serviceURL": "http://llama:8321",
                "version": {"llamaStackServerVersion": "0.7.3"},
                "externalProviders": [
                    {"providerId": "mine", "phase": "Ready"},
                    {"providerId": "theirs", "phase": "Failed", "message": "the wheel is for Python 3.13"},
                ],
                "conditions": [
                    condition("Ready", "True", "Ready", "The server runs as the resource asks for"),
                    condition("HealthCheck", "False", "HealthCheckFailed", "ill"),
                    condition("UpdatePending", "True", "TemplateKept", "spec.template waits"),
                ],
            },
        });
        let state = ServerState {
            hash: "5d4f8b".into(),
            revision: 1,
            created: "2026-11-16T10:00:00Z".into(),
            pods: 2,
            ready: 2,
            image: "r/a:1".into(),
            config: Some("llama-config-1".into()),
            notes: vec!["runs"],
        };
        let shown = screen(&resource, &workload(vec![state]));
        assert!(shown.is_ready);
        let expected = "\
team/llama  Ready; The server runs as the resource asks for
runs     2 of 2 pods of r/a:1
         the server says that it is 0.7.3
from     the configuration in ConfigMap llama-config-1
         state 5d4f8b since 2026-11-16T10:00:00Z; no earlier state is kept
at       http://llama:8321
for      everybody who reaches it
brought  mine, Ready
brought  theirs, Failed: the wheel is for Python 3.13
pending  spec.template waits
wrong    HealthCheck: ill
do       llsd rollout approve llama, to apply what waits
";
        assert_eq!(shown.text, expected);
    }

    #[test]
    fn each_condition_has_a_line_that_says_what_to_do() {
        for (kind, reason, line) in [
            ("Ready", "Ready", "at       https://llama.example.com"),
            ("AccessLimited", "Forbidden", "wrong    AccessLimited: so"),
            ("Paused", "Paused", "pending  so"),
            ("UpdatePending", "NewerImage", "do       llsd refresh llama, to run the newer image"),
            ("UpdatePending", "WaitingForTurn", "do       wait, or llsd rollout approve llama, to"),
            ("Preflight", "PreflightFailed", "or llsd rollout retry llama to ask it again"),
            ("RolledBack", "RolledBack", "or llsd rollout retry llama to try the same again"),
            ("RolledBack", "RollbackRequested", "do       change the spec, to leave the earlier"),
        ] {
            let conditions = [condition(kind, "True", reason, "so")];
            let status = json!({"routeURL": "https://llama.example.com", "conditions": conditions});
            let resource = json!({"metadata": {"name": "llama"}, "status": status});
            let shown = screen(&resource, &workload(Vec::new()));
            assert!(shown.text.contains(line), "{}", shown.text);
        }
    }

    #[test]
    fn a_server_that_was_never_started_is_said_to_be_none() {
        let resource = json!({"metadata": {"name": "llama", "namespace": "team", "generation": 1}});
        let shown = screen(&resource, &SeenWorkload::default());
        assert!(!shown.is_ready && shown.text.contains("nothing: there is no Deployment"));
    }

    #[test]
    fn what_may_not_be_read_is_said_to_be_unknown_and_the_rest_is_shown() {
        let resource = json!({
            "metadata": {"name": "llama", "namespace": "team", "generation": 1},
            "spec": {"distribution": {"name": "starter"}},
            "status": {
                "observedGeneration": 1, "phase": "Ready", "serviceURL": "http://llama:8321",
                "conditions": [condition("Ready", "True", "Ready", "so")],
            },
        });
        let unread = || Some("replicasets.apps is forbidden".to_owned());
        let nothing = SeenWorkload { unread: unread(), ..SeenWorkload::default() };
        let shown = screen(&resource, &nothing);
        assert!(shown.is_ready);
        let expected = "\
team/llama  Ready; so
runs     not known: replicasets.apps is forbidden
at       http://llama:8321
for      everybody who reaches it
";
        assert_eq!(shown.text, expected);
        let without_states = SeenWorkload { unread: unread(), ..workload(Vec::new()) };
        let shown = screen(&resource, &without_states).text;
        let lines = "runs     2 of 2 pods of r/a:1\n\
                     from     not known: replicasets.apps is forbidden\n";
        assert!(shown.contains(lines), "{shown}");
    }
}
