//! Where comments go whose field is gone: to the field that stands for it now.

use std::collections::{BTreeMap, BTreeSet};

use super::change::Change;
use crate::path::{FieldPath, Segment, value_at};

/// Comments at a field that is not the one they were written for.
#[derive(Clone, Debug, Default)]
pub(super) struct Extra {
    pub(super) above: Vec<String>,
    pub(super) behind: Option<String>,
}

/// What a document looks like once it is written.
pub(super) struct Written<'c> {
    pub(super) change: &'c Change<'c>,
    /// The fields and items in the order in which they were written, with where they came from.
    pub(super) fields: Vec<(FieldPath, Option<FieldPath>)>,
    /// The comments that have found their place, by index.
    pub(super) placed: BTreeSet<usize>,
}

impl Written<'_> {
    /// The comments that found no place, each at the field that its own became.
    pub(super) fn homes(&self) -> BTreeMap<FieldPath, Extra> {
        let layout = self.change.layout;
        let mut extras: BTreeMap<FieldPath, Extra> = BTreeMap::new();
        for (index, comment) in layout.comments.iter().enumerate() {
            if self.placed.contains(&index) {
                continue;
            }
            let words = layout.text[comment.range.clone()].to_owned();
            let (home, exact) = self.home(&comment.owner);
            let extra = extras.entry(home).or_default();
            if comment.trailing && exact && extra.behind.is_none() {
                extra.behind = Some(words);
            } else {
                extra.above.push(words);
            }
        }
        extras
    }

    /// The field that stands for a part of the source, and whether its line is the one that does.
    /// Of several, the first in the new document.
    fn home(&self, owner: &FieldPath) -> (FieldPath, bool) {
        let mut owner = owner.clone();
        loop {
            if let Some(target) = self.first(|from| *from == owner) {
                let inline = value_at(self.change.new, &target)
                    .is_some_and(|value| !value.is_object() && !value.is_array());
                return (target, inline);
            }
            if let Some(target) = self.first(|from| from.segments().starts_with(owner.segments())) {
                return (target, false);
            }
            match owner.parent() {
                Some(parent) if parent.segments().len() > 1 => owner = parent,
                _ => return (self.top_of_the_spec(), false),
            }
        }
    }

    /// The first written field that comes from such a part of the source.
    fn first(&self, from: impl Fn(&FieldPath) -> bool) -> Option<FieldPath> {
        let moved = self.change.moves.iter().filter(|step| from(&step.from));
        let moved = moved.filter_map(|step| self.nearest(&step.to));
        let kept = self.fields.iter().filter(|(_, source)| source.as_ref().is_some_and(&from));
        let place = |path: &FieldPath| self.fields.iter().position(|(other, _)| other == path);
        moved.chain(kept.map(|(path, _)| path.clone())).min_by_key(|path| place(path))
    }

    /// A written field, or the nearest one that holds it.
    fn nearest(&self, path: &FieldPath) -> Option<FieldPath> {
        let mut path = Some(path.clone());
        while let Some(candidate) = path.filter(|path| path.segments().len() > 1) {
            if self.fields.iter().any(|(written, _)| *written == candidate) {
                return Some(candidate);
            }
            path = candidate.parent();
        }
        None
    }

    fn top_of_the_spec(&self) -> FieldPath {
        let spec = Segment::Key("spec".to_owned());
        let paths = || self.fields.iter().map(|(path, _)| path);
        let below =
            paths().find(|path| path.parent().is_some_and(|p| p.segments().last() == Some(&spec)));
        below.or_else(|| paths().next()).cloned().unwrap_or_default()
    }
}
