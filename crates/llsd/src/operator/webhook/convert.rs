//! `/convert`: a `ConversionReview` over HTTP. What it says is decided in `llsd_api::conversion`.

use axum::http::StatusCode;
use llsd_api::conversion::review;

use super::server::Answer;
use crate::operator::telemetry::Call;

/// Converts a review. CPU work of up to a second for a full page of large objects.
pub(super) fn answer(body: &[u8]) -> Answer {
    match review::answer(body) {
        Ok(answer) => Answer { status: StatusCode::OK, body: answer, call: Call::Answered },
        Err(refused) => Answer::no_review(&refused.to_string()),
    }
}
