//! A request to the API server within a time of its own, for what must not wait: the Lease, and the
//! certificates of the webhooks.

use std::time::Duration;

use thiserror::Error;
use tokio::time::timeout;

/// Why a request had no effect that we know of.
#[derive(Debug, Error)]
pub(super) enum RequestError {
    #[error("somebody else has just changed it")]
    Stale,
    #[error("no answer within {0:?}")]
    NoAnswer(Duration),
    #[error("{0}")]
    Failed(#[source] Box<kube::Error>),
}

pub(super) async fn bounded<T>(
    patience: Duration,
    request: impl Future<Output = kube::Result<T>>,
) -> Result<T, RequestError> {
    match timeout(patience, request).await {
        Ok(answer) => answer.map_err(|error| RequestError::Failed(Box::new(error))),
        Err(_) => Err(RequestError::NoAnswer(patience)),
    }
}

impl RequestError {
    /// Where the API server's code says that the object is no longer what was read.
    pub(super) fn or_stale(self, codes: &[u16]) -> Self {
        match &self {
            Self::Failed(error) => match &**error {
                kube::Error::Api(status) if codes.contains(&status.code) => Self::Stale,
                _ => self,
            },
            _ => self,
        }
    }
}
