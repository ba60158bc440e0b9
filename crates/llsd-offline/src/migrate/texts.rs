//! Every resource of the given texts migrated and checked, and the texts put together again. One
//! problem stops all output, because half of it could be taken for the whole.

use llsd_api::KIND;
use llsd_plan::migrate::{Move, OgxTarget};
use llsd_plan::problems::{FieldPath, Reason};
use llsd_yaml::rewrite::{join, rewrite};
use serde_json::Value;

use super::migration::{Migration, summary};
use crate::input::Input;
use crate::pick::read_all;
use crate::report::Report;
use crate::resource::Remark;
use crate::source::Source;

/// What became of the texts.
#[derive(Debug)]
pub struct Migrated {
    /// Nothing where the report refuses something.
    pub text: Option<String>,
    /// The files that have another text now: names and texts.
    pub changed: Vec<(String, String)>,
    /// Every decision at its line, and a line that counts.
    pub summary: String,
    pub report: Report,
}

/// Migrates what the sources hold. `known` are the facts and the remarks on the files that they are
/// from.
pub fn migrate(sources: &[Source], known: Input, to: Option<OgxTarget>) -> Migrated {
    let Input { files, remarks, facts, strict, .. } = known;
    let facts = facts.unwrap_or_default();
    let mut report = Report { files, remarks, strict, ..Report::default() };
    let (mut texts, mut changed) = (Vec::new(), Vec::new());
    let mut all = Vec::new();
    for (source, found) in sources.iter().zip(read_all(sources)) {
        report.files.push(source.name.clone());
        report.remarks.extend(found.remarks.into_iter().map(without_other_kinds));
        let migrations: Vec<Migration> = found
            .resources
            .iter()
            .map(|resource| Migration::migrate(resource, &facts, to))
            .collect();
        report.resources.extend(migrations.iter().map(|migration| migration.summary.clone()));
        if let Ok(text) = &source.text
            && !found.is_passed_over
            && report.problem_count() == 0
        {
            let new = rewritten(text, &migrations);
            if new != *text {
                changed.push((source.name.clone(), new.clone()));
            }
            texts.push(new);
        }
        all.extend(migrations);
    }
    let text = (!report.is_refused()).then(|| join(&texts));
    Migrated { text, changed, summary: summary(&all), report }
}

/// Other kinds pass untouched, which is what anybody expects here.
fn without_other_kinds(mut remark: Remark) -> Remark {
    remark.warnings.retain(|warning| warning.problem.reason != Reason::Ignored);
    remark
}

/// The text of a file with its resources migrated.
fn rewritten(text: &str, migrations: &[Migration]) -> String {
    let mut remaining = migrations.iter();
    rewrite(text, |document| {
        let mut moves = Vec::new();
        replace(document, &FieldPath::root(), &mut remaining, &mut moves);
        moves
    })
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
