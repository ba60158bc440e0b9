//! The change of a text that a remedy asks for, where no person has to decide anything: a misspelt
//! name, a line to write, a field to remove. A change is only offered after it was tried.

use std::ops::Range;

use llsd_plan::problems::suggest::meant;
use llsd_plan::problems::{FieldPath, Reason, Segment};
use llsd_yaml::rewrite::rewrite;
use llsd_yaml::{Position, documents};
use serde_json::Value;

use crate::finding::Finding;
use crate::report::Report;

/// One part of a text and what comes into its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// What it does, for a button.
    pub label: String,
    /// In bytes.
    pub range: Range<usize>,
    pub inserted: String,
}

impl Change {
    pub fn apply(&self, text: &str) -> String {
        format!("{}{}{}", &text[..self.range.start], self.inserted, &text[self.range.end..])
    }

    fn between(old: &str, new: &str, label: String) -> Option<Self> {
        let same = |(left, right): &((usize, char), (usize, char))| left.1 == right.1;
        let head = old.char_indices().zip(new.char_indices()).take_while(same);
        let head: usize = head.map(|((_, c), _)| c.len_utf8()).sum();
        let tail = old[head..].chars().rev().zip(new[head..].chars().rev());
        let tail: usize =
            tail.take_while(|(left, right)| left == right).map(|(c, _)| c.len_utf8()).sum();
        let inserted = new[head..new.len() - tail].to_owned();
        (old != new).then(|| Self { label, range: head..old.len() - tail, inserted })
    }
}

/// A change, and the fields that must be without a finding once it is made.
struct Proposal {
    change: Change,
    fields: Vec<FieldPath>,
}

/// The change that ends a finding of the text's document of this number. `check` is asked whether
/// it does: it may uncover what the finding hid, but its own fields must be sound.
pub fn healing(
    text: &str,
    document: usize,
    finding: &Finding,
    check: impl Fn(&str) -> Report,
) -> Option<Change> {
    let proposal = renamed(text, finding)
        .or_else(|| written(text, finding))
        .or_else(|| removed(text, document, finding))?;
    let before = documents(text).len();
    let after = proposal.change.apply(text);
    let found = check(&after);
    let sound = |at: &FieldPath| !found.all().any(|other| other.problem.path == *at);
    let healed = documents(&after).len() == before
        && !found.resources.is_empty()
        && proposal.fields.iter().all(sound);
    healed.then_some(proposal.change)
}

/// `did you mean NAME?`
fn renamed(text: &str, finding: &Finding) -> Option<Proposal> {
    let problem = &finding.problem;
    let meant = meant(&problem.remedy).or_else(|| meant(&problem.message))?;
    let range = word_at(text, finding.at)?;
    let label = format!("Replace {} by {meant}", &text[range.clone()]);
    let mut fields = vec![problem.path.clone()];
    if problem.reason == Reason::UnknownField {
        fields.extend(problem.path.parent().map(|parent| parent.key(meant)));
    }
    Some(Proposal { change: Change { label, range, inserted: meant.to_owned() }, fields })
}

/// ``write `KEY: VALUE` ``
fn written(text: &str, finding: &Finding) -> Option<Proposal> {
    let problem = &finding.problem;
    let line = problem.remedy.strip_prefix("write `")?.strip_suffix('`')?;
    let (key, value) = line.split_once(": ")?;
    if problem.path.segments() != [Segment::Key(key.to_owned())] {
        return None;
    }
    let start = offset(text, finding.at)?;
    let line_start = text[..start].rfind('\n').map_or(0, |end| end + 1);
    let is_there = text[line_start..start].trim_end() == format!("{key}:");
    let (range, inserted) = if is_there {
        (word_at(text, finding.at)?, value.to_owned())
    } else {
        (line_start..line_start, format!("{line}\n"))
    };
    let label = format!("Write {line}");
    Some(Proposal { change: Change { label, range, inserted }, fields: vec![problem.path.clone()] })
}

/// `remove it`
fn removed(text: &str, document: usize, finding: &Finding) -> Option<Proposal> {
    let path = &finding.problem.path;
    let last = path.segments().last().filter(|_| finding.problem.remedy.contains("remove it"))?;
    let mut readable = documents(text).into_iter().filter(|found| found.content.is_ok());
    let without = rewrite(text, |value| {
        if readable.next().is_some_and(|found| found.number == document) {
            remove(value, path);
        }
        Vec::new()
    });
    let label = match last {
        Segment::Key(key) => format!("Remove {key}"),
        Segment::Index(_) => "Remove this entry".to_owned(),
    };
    let change = Change::between(text, &without, label)?;
    Some(Proposal { change, fields: vec![path.clone()] })
}

fn remove(value: &mut Value, path: &FieldPath) {
    let Some((last, above)) = path.segments().split_last() else { return };
    let holder = above.iter().try_fold(value, |value, segment| match segment {
        Segment::Key(key) => value.get_mut(key),
        Segment::Index(index) => value.get_mut(index),
    });
    match (holder, last) {
        (Some(Value::Object(fields)), Segment::Key(key)) => {
            fields.shift_remove(key);
        }
        (Some(Value::Array(items)), Segment::Index(index)) if *index < items.len() => {
            items.remove(*index);
        }
        _ => {}
    }
}

/// The byte at which a place of the text begins.
fn offset(text: &str, at: Position) -> Option<usize> {
    let line: usize = text.split_inclusive('\n').take(at.line - 1).map(str::len).sum();
    let rest = &text[line..];
    let column = rest.char_indices().nth(at.column - 1).map(|(index, _)| index);
    let column =
        column.or_else(|| (rest.chars().count() == at.column - 1).then_some(rest.len()))?;
    Some(line + column)
}

/// The key or value that begins there, without quotes.
fn word_at(text: &str, at: Position) -> Option<Range<usize>> {
    let start = offset(text, at)?;
    let rest = &text[start..];
    if let Some(quote) = rest.chars().next().filter(|c| matches!(c, '"' | '\'')) {
        let length = rest[1..].find(quote)?;
        return Some(start + 1..start + 1 + length);
    }
    let ends = |(index, c): (usize, char)| {
        let key_ends = || rest[index + 1..].chars().next().is_none_or(char::is_whitespace);
        c.is_whitespace() || matches!(c, ',' | '}' | ']') || (c == ':' && key_ends())
    };
    let length = rest.char_indices().find(|place| ends(*place)).map_or(rest.len(), |(end, _)| end);
    (length > 0).then(|| start..start + length)
}
