//! A migrated resource: what it is now, what was decided on the way, and where each part of the source
//! stands.

use llsd_yaml::rewrite::Move;
use serde_json::Value;

use crate::problems::{FieldPath, Segment};
use crate::validate::v1alpha1_path;

/// A v1alpha1 resource as v1alpha2, and all that was decided on the way.
#[derive(Clone, Debug)]
pub struct Migrated {
    pub object: Value,
    pub decisions: Vec<FieldDecision>,
    /// Where each part of the source now stands; the most specific one counts. One part may stand
    /// in several places.
    pub moves: Vec<Move>,
}

/// What became of one field or variable of the source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldDecision {
    /// In the fields of the source.
    pub path: FieldPath,
    pub kind: DecisionKind,
    /// Without the path, and never with the value of a variable.
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum DecisionKind {
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

impl DecisionKind {
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

    pub(super) fn decide(
        &mut self,
        path: FieldPath,
        kind: DecisionKind,
        message: impl Into<String>,
    ) {
        self.decisions.push(FieldDecision { path, kind, message: message.into() });
    }

    pub(super) fn moved(&mut self, from: FieldPath, to: FieldPath) {
        self.moves.push(Move { from, to });
    }
}

/// A path from a JSON pointer without lists in it.
pub(super) fn field_path(pointer: &str) -> FieldPath {
    pointer.split('/').skip(1).fold(FieldPath::root(), |path, key| path.key(key))
}
