//! Admission: decides about resources as they are written, warns known callers of what they refer to and
//! does not exist, and decides about the operator's own ConfigMap.

mod existence;

use axum::http::StatusCode;
use llsd_api::review::NoReview;
use llsd_plan::admission::{self, AdmissionRequest, Subject, decide};
use llsd_plan::problems::Findings;

use super::Webhooks;
use super::answer::JsonAnswer;
use super::callers::Caller;
use crate::operator::telemetry::{Call, Look};

/// About a resource.
pub(super) async fn resource(body: &[u8], webhooks: &Webhooks, caller: Caller) -> JsonAnswer {
    let request = match AdmissionRequest::parse(body) {
        Ok(request) => request,
        Err(why) => return no_review(&why),
    };
    let decision = decide(&request, &(webhooks.distributions)());
    let mut findings = decision.findings;
    if let (Some(lookups), Some(resource)) = (&webhooks.lookups, decision.accepted) {
        let room = lookups.room(caller);
        webhooks.metrics.webhook_lookup(room.as_ref().map_or_else(|why| *why, |_| Look::Made));
        if room.is_ok() {
            let missing = existence::warnings(&lookups.client, &request.namespace, resource).await;
            findings.warnings.extend(missing);
        }
    }
    answer(&request.uid, Subject::resource(&request.name), &findings)
}

/// About the operator's ConfigMap.
pub(super) fn configuration(body: &[u8]) -> JsonAnswer {
    let request = match AdmissionRequest::parse(body) {
        Ok(request) => request,
        Err(why) => return no_review(&why),
    };
    let findings = llsd_settings::admission::decide(&request);
    answer(&request.uid, Subject { group: "", kind: "ConfigMap", name: &request.name }, &findings)
}

fn no_review(why: &NoReview) -> JsonAnswer {
    JsonAnswer::no_review(&why.to_string())
}

fn answer(uid: &str, subject: Subject<'_>, findings: &Findings) -> JsonAnswer {
    let call = if findings.problems.is_empty() { Call::Answered } else { Call::Refused };
    let answer = admission::answer(uid, subject, findings);
    JsonAnswer { status: StatusCode::OK, body: answer.to_string().into_bytes(), call }
}
