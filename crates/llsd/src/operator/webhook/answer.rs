//! What the webhooks send back, and as what it counts.

use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::body::Unread;
use crate::operator::telemetry::Call;

/// An answer of JSON.
#[derive(Debug)]
pub(super) struct JsonAnswer {
    pub(super) status: StatusCode,
    pub(super) body: Vec<u8>,
    pub(super) call: Call,
}

impl JsonAnswer {
    /// For what is no review: there is no uid to answer to.
    pub(super) fn no_review(message: &str) -> Self {
        Self::plain(StatusCode::BAD_REQUEST, message, Call::NoReview)
    }

    pub(super) fn unread(why: Unread) -> Self {
        let status = match why {
            Unread::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Unread::Broken => StatusCode::BAD_REQUEST,
            Unread::Slow => StatusCode::REQUEST_TIMEOUT,
            Unread::Busy => StatusCode::SERVICE_UNAVAILABLE,
        };
        let call = if why == Unread::Busy { Call::Late } else { Call::NoReview };
        Self::plain(status, &why.to_string(), call)
    }

    pub(super) fn busy() -> Self {
        let message = "there was no time to answer; try again";
        Self::plain(StatusCode::SERVICE_UNAVAILABLE, message, Call::Late)
    }

    pub(super) fn plain(status: StatusCode, message: &str, call: Call) -> Self {
        let body = json!({
            "apiVersion": "v1", "kind": "Status", "status": "Failure",
            "message": message, "code": status.as_u16(),
        });
        Self { status, body: body.to_string().into_bytes(), call }
    }
}

impl IntoResponse for JsonAnswer {
    fn into_response(self) -> Response {
        (self.status, [(CONTENT_TYPE, "application/json")], self.body).into_response()
    }
}
