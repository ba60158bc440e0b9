//! Every field of the migration guide's tables moves, both ways, and nothing is invented.

use llsd_api::conversion::{V1ALPHA1_EXTRAS, V1ALPHA2_EXTRAS, Version, convert, down, up};
use rstest::rstest;
use serde_json::{Value, json};

use crate::support::laws::OBJECTS;
use crate::support::shapes::PAIRS;
use crate::{annotation, assert_carries_nothing, assert_comes_back, v1alpha1, v1alpha2};

fn set(mut object: Value, path: &str, value: Value) -> Value {
    let place = path.split('/').skip(1).fold(&mut object, |v, key| &mut v[key]);
    *place = value;
    object
}

fn sample(path: &str) -> Value {
    match path {
        "/spec/network/exposeRoute" => json!(true),
        "/spec/server/userConfig" => json!({"configMapName": "config"}),
        _ => json!({"any": ["value"]}),
    }
}

#[test]
fn every_field_of_the_tables_moves_up() {
    for (old, new) in PAIRS.into_iter().filter(|pair| !OBJECTS.contains(pair)) {
        let object = set(v1alpha1(json!({"replicas": 1, "server": {}})), old, sample(old));
        let converted = up(object.clone());
        assert_eq!(converted.pointer(new), object.pointer(old), "{old} to {new}");
        assert_comes_back(&object);
    }
}

/// To operator v0.9 an empty budget is one pod at a time; v1alpha2 refuses an empty one.
#[test]
fn an_empty_disruption_budget_keeps_its_meaning() {
    let object = v1alpha1(json!({"replicas": 1, "server": {"podDisruptionBudget": {}}}));
    let budget = up(object.clone())["spec"]["workload"]["podDisruptionBudget"].clone();
    assert_eq!(budget, json!({"maxUnavailable": 1}));
    assert_comes_back(&object);
}

#[test]
fn every_field_of_the_tables_moves_down() {
    for (old, new) in PAIRS.into_iter().filter(|pair| !OBJECTS.contains(pair)) {
        let object = set(v1alpha2(json!({})), new, sample(old));
        let converted = down(object.clone());
        let moved = converted.pointer(old);
        assert_eq!(moved, object.pointer(new), "{new} to {old}");
        assert_comes_back(&object);
    }
}

#[rstest]
#[case(json!({"enabled": true}), true)]
#[case(json!({"hostname": "h"}), true)]
#[case(json!({"enabled": false, "hostname": "h"}), false)]
#[case(json!({}), true)]
#[case(json!(true), true)]
#[case(json!(false), false)]
fn an_exposure_is_a_boolean_in_v1alpha1(#[case] expose: Value, #[case] exposed: bool) {
    let object = v1alpha2(json!({"networking": {"expose": expose}}));
    assert_eq!(down(object.clone())["spec"]["network"]["exposeRoute"], exposed);
    assert_comes_back(&object);
}

#[rstest]
#[case(json!({"targetCPUUtilization": 70}), json!({"targetCPUUtilizationPercentage": 70}))]
#[case(json!({"targetMemoryUtilization": 70}), json!({"targetMemoryUtilizationPercentage": 70}))]
#[case(
    json!({"targetCPUUtilization": 70, "targetCPUUtilizationPercentage": 80}),
    json!({"targetCPUUtilizationPercentage": 80})
)]
#[case(
    json!({"targetCPUUtilization": 70, "targetCPUUtilizationPercentage": null}),
    json!({"targetCPUUtilizationPercentage": 70})
)]
fn both_spellings_of_a_target_are_one_in_v1alpha1(#[case] new: Value, #[case] old: Value) {
    let object = v1alpha2(json!({"workload": {"autoscaling": new}}));
    assert_eq!(down(object.clone())["spec"]["server"]["autoscaling"], old);
    assert_comes_back(&object);
}

#[rstest]
#[case::replicas(json!({"replicas": 0, "server": {}}))]
#[case::network(json!({"replicas": 1, "server": {}, "network": {}}))]
#[case::container(json!({"replicas": 1, "server": {"containerSpec": {}}}))]
#[case::overrides(json!({"replicas": 1, "server": {"podOverrides": {}}}))]
#[case::budget(json!({"replicas": 1, "server": {"podDisruptionBudget": {}}}))]
#[case::storage(json!({"replicas": 1, "server": {"storage": {}}}))]
#[case::bundle(json!({"replicas": 1, "server": {"tlsConfig": {}}}))]
#[case::reference(json!({"replicas": 1, "server": {"userConfig": {}}}))]
#[case::lists(json!({"replicas": 1, "server": {"topologySpreadConstraints": [], "containerSpec": {"env": [], "args": []}}}))]
#[case::nulls(json!({"replicas": null, "server": {"workers": null, "containerSpec": {"port": null}, "podOverrides": null}, "network": null}))]
#[case::no_server(json!({}))]
#[case::low_port(json!({"replicas": 1, "server": {"containerSpec": {"name": "llama-stack", "port": 80}}}))]
fn what_is_empty_zero_or_null_comes_back_as_it_was(#[case] spec: Value) {
    assert_comes_back(&v1alpha1(spec));
}

#[rstest]
#[case(json!({"workload": {"replicas": 0}}))]
#[case(json!({"networking": {}}))]
#[case(json!({"networking": {"tls": {}}, "workload": {"overrides": {}, "storage": {}}}))]
#[case(json!({"providers": {}, "disabled": [], "storage": {"kv": {}}}))]
#[case(json!({"providers": null, "networking": null, "workload": {"replicas": null}}))]
fn the_same_from_v1alpha2(#[case] spec: Value) {
    assert_comes_back(&v1alpha2(spec));
}

#[test]
fn an_empty_storage_asks_for_a_volume_in_both_versions() {
    let old = v1alpha1(json!({"replicas": 1, "server": {"storage": {}}}));
    let new =
        v1alpha2(json!({"workload": {"replicas": 1, "storage": {"deletionPolicy": "Retain"}}}));
    assert_eq!(up(old.clone()), new);
    assert_eq!(down(new), old);
}

#[test]
fn zero_replicas_stay_zero_and_a_low_port_stays_low() {
    let object = v1alpha1(json!({"replicas": 0, "server": {"containerSpec": {"port": 80}}}));
    let object = up(object);
    assert_eq!(object["spec"]["workload"]["replicas"], 0);
    assert_eq!(object["spec"]["networking"]["port"], 80);
}

#[test]
fn no_networking_gains_no_port() {
    let object =
        up(v1alpha1(json!({"replicas": 1, "server": {"distribution": {"name": "starter"}}})));
    let expected = json!({"workload": {"replicas": 1}, "distribution": {"name": "starter"}});
    assert_eq!(object["spec"], expected);
    assert_carries_nothing(&object);
}

#[test]
fn schema_defaults_of_the_other_version_are_there() {
    let object = v1alpha1(json!({
        "replicas": 1,
        "server": {"storage": {"size": "1Gi"}},
        "network": {"exposeRoute": true},
    }));
    let spec = &up(object)["spec"];
    assert_eq!(spec["networking"], json!({"expose": true, "port": 8321}));
    assert_eq!(spec["workload"]["storage"], json!({"size": "1Gi", "deletionPolicy": "Retain"}));

    let object =
        v1alpha2(json!({"networking": {"port": 9000, "allowedFrom": {"namespaces": ["a"]}}}));
    let expected = json!({
        "replicas": 1,
        "server": {"containerSpec": {"port": 9000, "name": "llama-stack"}},
        "network": {"allowedFrom": {"namespaces": ["a"]}, "exposeRoute": false},
    });
    assert_eq!(down(object)["spec"], expected);
}

#[test]
fn an_object_without_spec_gains_none() {
    let mut object = v1alpha1(json!({}));
    object.as_object_mut().unwrap().remove("spec");
    let converted = up(object.clone());
    assert_eq!(converted.get("spec"), None);
    assert_carries_nothing(&converted);
    assert_comes_back(&object);
}

#[test]
fn status_moves_and_what_only_v1alpha2_has_is_carried() {
    let mut object = v1alpha2(json!({"workload": {"replicas": 1}}));
    object["status"] = json!({
        "phase": "Ready", "version": {"operatorVersion": "1"}, "distributionConfig": {"a": 1},
        "conditions": [], "availableReplicas": 2, "serviceURL": "http://s", "routeURL": "http://r",
        "observedGeneration": 4, "resolvedDistribution": {"image": "i"}, "configGeneration": {"providerCount": 1},
    });
    let mut old = down(object.clone());
    assert_eq!(
        old["status"],
        json!({
            "phase": "Ready", "version": {"operatorVersion": "1"}, "distributionConfig": {"a": 1},
            "conditions": [], "availableReplicas": 2, "serviceURL": "http://s", "routeURL": "http://r",
        })
    );
    assert_eq!(up(old.clone()), object);

    old["status"] = json!({"phase": "Failed"});
    assert_eq!(
        up(old)["status"],
        json!({
            "phase": "Failed",
            "observedGeneration": 4, "resolvedDistribution": {"image": "i"}, "configGeneration": {"providerCount": 1},
        })
    );
}

#[test]
fn carried_status_does_not_make_a_status() {
    let mut object = v1alpha2(json!({"workload": {"replicas": 1}}));
    object["status"] = json!({"observedGeneration": 4});
    let mut old = down(object);
    old.as_object_mut().unwrap().remove("status");
    let new = up(old);
    assert_eq!(new.get("status"), None);
    assert_carries_nothing(&new);
}

#[test]
fn what_only_one_version_has_is_carried_and_comes_back() {
    let old = v1alpha1(json!({
        "replicas": 1,
        "server": {
            "containerSpec": {"name": "mine", "port": 8321},
            "userConfig": {"configMapName": "c", "configMapNamespace": "elsewhere"},
        },
    }));
    let new = up(old.clone());
    assert_eq!(new["spec"]["overrideConfig"], json!({"configMapName": "c"}));
    assert_eq!(
        annotation(&new, V1ALPHA1_EXTRAS),
        Some(concat!(
            r#"[{"path":"/spec/server/containerSpec/name","was":"llama-stack","is":"mine"},"#,
            r#"{"path":"/spec/server/userConfig","was":{"configMapName":"c"},"#,
            r#""is":{"configMapName":"c","configMapNamespace":"elsewhere"}}]"#,
        ))
    );
    assert_eq!(down(new), old);

    let new = v1alpha2(json!({
        "providers": {"inference": {"provider": "vllm"}},
        "externalProviders": {},
        "networking": {"port": 8321, "tls": {"enabled": true, "secretName": "s"}},
        "workload": {"replicas": 2, "overrides": {"nodeSelector": {"gpu": "yes"}}},
    }));
    let old = down(new.clone());
    assert_eq!(
        annotation(&old, V1ALPHA2_EXTRAS),
        Some(concat!(
            r#"[{"path":"/spec/externalProviders","is":{}},"#,
            r#"{"path":"/spec/networking/tls/enabled","is":true},"#,
            r#"{"path":"/spec/networking/tls/secretName","is":"s"},"#,
            r#"{"path":"/spec/providers","is":{"inference":{"provider":"vllm"}}},"#,
            r#"{"path":"/spec/workload/overrides/nodeSelector","is":{"gpu":"yes"}}]"#,
        ))
    );
    assert_eq!(up(old), new);
}

#[test]
fn the_version_asked_for_is_what_comes() {
    let old = v1alpha1(json!({"replicas": 1, "server": {}}));
    let new = v1alpha2(json!({"workload": {"replicas": 1}}));
    assert_eq!(convert(old.clone(), Version::V1Alpha1), old);
    assert_eq!(convert(new.clone(), Version::V1Alpha2), new);
    assert_eq!(convert(old.clone(), Version::V1Alpha2), new);
    assert_eq!(convert(new, Version::V1Alpha1), old);
    assert_eq!(Version::from_api_version("llamastack.io/v1alpha2"), Some(Version::V1Alpha2));
    assert_eq!(Version::from_api_version("llamastack.io/v1"), None);
}
