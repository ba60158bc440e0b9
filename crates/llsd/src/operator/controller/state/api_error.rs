//! What may be shown of a failed request. An answer that could not be understood may quote what was in
//! it, a Secret's value among others, so of those only the kind is shown.

use llsd_plan::objects::ObjectKind;
use llsd_plan::rollout::{Refused, WriteFailure};

use crate::operator::controller::state::rights::Rights;

/// What became of an object that could not be written or deleted.
pub fn failure(rights: &Rights, kind: ObjectKind, name: &str, error: &kube::Error) -> WriteFailure {
    let object = format!("{} {name}", kind.name());
    if let Some(message) = rights.lacking(error) {
        return WriteFailure { object, message, refused: Refused::Forbidden };
    }
    let refused = match error {
        kube::Error::Api(status) if matches!(status.code, 400 | 422) => Refused::Invalid,
        _ => Refused::Unavailable,
    };
    WriteFailure { object, message: safe_message(error), refused }
}

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
