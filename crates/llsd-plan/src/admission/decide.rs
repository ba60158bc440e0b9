//! Decides about one request from what stands in it alone.

use std::collections::{BTreeSet, HashMap};

use llsd_api::conversion::{V1ALPHA2_EXTRAS, Version, nesting, values};
use serde_json::Value;
use serde_json::value::RawValue;

use super::remarks;
use super::review::AdmissionRequest;
use crate::problems::{Findings, Problem, Reason, Segment};
use crate::validate::{DEEPEST, MOST_VALUES, too_deep, too_many, validate};

/// What was found about a request.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AdmissionDecision {
    pub findings: Findings,
    /// The resource, where it is worth asking whether what it refers to exists.
    pub accepted: Option<Value>,
}

pub fn decide(
    request: &AdmissionRequest<'_>,
    distributions: &BTreeSet<String>,
) -> AdmissionDecision {
    let mut decision = AdmissionDecision::default();
    let (Some(new), "", "CREATE" | "UPDATE") =
        (request.object, request.sub_resource.as_str(), request.operation.as_str())
    else {
        return decision;
    };
    if nesting(new.get()) > DEEPEST {
        if request.old_object.is_none_or(|old| nesting(old.get()) <= DEEPEST) {
            decision.findings.problems.push(too_deep());
        }
        return decision;
    }
    let is_too_much = |object: &RawValue| values(object.get()) > MOST_VALUES;
    if is_too_much(new) {
        if !request.old_object.is_some_and(is_too_much) {
            decision.findings.problems.push(too_many());
        }
        return decision;
    }
    let old = request.old_object.filter(|old| !is_too_much(old)).and_then(parse);
    let Some(new) = parse(new) else { return decision };
    let Some(version) = Version::from_object(&new) else { return decision };
    let deleting = new.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null());
    if deleting || old.as_ref().is_some_and(|old| asks_for_the_same(old, &new)) {
        return decision;
    }
    let mut findings = validate(&new);
    if let Some(old) = &old {
        findings = ratcheted(findings, &validate(old).problems);
    }
    remarks::add(version, &new, old.as_ref(), distributions, &mut findings);
    findings.warnings.dedup();
    decision.accepted = findings.problems.is_empty().then_some(new);
    decision.findings = findings;
    decision
}

fn parse(object: &RawValue) -> Option<Value> {
    serde_json::from_str(object.get()).ok()
}

/// Whether two objects of one version ask for the same server. On a v1alpha1 object the annotation
/// holds a part of what is asked for.
fn asks_for_the_same(old: &Value, new: &Value) -> bool {
    let carried = |object: &Value| object["metadata"]["annotations"].get(V1ALPHA2_EXTRAS).cloned();
    old.get("spec") == new.get("spec") && carried(old) == carried(new)
}

/// What was wrong before becomes a warning. Problems are the same wherever in their list they stand
/// now, and each old one excuses one new one.
fn ratcheted(found: Findings, before: &[Problem]) -> Findings {
    let mut excuses: HashMap<_, usize> = HashMap::new();
    for problem in before {
        *excuses.entry(what(problem)).or_default() += 1;
    }
    let excused = |problem: &Problem| {
        excuses.get_mut(&what(problem)).filter(|left| **left > 0).map(|left| *left -= 1).is_some()
    };
    let (excused, problems): (Vec<_>, Vec<_>) = found.problems.into_iter().partition(excused);
    Findings { problems, warnings: found.warnings.into_iter().chain(excused).collect() }
}

/// A problem without its place in a list.
fn what(problem: &Problem) -> (Reason, String, Vec<Segment>) {
    let steps = problem.path.segments().iter();
    let keys = steps.filter(|step| matches!(step, Segment::Key(_))).cloned().collect();
    (problem.reason, problem.message.clone(), keys)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::review::{Subject, answer};
    use super::*;

    fn decided(operation: &str, new: &Value, old: Option<&Value>) -> Findings {
        let body = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {"uid": "1", "operation": operation, "object": new, "oldObject": old},
        });
        let body = body.to_string().into_bytes();
        decide(&AdmissionRequest::parse(&body).unwrap(), &["starter".to_owned()].into()).findings
    }

    fn with(spec: &Value) -> Value {
        json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
            "metadata": {"name": "one"}, "spec": spec,
        })
    }

    fn two_mistakes() -> Value {
        with(&json!({
            "distribution": {"name": "starter"},
            "networking": {"port": 80},
            "providers": {"inference": [{"id": "a", "provider": "vllm", "endpont": "x"}]},
        }))
    }

    fn paths(problems: &[Problem]) -> Vec<String> {
        problems.iter().map(|problem| problem.path.to_string()).collect()
    }

    #[test]
    fn all_problems_of_a_new_resource_refuse_it() {
        let found = decided("CREATE", &two_mistakes(), None);
        let expected = ["spec.networking.port", "spec.providers.inference[0].endpont"];
        assert_eq!(paths(&found.problems), expected);
    }

    #[test]
    fn what_was_wrong_before_is_only_warned_of_wherever_it_stands_now() {
        let mut new = two_mistakes();
        new["spec"]["providers"]["inference"] = json!([
            {"id": "b", "provider": "ollama"}, {"id": "a", "provider": "vllm", "endpont": "x"},
        ]);
        let found = decided("UPDATE", &new, Some(&two_mistakes()));
        assert_eq!(paths(&found.problems), [""; 0]);
        let expected = ["spec.networking.port", "spec.providers.inference[1].endpont"];
        assert_eq!(paths(&found.warnings), expected);
        // The same mistake once more is a new one.
        new["spec"]["providers"]["inference"][0]["endpont"] = json!("x");
        let found = decided("UPDATE", &new, Some(&two_mistakes()));
        assert_eq!(paths(&found.problems), ["spec.providers.inference[1].endpont"]);
    }

    #[test]
    fn nothing_is_said_of_writes_that_leave_the_spec_alone() {
        let old = two_mistakes();
        let mut labelled = old.clone();
        labelled["metadata"]["labels"] = json!({"a": "b"});
        let mut going = with(&json!({"distribution": {}}));
        going["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        for (operation, new) in [("UPDATE", &labelled), ("UPDATE", &going), ("DELETE", &old)] {
            assert_eq!(decided(operation, new, Some(&old)), Findings::default());
        }
    }

    #[test]
    fn what_nobody_could_read_again_is_refused_unless_it_is_there_already() {
        let mut deep = json!({});
        for _ in 0..150 {
            deep = json!([deep]);
        }
        let deep = with(&json!({"distribution": {"name": "starter"}, "disabled": deep}));
        let found = decided("CREATE", &deep, None);
        assert!(found.problems[0].message.contains("100 levels"));
        assert_eq!(decided("UPDATE", &deep, Some(&deep)), Findings::default());
    }

    #[test]
    fn a_move_to_ogx_is_warned_of_in_the_fields_of_the_version() {
        let of = |version: &str, spec: Value| {
            let mut object = with(&spec);
            object["apiVersion"] = format!("llamastack.io/{version}").into();
            object["status"] = json!({"version": {"llamaStackServerVersion": "0.7.3"}});
            object
        };
        let newer = |image: &str| {
            let distribution = json!({"image": image});
            of("v1alpha2", json!({"distribution": distribution, "workload": {"storage": {}}}))
        };
        let old = newer("example.com/llama-stack:0.7.3");
        let ogx = newer("example.com/ogx:1.5.0");
        let warned = |new: &Value, old: &Value| paths(&decided("UPDATE", new, Some(old)).warnings);
        assert_eq!(warned(&ogx, &old), ["spec.workload.storage"]);
        assert_eq!(warned(&newer("example.com/llama-stack:0.7.2"), &old), [""; 0]);
        // Only the write that moves it.
        let mut later = ogx.clone();
        later["spec"]["workload"]["replicas"] = json!(1);
        assert_eq!(warned(&later, &ogx), [""; 0]);

        let older = |image: &str| {
            let server = json!({"distribution": {"image": image}, "storage": {}});
            of("v1alpha1", json!({"server": server}))
        };
        let found = warned(&older("example.com/ogx:1.5.0"), &older("example.com/stack:0.7.3"));
        assert_eq!(found, ["apiVersion", "spec.server.storage"]);
    }

    #[test]
    fn a_provider_name_that_is_nearly_a_known_one_is_refused_and_a_type_in_full_warned_of() {
        let providers = |inference: Value| {
            decided(
                "CREATE",
                &with(&json!({
                    "distribution": {"name": "starter"}, "providers": {"inference": inference},
                })),
                None,
            )
        };
        let said = providers(json!({"provider": "vlm", "endpoint": "http://a"}));
        assert_eq!(paths(&said.problems), ["spec.providers.inference.provider"]);
        assert!(said.problems[0].remedy.starts_with("did you mean vllm?"), "{said:?}");
        let fine = json!([
            {"id": "a", "provider": "vllm", "endpoint": "http://a"},
            {"id": "b", "provider": "remote::acme-models"},
        ]);
        assert_eq!(providers(fine), Findings::default());
        let listed = providers(json!([
            {"id": "a", "provider": "vllm", "endpoint": "http://a"},
            {"id": "b", "provider": "remote::olama"},
        ]));
        assert_eq!(paths(&listed.warnings), ["spec.providers.inference[1].provider"]);
    }

    #[test]
    fn a_server_that_is_exposed_under_no_name_is_warned_of_once() {
        // Who may call it is another question.
        let access = json!({"authentication": {"kubernetes": {}}});
        let exposed = |expose: Value| {
            with(&json!({
                "distribution": {"name": "starter"}, "networking": {"expose": expose}, "access": access,
            }))
        };
        let warned =
            |new: &Value, old: Option<&Value>| paths(&decided("CREATE", new, old).warnings);
        let path = "spec.networking.expose";
        assert_eq!(warned(&exposed(json!(true)), None), [path]);
        assert_eq!(warned(&exposed(json!({})), Some(&exposed(json!(false)))), [path]);
        let before = exposed(json!(true));
        assert_eq!(warned(&exposed(json!({"className": "a"})), Some(&before)), [""; 0]);
        for named in
            [json!(false), json!({"hostname": "a.example"}), json!({"gateway": {"name": "g"}})]
        {
            assert_eq!(warned(&exposed(named), None), [""; 0]);
        }
        let older = json!({
            "apiVersion": "llamastack.io/v1alpha1", "kind": "LlamaStackDistribution",
            "metadata": {"name": "one"},
            "spec": {
                "server": {"distribution": {"name": "starter"}}, "network": {"exposeRoute": true},
            },
        });
        let path = "spec.network.exposeRoute";
        assert_eq!(warned(&older, None), [path, "apiVersion", path], "open to all, under no name");
    }

    #[test]
    fn a_server_that_is_exposed_to_everybody_is_warned_of() {
        let warned = |spec: Value| paths(&decided("CREATE", &with(&spec), None).warnings);
        let expose = json!({"expose": {"hostname": "a.example"}});
        let mut spec = json!({"distribution": {"name": "starter"}, "networking": expose});
        assert_eq!(warned(spec.clone()), ["spec.networking.expose"]);
        spec["access"] = json!({"authentication": {"github": {}}});
        assert_eq!(warned(spec.clone()), [""; 0]);
        spec.as_object_mut().unwrap().remove("access");
        spec["overrideConfig"] = json!({"configMapName": "mine"});
        assert_eq!(warned(spec), [""; 0], "a file of their own may ask for tokens");
    }

    #[test]
    fn a_replacement_through_v1alpha1_that_drops_access_is_refused() {
        let new = with(&json!({
            "distribution": {"name": "starter"}, "access": {"authentication": {"kubernetes": {}}},
        }));
        let old = llsd_api::conversion::down(new);
        let mut scaled = old.clone();
        scaled["spec"]["replicas"] = json!(2);
        assert_eq!(paths(&decided("UPDATE", &scaled, Some(&old)).problems), [""; 0]);
        let mut replaced = scaled.clone();
        replaced["metadata"].as_object_mut().unwrap().remove("annotations");
        let mut displaced = scaled;
        displaced["spec"]["server"]["userConfig"] = json!({"configMapName": "mine"});
        for opened in [replaced, displaced] {
            let found = decided("UPDATE", &opened, Some(&old)).problems;
            assert_eq!(paths(&found), ["metadata.annotations[llamastack.io/v1alpha2-extras]"]);
        }
    }

    /// Many more fit into one request, and whoever sends them must not stop the operator.
    #[test]
    fn a_mountain_of_mistakes_is_checked_in_time() {
        let mountain = |height: usize| {
            let many = |mistake: Value| vec![mistake; height];
            with(&json!({
                "distribution": {"name": "starter"},
                "workload": {"overrides": {"env": many(json!({"name": "A", "value": 1, "x": 1}))}},
            }))
        };
        let hostile = mountain(2_000);
        let began = std::time::Instant::now();
        let found = decided("UPDATE", &hostile, Some(&two_mistakes()));
        assert!(found.problems.len() > 4_000);
        let answer = answer("1", Subject::resource("one"), &found).to_string();
        assert!(answer.len() < 50_000, "{}", answer.len());
        assert!(began.elapsed() < std::time::Duration::from_mins(1), "{:?}", began.elapsed());
        let more = decided("UPDATE", &mountain(50_000), Some(&two_mistakes()));
        assert_eq!(more.problems, [too_many()], "it is not even looked at");
        let stored = decided("UPDATE", &mountain(50_001), Some(&mountain(50_000)));
        assert_eq!(stored, Findings::default(), "what is stored can be edited, or deleted");
    }

    #[test]
    fn objects_of_others_are_none_of_our_business() {
        for object in
            [json!({}), json!(null), json!([1]), json!({"kind": "Pod", "apiVersion": "v1"})]
        {
            assert_eq!(decided("CREATE", &object, None), Findings::default());
        }
    }
}
