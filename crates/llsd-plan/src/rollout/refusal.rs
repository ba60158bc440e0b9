//! An object that is not as planned, and who is to blame.

use crate::live::LiveObject;
use crate::objects::{PlannedObject, start_program};

/// Why an object is not as planned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteFailure {
    /// As `Deployment my-llama`.
    pub object: String,
    pub message: String,
    pub refused: Refused,
}

/// Whose fault it is that an object was not written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// An object of that name belongs to somebody else.
    NotOurs,
    /// A shared object does not hold what its name says. A watch tells when that is over.
    OtherContent,
    /// The API server refused its content.
    Invalid,
    /// A webhook or an admission policy of the cluster denied it. Nobody tells when that is lifted, so it is
    /// tried again.
    Denied,
    /// The operator's roles do not allow it.
    Forbidden,
    /// The API server did not answer, or was in the way for now.
    Unavailable,
}

impl WriteFailure {
    pub fn not_ours(object: &PlannedObject) -> Self {
        if object.is_shared() {
            return Self::other_content(object);
        }
        let message = "exists and is not this resource's; it is left alone. Delete or rename it, or \
                       give the resource another name";
        Self::new(object, message, Refused::NotOurs)
    }

    /// Of a shared object that is verified by its content. What is planned in its place has none where the content is
    /// that of an earlier operator, and this one has not seen it.
    fn other_content(object: &PlannedObject) -> Self {
        let remedy = if object.name == start_program::name() {
            "Delete it, and the operator creates its own"
        } else if object.json.is_null() {
            "Give the server this operator's programs, with `llsd rollout approve`, and delete it then"
        } else {
            "Delete it, and the operator creates it as it was"
        };
        let message = format!(
            "does not hold the programs that its name stands for, or is not immutable; no server is started \
             with it, and it is left alone. {remedy}"
        );
        Self::new(object, &message, Refused::OtherContent)
    }

    pub fn not_known(object: &PlannedObject) -> Self {
        Self::new(object, "is there, and no watch has shown it", Refused::Unavailable)
    }

    pub fn is_going(object: &PlannedObject) -> Self {
        Self::new(object, "is being deleted", Refused::Unavailable)
    }

    /// Of an object that is not as it was when it was decided about.
    pub fn is_changed(live: &LiveObject) -> Self {
        Self {
            object: format!("{} {}", live.kind.name(), live.name),
            message: "was changed meanwhile, and is looked at again".to_owned(),
            refused: Refused::Unavailable,
        }
    }

    fn new(object: &PlannedObject, message: &str, refused: Refused) -> Self {
        Self { object: object.to_string(), message: message.to_owned(), refused }
    }
}
