//! `llsd migrate -f`: every file read, every resource migrated and judged, and the texts put
//! together again. One problem stops all output, because half of it could be taken for the whole.

use std::path::{Path, PathBuf};

use llsd_api::KIND;
use llsd_plan::document::manifest;
use llsd_plan::migrate::{Move, Target};
use llsd_plan::problem::{FieldPath, Reason};
use serde_json::Value;

use super::layout::layout;
use super::outcome::{Migration, summary};
use super::rewrite::{Change, rewrite};
use crate::command::inputs::open;
use crate::command::{Exit, Printout};
use crate::input::{Remark, Source, contents, documents, parts};
use crate::report::Report;

pub(super) fn run(files: &[PathBuf], to: Option<Target>) -> Printout {
    if files.iter().filter(|file| *file == Path::new("-")).count() > 1 {
        return Printout::usage("`-` can be given once only");
    }
    let sources = match files.iter().map(|file| open(file)).collect::<Result<Vec<Source>, _>>() {
        Ok(sources) => sources,
        Err(message) => return Printout::usage(&message),
    };
    let mut report = Report::default();
    let mut texts = Vec::new();
    let mut all = Vec::new();
    for source in &sources {
        report.files.push(source.name.clone());
        let found = contents(source);
        report.remarks.extend(found.remarks.into_iter().map(without_other_kinds));
        let migrations: Vec<Migration> =
            found.resources.into_iter().map(|found| Migration::of(found, to)).collect();
        report.resources.extend(migrations.iter().map(|migration| migration.judged.clone()));
        if let Ok(text) = &source.text
            && report.problem_count() == 0
        {
            texts.push(rewritten(text, &migrations));
        }
        all.extend(migrations);
    }
    if report.problem_count() > 0 {
        let stderr = report.findings();
        return Printout { stdout: String::new(), stderr, exit: Exit::Problems };
    }
    let stderr = format!("{}{}", summary(&all), report.findings());
    Printout { stdout: joined(&texts), stderr, exit: Exit::Fine }
}

/// Other kinds pass untouched, which is what anybody expects here.
fn without_other_kinds(mut remark: Remark) -> Remark {
    remark.warnings.retain(|warning| warning.problem.reason != Reason::Ignored);
    remark
}

/// The text of a file with its resources migrated; what did not change stays byte for byte.
fn rewritten(text: &str, migrations: &[Migration]) -> String {
    let parts = parts(text);
    let mut remaining = migrations.iter();
    let mut changed = Vec::new();
    for document in documents(text) {
        let Ok(tree) = document.content else { continue };
        let old = tree.to_json();
        let mut new = old.clone();
        let mut moves = Vec::new();
        replace(&mut new, &FieldPath::root(), &mut remaining, &mut moves);
        let range = parts.ranges.get(document.number - 1).cloned();
        if let Some(range) = range.filter(|_| old != new) {
            changed.push((
                range.clone(),
                rewritten_part(&text[range], &old, &new, &moves, parts.json),
            ));
        }
    }
    if changed.is_empty() {
        return text.to_owned();
    }
    let mut texts = Vec::new();
    for range in &parts.ranges {
        let new = changed.iter().find(|(of, _)| of == range).map(|(_, text)| text.clone());
        texts.push(new.unwrap_or_else(|| text[range.clone()].to_owned()));
    }
    if parts.json { joined(&texts) } else { texts.concat() }
}

/// Puts the migrated objects in the place of the old ones, also inside lists.
fn replace<'m>(
    value: &mut Value,
    path: &FieldPath,
    remaining: &mut impl Iterator<Item = &'m Migration>,
    moves: &mut Vec<Move>,
) {
    let kind = value.get("kind").and_then(Value::as_str).unwrap_or_default();
    if kind == KIND {
        let Some(migration) = remaining.next() else { return };
        let steps = migration.moves.iter();
        moves.extend(
            steps.map(|step| Move { from: step.from.below(path), to: step.to.below(path) }),
        );
        if let Some(object) = &migration.object {
            *value = object.clone();
        }
    } else if kind == "List" || kind.strip_suffix("List") == Some(KIND) {
        let of_ours = kind != "List";
        if of_ours && let Some(version) = value.get_mut("apiVersion") {
            *version = Value::from("llamastack.io/v1alpha2");
        }
        let items = value.get_mut("items").and_then(Value::as_array_mut);
        for (index, item) in items.into_iter().flatten().enumerate() {
            replace(item, &path.key("items").index(index), remaining, moves);
        }
    }
}

fn rewritten_part(text: &str, old: &Value, new: &Value, moves: &[Move], json: bool) -> String {
    if json {
        return manifest(new);
    }
    if let Some(layout) = layout(text) {
        return rewrite(&Change { layout: &layout, old, new, moves });
    }
    // Brackets from the first line on: only comments are worth keeping of the form.
    let mut kept: Vec<&str> = text
        .lines()
        .filter(|line| line.trim_start().starts_with('#') || line.starts_with("---"))
        .collect();
    let manifest = manifest(new);
    kept.push(&manifest);
    kept.join("\n")
}

/// Texts as one, with separators where they have none of their own.
fn joined(texts: &[String]) -> String {
    let mut out = String::new();
    for text in texts {
        if !out.is_empty() {
            if !out.ends_with('\n') {
                out.push('\n');
            }
            if !text.starts_with("---") {
                out.push_str("---\n");
            }
        }
        out.push_str(text.trim_start_matches('\n'));
    }
    out
}
