//! What is known of the Job in which an image checks a change: how old it is, and whether it has ended.

use serde_json::Value;

use super::time::seconds;

/// What is known of a Job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobDetail {
    /// In seconds.
    pub created: i64,
    /// Pods that were made and have not ended.
    pub active: i64,
    /// Why it has ended, in a word; none while it has not.
    pub ended: Option<Box<str>>,
}

impl JobDetail {
    pub(super) fn parse(object: &Value) -> Self {
        let status = &object["status"];
        let mut conditions = status["conditions"].as_array().into_iter().flatten();
        let ended = conditions.find(|condition| {
            condition["status"] == "True"
                && matches!(condition["type"].as_str(), Some("Complete" | "Failed"))
        });
        let word = |condition: &Value| {
            let reason = condition["reason"].as_str().filter(|reason| !reason.is_empty());
            reason.or(condition["type"].as_str()).unwrap_or_default().into()
        };
        Self {
            created: seconds(&object["metadata"]["creationTimestamp"]).unwrap_or(0),
            active: status["active"].as_i64().unwrap_or(0),
            ended: ended.map(word),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_job_has_ended_once_a_condition_says_so() {
        let job = |conditions: Value| {
            JobDetail::parse(&json!({
                "metadata": {"creationTimestamp": "1970-01-01T00:01:00Z"},
                "status": {"active": 1, "conditions": conditions},
            }))
        };
        assert_eq!(job(json!([])), JobDetail { created: 60, active: 1, ended: None });
        let failed = json!([{"type": "Failed", "status": "True", "reason": "DeadlineExceeded"}]);
        assert_eq!(job(failed).ended.as_deref(), Some("DeadlineExceeded"));
        let early = json!([{"type": "SuccessCriteriaMet", "status": "True"}]);
        assert_eq!(job(early).ended, None, "its pod may still be ending");
    }
}
