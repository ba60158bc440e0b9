//! `/validate`: judges resources as they are written, by the same rules as `llsd validate`.
//!
//! # When something is refused
//! - A new resource, for any problem.
//! - A changed resource, for problems that the old one did not have. What was wrong before is only
//!   warned of, so that it can be mended step by step.
//! - Nothing else: not a change that leaves the spec as it is (labels, annotations, finalizers,
//!   owners), not a resource that is being deleted, not its status, not its deletion.
//!
//! Nothing is changed here, so a dry run is judged like any other request.

mod existence;
mod judge;
mod mentioned;
mod remarks;
mod review;
mod shown;

use axum::http::StatusCode;

use super::Webhooks;
use super::server::Answer;
use crate::operator::telemetry::Call;
use judge::judge;
use review::Request;

pub(super) async fn answer(body: &[u8], webhooks: &Webhooks) -> Answer {
    let request = match Request::read(body) {
        Ok(request) => request,
        Err(why) => return Answer::no_review(&why.to_string()),
    };
    let judgement = judge(&request, &(webhooks.distributions)());
    let mut findings = judgement.findings;
    if let (Some(client), Some(resource)) = (&webhooks.client, judgement.accepted) {
        findings.warnings.extend(existence::look(client, &request.namespace, resource).await);
    }
    let call = if findings.problems.is_empty() { Call::Answered } else { Call::Refused };
    let answer = review::answer(&request.uid, &request.name, &findings);
    Answer { status: StatusCode::OK, body: answer.to_string().into_bytes(), call }
}
