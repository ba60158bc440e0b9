//! One resource of a file: migrated, validated before and after, and what there is to say about it in
//! the fields and lines of the file.

use std::fmt::Write;

use llsd_api::GROUP;
use llsd_api::conversion::Version;
use llsd_plan::facts::{Facts, ImageFacts};
use llsd_plan::migrate::{
    DecisionKind, FieldDecision, Migrated, Move, OgxTarget, lift, migrate_to, migrate_with,
};
use llsd_plan::plan::{self, parse_and_plan};
use llsd_plan::problems::{FieldPath, Findings, Problem, Segment};
use llsd_plan::validate::validate;
use llsd_yaml::{Position, Tree};
use serde_json::Value;

use crate::examined::Said;
use crate::finding::Finding;
use crate::report::counted;
use crate::resource::{Resource, Summary};

#[derive(Debug)]
pub(super) struct Migration {
    /// The new object; nothing where the old one stays.
    pub(super) object: Option<Value>,
    pub(super) moves: Vec<Move>,
    pub(super) summary: Summary,
    decisions: Vec<Counted>,
}

/// A decision with its place in the file.
#[derive(Debug)]
struct Counted {
    at: Position,
    decision: FieldDecision,
    /// How many fields or variables it is about.
    count: usize,
}

impl Counted {
    fn new(decision: FieldDecision, tree: &Tree) -> Self {
        let is_one = matches!(decision.path.segments().last(), Some(Segment::Index(_)));
        let count = match decision.kind {
            // All variables of a list at once.
            DecisionKind::Left if !is_one => entries(tree, &decision.path),
            // What becomes of the server because variables were turned.
            DecisionKind::Turned if !is_one => 0,
            _ => 1,
        };
        Self { at: tree.position(&decision.path), decision, count }
    }
}

/// How many entries a list of the file has.
fn entries(tree: &Tree, path: &FieldPath) -> usize {
    let list = path.segments().iter().try_fold(tree, |tree, segment| match segment {
        Segment::Key(key) => tree.get(key),
        Segment::Index(index) => tree.items()?.get(*index),
    });
    list.and_then(Tree::items).map_or(1, <[Tree]>::len)
}

impl Migration {
    pub(super) fn migrate(resource: &Resource, facts: &Facts, to: Option<OgxTarget>) -> Self {
        let source = resource.to_json();
        let mut findings = Findings::default();
        let mut migrated = Migrated { object: source, decisions: Vec::new(), moves: Vec::new() };
        if let Some(version) = resource.version {
            if version == Version::V1Alpha1 {
                findings = validate(&lift(&migrated.object).rest);
            }
            if findings.problems.is_empty() {
                migrated = match to {
                    Some(target) => migrate_to(&migrated.object, facts, target),
                    None => migrate_with(&migrated.object, facts),
                };
                let found = check(&migrated.object, facts, to);
                findings.extend(in_fields_of_the_source(found, &migrated, version));
            }
            regrouped(resource, &mut migrated);
        }
        let said = Said::in_problems(&findings.problems);
        findings.warnings.retain(|warning| !said.covers(warning));
        findings.sort();
        Self::new(resource, migrated, findings)
    }

    fn new(resource: &Resource, migrated: Migrated, findings: Findings) -> Self {
        let located = |found: Vec<Problem>| {
            found.into_iter().map(|problem| Finding::locate(problem, &resource.tree))
        };
        let mut summary = resource.summary.clone();
        summary.problems.extend(located(findings.problems));
        summary.warnings = located(findings.warnings).collect();
        let decisions = migrated.decisions.into_iter();
        let decisions = decisions.map(|decision| Counted::new(decision, &resource.tree)).collect();
        let changed = migrated.object != resource.tree.to_json();
        let object = changed.then_some(migrated.object);
        Self { object, moves: migrated.moves, summary, decisions }
    }
}

/// The result of `llsd validate`; what only a cluster or a registry knows is not asked.
fn check(object: &Value, facts: &Facts, to: Option<OgxTarget>) -> Findings {
    let mut findings = validate(object);
    let mut facts = facts.clone();
    if let Some(target) = to {
        // The facts are of the image before. A name says itself which release it stands for.
        let is_image = object.pointer("/spec/distribution/image").is_some();
        let release = is_image.then(|| target.release().to_owned());
        facts.image = ImageFacts { release, ..ImageFacts::default() };
    }
    match parse_and_plan(object, &facts) {
        plan::Planning::Planned(plan) => findings.warnings.extend(plan.warnings),
        plan::Planning::Refused(found) => findings.extend(found),
        plan::Planning::Unavailable { warnings, .. } => findings.warnings.extend(warnings),
    }
    findings
}

/// Findings on the new object in the fields of the file.
fn in_fields_of_the_source(findings: Findings, migrated: &Migrated, version: Version) -> Findings {
    if version == Version::V1Alpha2 {
        return findings;
    }
    let own = |problem: Problem| Problem { path: migrated.source_of(&problem.path), ..problem };
    Findings {
        problems: findings.problems.into_iter().map(own).collect(),
        warnings: findings.warnings.into_iter().map(own).collect(),
    }
}

/// A resource of a group that no API server has comes into the one that it has.
fn regrouped(resource: &Resource, migrated: &mut Migrated) {
    let group = resource.summary.api_version.split_once('/').map_or("", |(group, _)| group);
    if group != GROUP {
        let path = FieldPath::root().key("apiVersion");
        let message = format!("the group {group} → {GROUP}, which API servers have");
        migrated.decisions.insert(0, FieldDecision { path, kind: DecisionKind::Moved, message });
    }
}

/// Every decision at its line, and a line that counts.
pub(super) fn summary(migrations: &[Migration]) -> String {
    let several = migrations.len() > 1;
    let mut text = String::new();
    for migration in migrations {
        let mut decisions: Vec<_> = migration.decisions.iter().collect();
        decisions.sort_by_key(|counted| counted.at);
        for Counted { at: Position { line, column }, decision, .. } in decisions {
            let FieldDecision { path, kind, message } = decision;
            let title =
                if several { format!("{}: ", migration.summary.title()) } else { String::new() };
            let file = &migration.summary.file;
            let word = kind.word();
            let _ = writeln!(text, "{file}:{line}:{column}: {word}: {title}{path}: {message}");
        }
    }
    let changed = migrations.iter().filter(|migration| migration.object.is_some()).count();
    let resources = counted(migrations.len(), "resource");
    let _ = write!(text, "{changed} of {resources} migrated");
    let of = |kind: DecisionKind| -> usize {
        let all = migrations.iter().flat_map(|migration| &migration.decisions);
        all.filter(|one| one.decision.kind == kind).map(|one| one.count).sum()
    };
    let (moved, turned) = (of(DecisionKind::Moved), of(DecisionKind::Turned));
    let (fields, variables) = (counted(moved, "field"), counted(turned, "variable"));
    let left = of(DecisionKind::Left);
    let _ = write!(text, "; {fields} moved, {variables} turned, {left} left");
    for kind in [DecisionKind::Carried, DecisionKind::Dropped, DecisionKind::Changed] {
        if let count @ 1.. = of(kind) {
            let _ = write!(text, ", {count} {}", kind.word());
        }
    }
    text.push('\n');
    text
}
