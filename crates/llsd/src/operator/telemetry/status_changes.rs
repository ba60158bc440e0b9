//! What a new status of a resource says that the one before did not, counted: preflights and returns. A
//! status is written once, so each is counted once, whichever replica leads.

use llsd_plan::status::{ConditionReason, ConditionType};
use serde_json::Value;

use super::metrics::Metrics;
use super::results::{PreflightOutcome, Returned};

/// Counts what is new. Called once a status was written.
pub fn count(metrics: &Metrics, before: &Value, after: &Value) {
    if let Some(result) = checked(before, after) {
        metrics.preflight(result);
    }
    if let Some(cause) = returned(before, after) {
        metrics.rollback(cause);
    }
}

fn checked(before: &Value, after: &Value) -> Option<PreflightOutcome> {
    let of = |status: &Value| {
        let preflight = &status["preflight"];
        (preflight["hash"].clone(), preflight["judgedAt"].clone(), preflight["verdict"].clone())
    };
    if of(before) == of(after) {
        return None;
    }
    match after["preflight"]["verdict"].as_str()? {
        "Good" => Some(PreflightOutcome::Good),
        "Refused" => Some(PreflightOutcome::Refused),
        // It waits, or goes on.
        "Pending" => None,
        _ => Some(PreflightOutcome::NotChecked),
    }
}

fn returned(before: &Value, after: &Value) -> Option<Returned> {
    let reason = |status: &Value| {
        let mut conditions = status["conditions"].as_array()?.iter();
        let kind = ConditionType::RolledBack.as_str();
        conditions.find(|condition| condition["type"] == kind)?["reason"]
            .as_str()
            .map(str::to_owned)
    };
    let now = reason(after)?;
    if reason(before).as_ref() == Some(&now) {
        return None;
    }
    let is_asked_for = now == ConditionReason::RollbackRequested.as_str();
    Some(if is_asked_for { Returned::Requested } else { Returned::Failed })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_preflight_and_each_return_counts_once() {
        let metrics = Metrics::new("0");
        let checked = |verdict: &str, at: &str| json!({"preflight": {"hash": "1", "verdict": verdict, "judgedAt": at}});
        let back = |reason: &str| json!({"conditions": [{"type": "RolledBack", "reason": reason}]});
        for (before, after) in [
            (json!({}), checked("Good", "1")),
            (checked("Good", "1"), checked("Good", "1")),
            (checked("Good", "1"), checked("Refused", "2")),
            (checked("Refused", "2"), checked("Pending", "3")),
            (checked("Pending", "3"), checked("NotJudged", "3")),
            (json!({}), back("RolledBack")),
            (back("RolledBack"), back("RolledBack")),
            (back("RolledBack"), back("RollbackRequested")),
            (back("RollbackRequested"), json!({})),
        ] {
            count(&metrics, &before, &after);
        }
        let text = metrics.text();
        for line in [
            "llsd_preflights_total{result=\"good\"} 1\n",
            "llsd_preflights_total{result=\"refused\"} 1\n",
            "llsd_preflights_total{result=\"not_judged\"} 1\n",
            "llsd_rollbacks_total{cause=\"failed\"} 1\n",
            "llsd_rollbacks_total{cause=\"requested\"} 1\n",
        ] {
            assert!(text.contains(line), "no {line:?} in:\n{text}");
        }
    }
}
