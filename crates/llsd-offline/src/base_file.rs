//! The configuration inside an image, given as a file.

use llsd_plan::document;
use llsd_plan::facts::{BaseFacts, BaseSource};
use llsd_plan::problem::{FieldPath, Reason};

use crate::finding::Finding;

/// A base is read once more when something is generated from it. Here only a text that no server
/// could read is found, at its own line, also where the file would be handed on unchanged.
pub fn base(name: &str, text: &str) -> Result<BaseFacts, Finding> {
    match document::read(text) {
        Ok(_) => Ok(BaseFacts {
            text: text.to_owned(),
            source: BaseSource::File,
            found_in: Some(name.to_owned()),
        }),
        Err(wrong) => Err(Finding::new(
            FieldPath::root(),
            Reason::UnsupportedBase,
            format!("the base configuration cannot be read: {}", wrong.message),
            "give the config.yaml or run.yaml of a Llama Stack image",
            wrong.at,
        )),
    }
}
