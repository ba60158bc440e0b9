//! What may be shown of a failed request. An answer that could not be understood may quote what was in
//! it, a Secret's value among others, so of those only the kind is shown.

/// The error in words that are safe in a log, a status or an event.
pub fn safe_message(error: &kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message.clone(),
        kube::Error::SerdeError(_) | kube::Error::FromUtf8(_) => {
            "the API server's answer cannot be understood".to_owned()
        }
        other => other.to_string(),
    }
}
