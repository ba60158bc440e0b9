//! `overrides: Forbid` of the operator's configuration: pods are what the operator makes of a resource, and
//! nothing else.

use llsd_api::v1alpha2::LlamaStackDistributionSpec;
use serde_json::Value;

use crate::facts::OverridesPolicy;
use crate::problems::{FieldPath, Findings, Reason};

/// Reports every override, where none is allowed.
pub(super) fn check(
    spec: &LlamaStackDistributionSpec,
    policy: OverridesPolicy,
    findings: &mut Findings,
) {
    let overrides = spec.workload.as_ref().and_then(|workload| workload.overrides.as_ref());
    let (Some(overrides), OverridesPolicy::Forbid) = (overrides, policy) else { return };
    let path = FieldPath::spec().key("workload").key("overrides");
    let Ok(Value::Object(fields)) = serde_json::to_value(overrides) else { return };
    for field in fields.keys() {
        findings.problem(
            &path.key(field),
            Reason::Conflict,
            "the operator's configuration forbids overrides",
            "remove it, or ask the administrator of the operator to set `overrides: Allow` in its \
             ConfigMap",
        );
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn where_overrides_are_forbidden_each_is_a_problem() {
        let paths = |overrides: Value, policy: OverridesPolicy| {
            let spec = json!({
                "distribution": {"name": "starter"}, "workload": {"replicas": 2, "overrides": overrides},
            });
            let mut findings = Findings::default();
            check(&serde_json::from_value(spec).unwrap(), policy, &mut findings);
            let problems = findings.problems.iter();
            problems.map(|problem| problem.path.to_string()).collect::<Vec<_>>()
        };
        let overrides = json!({"serviceAccountName": "a", "env": [{"name": "A", "value": "1"}]});
        assert_eq!(
            paths(overrides.clone(), OverridesPolicy::Forbid),
            ["spec.workload.overrides.serviceAccountName", "spec.workload.overrides.env"]
        );
        assert!(paths(overrides, OverridesPolicy::Allow).is_empty());
        assert!(paths(json!({}), OverridesPolicy::Forbid).is_empty());
    }
}
