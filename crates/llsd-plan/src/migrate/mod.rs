//! From v1alpha1 to v1alpha2 as a person would write it: what `llsd migrate -f` does to one
//! resource. Pure; texts, comments and files are the command's.
//!
//! It starts from the conversion that the API server asks for, so nothing is lost, and goes on where
//! that must not: fields that nobody set go, the annotation goes where nothing in it means anything,
//! and variables of the distribution's configuration become providers, models and shields.

mod choice;
mod draft;
mod migrated;
mod ogx;
mod providers;
mod resources;
mod tidy;
mod turning;
mod uses;
mod variables;

use llsd_api::conversion::{self, Version};
use serde_json::Value;

use crate::facts::Facts;
use crate::plan;
use crate::problems::Findings;
use crate::validate::validate;

/// The v1alpha1 part of a draft, and where its other fields belong; nothing for a resource that
/// uses only what v1alpha1 has. What is wrong with such a resource is validation's to report.
pub use draft::{Lifted, lift};

pub use llsd_yaml::rewrite::Move;
pub use llsd_yaml::value_at;
pub use migrated::{DecisionKind, FieldDecision, Migrated};
pub use ogx::{OgxTarget, migrate_to};

/// Migrates a v1alpha1 resource that validation accepts, with what the operator itself knows of
/// distributions.
pub fn migrate(source: &Value) -> Migrated {
    migrate_with(source, &Facts::default())
}

/// The same with the configuration inside the image, where the facts have it.
pub fn migrate_with(source: &Value, facts: &Facts) -> Migrated {
    if Version::from_object(source) != Some(Version::V1Alpha1) {
        return Migrated { object: source.clone(), decisions: Vec::new(), moves: Vec::new() };
    }
    let Lifted { rest, parts } = lift(source);
    let mut plain =
        Migrated { object: conversion::up(rest.clone()), decisions: Vec::new(), moves: Vec::new() };
    draft::put(&mut plain, parts);
    tidy::tidy(&mut plain, &rest);
    let mut turned = plain.clone();
    turning::turn(&mut turned, facts);
    if turned.object == plain.object {
        return finished(turned);
    }
    match refusal(&turned.object, facts) {
        // What cannot be planned either way is for the caller to report.
        Some(_) if refusal(&plain.object, facts).is_some() => finished(plain),
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
fn refusal(object: &Value, facts: &Facts) -> Option<String> {
    let first = |findings: &Findings| {
        findings.problems.first().map(|problem| format!("{}: {}", problem.path, problem.message))
    };
    first(&validate(object)).or_else(|| match plan::parse_and_plan(object, facts) {
        plan::Planning::Refused(findings) => first(&findings),
        _ => None,
    })
}
