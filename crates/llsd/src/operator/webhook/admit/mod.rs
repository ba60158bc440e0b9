//! `/validate`: decides about resources as they are written, and warns of what they refer to and
//! does not exist.

mod existence;

use axum::http::StatusCode;
use llsd_plan::admission::{self, Request, decide};

use super::Webhooks;
use super::answer::Answer;
use crate::operator::telemetry::Call;

pub(super) async fn answer(body: &[u8], webhooks: &Webhooks) -> Answer {
    let request = match Request::read(body) {
        Ok(request) => request,
        Err(why) => return Answer::no_review(&why.to_string()),
    };
    let decision = decide(&request, &(webhooks.distributions)());
    let mut findings = decision.findings;
    if let (Some(client), Some(resource)) = (&webhooks.client, decision.accepted) {
        findings.warnings.extend(existence::warnings(client, &request.namespace, resource).await);
    }
    let call = if findings.problems.is_empty() { Call::Answered } else { Call::Refused };
    let answer = admission::answer(&request.uid, &request.name, &findings);
    Answer { status: StatusCode::OK, body: answer.to_string().into_bytes(), call }
}
