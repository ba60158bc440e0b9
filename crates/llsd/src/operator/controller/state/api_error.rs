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
        kube::Error::Api(status) if is_denial(&status.message) => Refused::Denied,
        kube::Error::Api(status) if matches!(status.code, 400 | 422) => Refused::Invalid,
        _ => Refused::Unavailable,
    };
    WriteFailure { object, message: safe_message(error), refused }
}

/// Whether a webhook or an admission policy speaks, whatever code it chose: a webhook that names none is
/// answered with 400, and a policy with 422. The words are the API server's own.
fn is_denial(message: &str) -> bool {
    message.contains("denied the request") || message.contains("denied request")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_denial_of_the_cluster_is_known_by_the_words_of_the_api_server() {
        for message in [
            r#"admission webhook "quota.example.com" denied the request: too many"#,
            r#"admission webhook "quota.example.com" denied the request without explanation"#,
            "deployments.apps \"llama\" is forbidden: ValidatingAdmissionPolicy 'limits' with binding \
             'limits' denied request: no",
        ] {
            assert!(is_denial(message), "{message}");
        }
        assert!(!is_denial(
            "Deployment.apps \"llama\" is invalid: spec.replicas: Invalid value: -1"
        ));
    }
}
