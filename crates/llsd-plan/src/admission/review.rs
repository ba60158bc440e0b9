//! An `AdmissionReview` as bytes: what is read of it, and how it is answered. Nothing is read into
//! types of ours, because what they cannot read has to be decided about as well.

use llsd_api::review::{self, NoReview};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::headers::headers;
use crate::problems::{Findings, Problem, Reason};

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// More than anybody reads; an answer must not grow beyond measure.
const CAUSES: usize = 100;

/// What a request says that is of interest here.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct AdmissionRequest<'b> {
    pub uid: String,
    #[serde(default)]
    pub operation: String,
    #[serde(default)]
    pub sub_resource: String,
    #[serde(default)]
    pub namespace: String,
    #[serde(default)]
    pub name: String,
    #[serde(borrow, default)]
    pub object: Option<&'b RawValue>,
    #[serde(borrow, default)]
    pub old_object: Option<&'b RawValue>,
}

impl<'b> AdmissionRequest<'b> {
    pub fn parse(body: &'b [u8]) -> Result<Self, NoReview> {
        review::request(body, API_VERSION, KIND)
    }
}

/// What a review is about, as the answer names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Subject<'a> {
    pub group: &'a str,
    pub kind: &'a str,
    pub name: &'a str,
}

impl<'a> Subject<'a> {
    /// A resource of ours.
    pub fn resource(name: &'a str) -> Self {
        Self { group: llsd_api::GROUP, kind: llsd_api::KIND, name }
    }
}

/// The answer to the request of that uid. Any problem refuses.
pub fn answer(uid: &str, subject: Subject<'_>, findings: &Findings) -> Value {
    let mut response = json!({"uid": uid, "allowed": findings.problems.is_empty()});
    if !findings.problems.is_empty() {
        response["status"] = refusal(subject, &findings.problems);
    }
    if !findings.warnings.is_empty() {
        response["warnings"] = json!(headers(&findings.warnings));
    }
    json!({"apiVersion": API_VERSION, "kind": KIND, "response": response})
}

/// In the form in which the API server itself reports invalid fields. kubectl prints the causes one by one, and
/// programs that know no causes have all of them in the message.
fn refusal(Subject { group, kind, name }: Subject<'_>, problems: &[Problem]) -> Value {
    let (mut lines, mut causes) = (Vec::new(), Vec::new());
    for problem in problems.iter().take(CAUSES) {
        let (field, message) = (problem.path.to_string(), with_remedy(problem));
        lines.push(format!("{field}: {message}"));
        let reason = cause(problem.reason);
        causes.push(json!({"reason": reason, "message": message, "field": field}));
    }
    if problems.len() > CAUSES {
        let more = format!("{} more problems", problems.len() - CAUSES);
        lines.push(more.clone());
        causes.push(json!({"reason": cause(Reason::Invalid), "message": more}));
    }
    json!({
        "status": "Failure",
        "code": 422,
        "reason": "Invalid",
        "message": lines.join("; "),
        "details": {"name": name, "group": group, "kind": kind, "causes": causes},
    })
}

fn with_remedy(problem: &Problem) -> String {
    format!("{}; {}", problem.message, problem.remedy)
}

/// The API server's own word for it.
fn cause(reason: Reason) -> &'static str {
    match reason {
        Reason::Required => "FieldValueRequired",
        Reason::WrongType => "FieldValueTypeInvalid",
        Reason::Duplicate => "FieldValueDuplicate",
        Reason::UnknownField | Reason::Conflict => "FieldValueForbidden",
        Reason::NotFound => "FieldValueNotFound",
        Reason::LimitExceeded => "FieldValueTooMany",
        _ => "FieldValueInvalid",
    }
}
