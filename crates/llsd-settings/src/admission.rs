//! Admission of the operator's ConfigMap as it is written: a key that the operator could not use is
//! refused before anybody is surprised that it has no effect.

use std::collections::BTreeMap;

use llsd_image::settings::ConfigProblem;
use llsd_plan::admission::AdmissionRequest;
use llsd_plan::problems::{FieldPath, Findings, Problem, Reason};
use serde::Deserialize;

use super::in_use::problems;
use super::key::ConfigKey;
use llsd_install::names::CONFIG_MAP;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Written {
    metadata: Metadata,
    data: Option<BTreeMap<String, String>>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Metadata {
    name: String,
}

/// Checks a write. What was wrong before and is left as it was is only warned of, so that one key can
/// be mended while another is still broken.
pub fn decide(request: &AdmissionRequest<'_>) -> Findings {
    let mut findings = Findings::default();
    let (Some(new), "", "CREATE" | "UPDATE") =
        (request.object, request.sub_resource.as_str(), request.operation.as_str())
    else {
        return findings;
    };
    let Ok(new) = serde_json::from_str::<Written>(new.get()) else { return findings };
    if new.metadata.name != CONFIG_MAP {
        return findings;
    }
    let old = request.old_object.and_then(|old| serde_json::from_str::<Written>(old.get()).ok());
    let (new, old) = (new.data.unwrap_or_default(), old.and_then(|old| old.data));
    let is_new = |name: &str| old.as_ref().and_then(|old| old.get(name)) != new.get(name);
    for (name, text) in &new {
        let (found, refuses) = match ConfigKey::from_name(name) {
            Some(key) => (problems(key, text), true),
            // A key of a later release may come before its operator; a misspelt one never helps.
            None => (vec![ConfigKey::unknown(name)], ConfigKey::meant(name).is_some()),
        };
        let checked =
            if refuses && is_new(name) { &mut findings.problems } else { &mut findings.warnings };
        checked.extend(found.iter().map(|problem| at_key(name, problem)));
    }
    findings
}

fn at_key(key: &str, problem: &ConfigProblem) -> Problem {
    let below = problem.path.strip_prefix(key).unwrap_or(&problem.path);
    let below = below.trim_start_matches('.');
    let message = &problem.message;
    Problem {
        path: FieldPath::root().key("data").key(key),
        reason: Reason::Invalid,
        message: if below.is_empty() { message.clone() } else { format!("{below}: {message}") },
        remedy: "correct it; a broken value is not used, and the one before stays".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn decided(new: &Value, old: Option<&Value>) -> Findings {
        let object = |data: &Value| json!({"metadata": {"name": CONFIG_MAP}, "data": data});
        let body = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "1", "operation": if old.is_some() { "UPDATE" } else { "CREATE" },
                "object": object(new), "oldObject": old.map(object),
            },
        });
        let body = body.to_string().into_bytes();
        decide(&AdmissionRequest::parse(&body).unwrap())
    }

    fn listed(problems: &[Problem]) -> Vec<String> {
        problems.iter().map(|problem| format!("{}: {}", problem.path, problem.message)).collect()
    }

    #[test]
    fn all_that_is_broken_is_refused_at_once_and_what_is_in_order_is_not() {
        let found = decided(
            &json!({
                "featureFlags": "enableNetworkPolicy: {enabled: perhaps}",
                "image-overrides": "starter: UPPER",
                "ingressDomian": "apps.example.com",
                "laterKey": "x",
                "clusterDomain": "cluster.internal",
            }),
            None,
        );
        let problems = listed(&found.problems);
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert_eq!(
            problems[0],
            "data.featureFlags: enableNetworkPolicy.enabled: must be true or false"
        );
        assert!(problems[1].starts_with("data.image-overrides: starter: "), "{problems:?}");
        assert!(problems[2].contains("did you mean ingressDomain?"), "{problems:?}");
        assert_eq!(listed(&found.warnings).len(), 1, "{:?}", found.warnings);
        assert_eq!(decided(&json!({"image-overrides": ""}), None), Findings::default());
    }

    #[test]
    fn what_was_broken_before_blocks_no_other_change() {
        let old = json!({"image-overrides": "starter: UPPER"});
        let mut new = old.clone();
        new["clusterDomain"] = json!("cluster.internal");
        let found = decided(&new, Some(&old));
        assert_eq!((found.problems.len(), found.warnings.len()), (0, 1));
        new["image-overrides"] = json!("starter: UPPER2");
        assert_eq!(decided(&new, Some(&old)).problems.len(), 1);
    }
}
