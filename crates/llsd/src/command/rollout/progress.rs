//! What waits for somebody's word, and how far a server is that was approved, told from its resource and its
//! Deployment.

use llsd_plan::live::DeploymentState;
use llsd_plan::objects::labels;
use llsd_plan::resource::template_inputs::{APPROVE, Inputs};
use llsd_plan::status::{ConditionReason, ConditionType};
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Progress {
    Back,
    /// In the words of the resource's conditions.
    UnderWay(String),
    Failed(String),
}

/// Whether something is held back for a resource: by an upgrade of the operator, or until its turn.
pub(super) fn holds_back(resource: &Value) -> bool {
    let kept = [
        ConditionReason::TemplateKept,
        ConditionReason::AdoptedTemplateKept,
        ConditionReason::WaitingForTurn,
    ];
    condition(resource, ConditionType::UpdatePending).is_some_and(|pending| {
        pending["status"] == "True" && kept.iter().any(|kept| pending["reason"] == kept.as_str())
    })
}

/// Whether the last change of a resource was refused by its preflight, rolled back, or given up by Kubernetes.
/// Whoever asked for an earlier state has what they want.
pub(super) fn has_failed(resource: &Value) -> bool {
    let failures = [
        (ConditionType::Preflight, "False", ConditionReason::PreflightFailed),
        (ConditionType::RolledBack, "True", ConditionReason::RolledBack),
        (ConditionType::Ready, "False", ConditionReason::RolloutStuck),
    ];
    failures.into_iter().any(|(kind, status, reason)| {
        condition(resource, kind)
            .is_some_and(|found| found["status"] == status && found["reason"] == reason.as_str())
    })
}

/// How far a resource is whose annotation was set to `value`.
pub(super) fn progress(resource: &Value, deployment: &Value, value: &str) -> Progress {
    let recorded = deployment["metadata"]["annotations"][labels::INPUTS].as_str();
    let mut asked = Inputs::default();
    asked.set(APPROVE, Some(value));
    if !recorded.is_some_and(|recorded| asked.agree_with(&Inputs::parse(recorded))) {
        return match condition(resource, ConditionType::Stalled) {
            Some(stalled) if !holds_back(resource) => Progress::Failed(message(stalled)),
            _ => Progress::UnderWay("the operator has not applied it yet".to_owned()),
        };
    }
    if let Some(back) = condition(resource, ConditionType::RolledBack) {
        return Progress::Failed(message(back));
    }
    let state = DeploymentState::parse(deployment);
    if let Some((reason, message)) = state.stuck.as_ref().filter(|_| state.is_observed()) {
        return Progress::Failed(format!("{reason}: {message}"));
    }
    let ready = condition(resource, ConditionType::Ready);
    if state.is_complete() && ready.is_some_and(|ready| ready["status"] == "True") {
        return Progress::Back;
    }
    Progress::UnderWay(ready.map(message).unwrap_or_default())
}

fn condition(resource: &Value, wanted: ConditionType) -> Option<&Value> {
    let mut all = resource["status"]["conditions"].as_array().into_iter().flatten();
    all.find(|condition| condition["type"] == wanted.as_str())
}

fn message(condition: &Value) -> String {
    let text = |field: &str| condition[field].as_str().unwrap_or_default();
    format!("{}: {}", text("reason"), text("message"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resource(conditions: &[(&str, &str, &str)]) -> Value {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(kind, status, reason)| {
                json!({"type": kind, "status": status, "reason": reason, "message": "said"})
            })
            .collect();
        json!({"status": {"conditions": conditions}})
    }

    fn deployment(approved: &str, available: i32, progressing: &str) -> Value {
        let mut inputs = Inputs::default();
        inputs.set(APPROVE, Some(approved));
        json!({
            "metadata": {"generation": 2, "annotations": {labels::INPUTS: inputs.text()}},
            "spec": {"replicas": 1},
            "status": {
                "observedGeneration": 2, "replicas": 1, "updatedReplicas": 1,
                "readyReplicas": available, "availableReplicas": available,
                "conditions": [{
                    "type": "Progressing", "status": progressing,
                    "reason": "ProgressDeadlineExceeded", "message": "timed out",
                }],
            },
        })
    }

    #[test]
    fn a_server_is_back_once_what_was_approved_runs() {
        let ready = resource(&[("Ready", "True", "Ready")]);
        let now = |resource: &Value, deployment: &Value| progress(resource, deployment, "2");
        assert_eq!(now(&ready, &deployment("2", 1, "True")), Progress::Back);
        let early = now(&ready, &deployment("1", 1, "True"));
        assert!(matches!(early, Progress::UnderWay(_)), "it still runs as before: {early:?}");
        let starting = now(&ready, &deployment("2", 0, "True"));
        assert!(matches!(starting, Progress::UnderWay(_)), "{starting:?}");
        let stuck = now(&ready, &deployment("2", 0, "False"));
        assert_eq!(stuck, Progress::Failed("ProgressDeadlineExceeded: timed out".into()));
        let back = resource(&[("Ready", "False", "RolledBack"), ("RolledBack", "True", "Why")]);
        assert_eq!(now(&back, &deployment("2", 1, "True")), Progress::Failed("Why: said".into()));
        let refused = resource(&[("Stalled", "True", "SecretNotFound")]);
        let refused = now(&refused, &deployment("1", 1, "True"));
        assert_eq!(refused, Progress::Failed("SecretNotFound: said".into()));
    }

    #[test]
    fn only_what_was_refused_or_rolled_back_or_given_up_has_failed() {
        assert!(has_failed(&resource(&[("Preflight", "False", "PreflightFailed")])));
        assert!(has_failed(&resource(&[("RolledBack", "True", "RolledBack")])));
        assert!(has_failed(&resource(&[("Ready", "False", "RolloutStuck")])));
        assert!(!has_failed(&resource(&[("Ready", "False", "RollingOut")])));
        assert!(!has_failed(&resource(&[("RolledBack", "True", "RollbackRequested")])));
        assert!(!has_failed(&resource(&[("Preflight", "True", "PreflightPassed")])));
        assert!(!has_failed(&resource(&[("Preflight", "Unknown", "PreflightRunning")])));
        assert!(!has_failed(&json!({})));
    }

    #[test]
    fn only_what_is_held_back_is_approved() {
        assert!(holds_back(&resource(&[("UpdatePending", "True", "TemplateKept")])));
        assert!(holds_back(&resource(&[("UpdatePending", "True", "AdoptedTemplateKept")])));
        assert!(holds_back(&resource(&[("UpdatePending", "True", "WaitingForTurn")])));
        assert!(!holds_back(&resource(&[("UpdatePending", "True", "NewerImage")])));
        assert!(!holds_back(&resource(&[("Ready", "True", "Ready")])));
    }
}
