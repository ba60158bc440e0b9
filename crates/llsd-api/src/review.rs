//! The head that every review of the API server has: which kind of review it is, and the request.

use serde::Deserialize;
use thiserror::Error;

/// Why a body is not the review that is answered here. The API server never sends such a thing.
#[derive(Debug, Error)]
pub enum NoReview {
    #[error("the body is no {expected}: {why}")]
    Unreadable { expected: &'static str, why: serde_json::Error },
    #[error("the body is {kind} of {api_version}, not {expected} of {expected_version}")]
    OtherKind {
        api_version: String,
        kind: String,
        expected: &'static str,
        expected_version: &'static str,
    },
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<R> {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    request: R,
}

/// The request of a review of this version and kind.
pub fn request<'b, R: Deserialize<'b>>(
    body: &'b [u8],
    expected_version: &'static str,
    expected: &'static str,
) -> Result<R, NoReview> {
    let Review { api_version, kind, request } =
        serde_json::from_slice(body).map_err(|why| NoReview::Unreadable { expected, why })?;
    if api_version != expected_version || kind != expected {
        return Err(NoReview::OtherKind { api_version, kind, expected, expected_version });
    }
    Ok(request)
}
