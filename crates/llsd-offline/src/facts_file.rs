//! What the planner must know, as files: facts as YAML, and the configuration inside an image. A fact
//! that nobody knows is named with its line, because a misspelt one would otherwise count as one
//! that was not given.

use llsd_plan::facts::{BaseFacts, BaseSource, Facts};
use llsd_plan::problems::{FieldPath, Problem, Reason};
use llsd_yaml::document;
use llsd_yaml::{Position, Tree, documents};
use serde_path_to_error::Segment;

use crate::finding::Finding;

pub fn facts(text: &str) -> Result<Facts, Finding> {
    let mut documents = documents(text).into_iter();
    let tree = match documents.next().map(|document| document.content) {
        None => return Ok(Facts::default()),
        Some(Ok(tree)) => tree,
        Some(Err(fault)) => return Err(Finding::of_text(&fault)),
    };
    if let Some(more) = documents.next() {
        let at = more.content.map_or_else(|fault| fault.at, |tree| tree.at());
        return Err(wrong(FieldPath::root(), "facts are one document", at));
    }
    if !tree.is_map() {
        return Err(wrong(FieldPath::root(), "facts are a mapping", tree.at()));
    }
    if let Some(duplicate) = tree.duplicates().into_iter().next() {
        let message = format!("already set on line {}", duplicate.first.line);
        return Err(wrong(duplicate.path, &message, duplicate.at));
    }
    serde_path_to_error::deserialize(tree.to_json()).map_err(|error| misfit(&error, &tree))
}

fn misfit(error: &serde_path_to_error::Error<serde_json::Error>, tree: &Tree) -> Finding {
    let path = error.path().iter().fold(FieldPath::root(), |path, segment| match segment {
        Segment::Map { key } => path.key(key),
        Segment::Seq { index } => path.index(*index),
        Segment::Enum { variant } => path.key(variant),
        Segment::Unknown => path,
    });
    let message = error.inner().to_string();
    let unknown = message.starts_with("unknown field");
    let message = without_the_value(message);
    let problem = Problem {
        path,
        reason: if unknown { Reason::UnknownField } else { Reason::WrongType },
        message,
        remedy: REMEDY.to_owned(),
    };
    Finding::locate(problem, tree)
}

/// A message about a wrong type repeats the value, and somebody may have put a secret there.
fn without_the_value(message: String) -> String {
    match message.rsplit_once(", expected ") {
        Some((wrong, expected)) if wrong.starts_with("invalid ") => {
            let what = if expected.starts_with("struct ") { "a mapping" } else { expected };
            format!("must be {what}")
        }
        _ => message,
    }
}

const REMEDY: &str = "docs/configuration.md lists the facts and their form";

fn wrong(path: FieldPath, message: &str, at: Position) -> Finding {
    Finding::new(path, Reason::Invalid, message, REMEDY, at)
}

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
