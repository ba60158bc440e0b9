//! From v1alpha1 to v1alpha2 as a person would write it: what `llsd migrate -f` does to one
//! resource. Pure; texts, comments and files are the command's.
//!
//! It starts from the conversion that the API server asks for, so nothing is lost, and goes on where
//! that must not: fields that nobody set go, the annotation goes where nothing in it means anything,
//! and variables of the distribution's configuration become providers, models and shields.

mod choice;
mod draft;
mod ogx;
mod providers;
mod resources;
mod tidy;
mod turning;
mod uses;
mod variables;

use llsd_api::conversion::{self, Version};
pub use llsd_yaml::rewrite::Move;
pub use llsd_yaml::value_at;
use serde_json::Value;

use crate::facts::Facts;
use crate::plan;
use crate::problem::{FieldPath, Findings, Segment};
use crate::validate::{v1alpha1_path, validate};

/// A v1alpha1 resource as v1alpha2, and all that was decided on the way.
#[derive(Clone, Debug)]
pub struct Migrated {
    pub object: Value,
    pub decisions: Vec<Decision>,
    /// Where each part of the source now stands; the most specific one counts. One part may stand
    /// in several places.
    pub moves: Vec<Move>,
}

/// What became of one field or variable of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// In the fields of the source.
    pub path: FieldPath,
    pub kind: Kind,
    /// Without the path, and never with the value of a variable.
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// The same field under another name.
    Moved,
    /// A variable that is now a provider, a model or a shield.
    Turned,
    /// A variable that stays one.
    Left,
    /// Something without a place in v1alpha2 that the annotation goes on carrying.
    Carried,
    /// Something that meant nothing, or that the server to come does not have.
    Dropped,
    /// Something that is called otherwise by the server to come.
    Changed,
}

impl Kind {
    pub fn word(self) -> &'static str {
        match self {
            Self::Moved => "moved",
            Self::Turned => "turned",
            Self::Left => "left",
            Self::Carried => "carried",
            Self::Dropped => "dropped",
            Self::Changed => "changed",
        }
    }
}

/// The v1alpha1 part of a draft, and where its other fields belong; nothing for a resource that
/// uses only what v1alpha1 has. What is wrong with such a resource is told by validation.
pub use draft::{Lifted, lift};

pub use ogx::{Target, migrate_to};

/// Migrates a v1alpha1 resource that validation accepts.
pub fn migrate(source: &Value) -> Migrated {
    if Version::of(source) != Some(Version::V1Alpha1) {
        return Migrated { object: source.clone(), decisions: Vec::new(), moves: Vec::new() };
    }
    let Lifted { rest, parts } = lift(source);
    let mut plain =
        Migrated { object: conversion::up(rest.clone()), decisions: Vec::new(), moves: Vec::new() };
    draft::put(&mut plain, parts);
    tidy::tidy(&mut plain, &rest);
    let mut turned = plain.clone();
    turning::turn(&mut turned);
    if turned.object == plain.object {
        return finished(turned);
    }
    match refusal(&turned.object) {
        // What cannot be planned either way is for the caller to tell.
        Some(_) if refusal(&plain.object).is_some() => finished(plain),
        Some(why) => {
            turning::leave_all(&mut plain, &why);
            finished(plain)
        }
        None => finished(turned),
    }
}

fn finished(mut migrated: Migrated) -> Migrated {
    tidy::order(&mut migrated.object);
    let Migrated { object, moves, .. } = &mut migrated;
    moves.retain(|step| value_at(object, &step.to).is_some());
    migrated.decisions.sort_by(|left, right| left.path.cmp(&right.path));
    migrated
}

/// Why the operator would not take the resource, if it would not.
fn refusal(object: &Value) -> Option<String> {
    let first = |findings: &Findings| {
        findings.problems.first().map(|problem| format!("{}: {}", problem.path, problem.message))
    };
    first(&validate(object)).or_else(|| match plan::parse_and_plan(object, &Facts::default()) {
        plan::Planning::Refused(findings) => first(&findings),
        _ => None,
    })
}

impl Migrated {
    /// The field of a v1alpha1 source that stands behind one of the new object: by the closest field
    /// around it that moved, else as the versions are converted.
    pub fn source_of(&self, path: &FieldPath) -> FieldPath {
        let mut holder = Some(path.clone());
        while let Some(candidate) = holder {
            if let Some(step) = self.moves.iter().find(|step| step.to == candidate) {
                let rest = &path.segments()[candidate.segments().len()..];
                return rest.iter().fold(step.from.clone(), |path, segment| match segment {
                    Segment::Key(key) => path.key(key),
                    Segment::Index(index) => path.index(*index),
                });
            }
            holder = candidate.parent();
        }
        v1alpha1_path(path)
    }

    fn decide(&mut self, path: FieldPath, kind: Kind, message: impl Into<String>) {
        self.decisions.push(Decision { path, kind, message: message.into() });
    }

    fn moved(&mut self, from: FieldPath, to: FieldPath) {
        self.moves.push(Move { from, to });
    }
}

/// A path from a JSON pointer without lists in it.
fn field_path(pointer: &str) -> FieldPath {
    pointer.split('/').skip(1).fold(FieldPath::root(), |path, key| path.key(key))
}
