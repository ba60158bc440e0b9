//! Turns OpenShift's mirror objects into the operator's own rules, so that an operator on such a
//! cluster looks where the nodes look.

use serde_json::Value;

use super::config::rule;
use super::{MirrorRule, MirrorSourcePolicy, PullBy};
use crate::settings::{ConfigProblem, Problems};

/// What one object says. Entries that cannot be used are reported and hide no others.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Converted {
    pub rules: Vec<MirrorRule>,
    pub problems: Vec<ConfigProblem>,
}

/// The rules of an `ImageDigestMirrorSet`, `ImageTagMirrorSet` or `ImageContentSourcePolicy`.
/// Unknown fields are left alone: the object belongs to the cluster and may be newer.
pub fn mirror_rules(object: &Value) -> Converted {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default();
    let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    let mut problems = Problems::default();
    let (list, pull_by) = match kind {
        "ImageDigestMirrorSet" => ("imageDigestMirrors", PullBy::Digest),
        "ImageTagMirrorSet" => ("imageTagMirrors", PullBy::Tag),
        "ImageContentSourcePolicy" => ("repositoryDigestMirrors", PullBy::Digest),
        _ => {
            problems.at(
                "kind",
                "must be ImageDigestMirrorSet, ImageTagMirrorSet or ImageContentSourcePolicy",
            );
            return Converted { rules: Vec::new(), problems: problems.0 };
        }
    };
    let path = format!("{kind}/{name} spec.{list}");
    let items = object.get("spec").and_then(|spec| spec.get(list));
    let mut rules = Vec::new();
    for (path, item) in problems.items(&path, items) {
        let Value::Object(fields) = item else {
            problems.at(&path, "must be an object");
            continue;
        };
        let mut fields = fields.clone();
        if kind == "ImageContentSourcePolicy" {
            // The older kind has no policy, and its nodes always fall back to the source.
            fields.remove("mirrorSourcePolicy");
        }
        let found = rule(&path, &fields, pull_by, &mut problems);
        rules.extend(found.filter(|rule| {
            !rule.mirrors.is_empty() || rule.policy == MirrorSourcePolicy::NeverContactSource
        }));
    }
    Converted { rules, problems: problems.0 }
}
