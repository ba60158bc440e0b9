//! A change made through one version wins over what was carried for the other, and costs nothing
//! else.

use llsd_api::conversion::{V1ALPHA2_EXTRAS, carried_container_name, down, up};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{annotation, assert_carries_nothing, assert_comes_back, v1alpha1, v1alpha2};

/// A v1alpha2 object after an edit through v1alpha1.
fn edited_as_v1alpha1(spec: Value, edit: impl Fn(&mut Value)) -> Value {
    let mut old = down(v1alpha2(spec));
    edit(&mut old["spec"]);
    up(old)["spec"].take()
}

/// A v1alpha1 object after an edit through v1alpha2.
fn edited_as_v1alpha2(spec: Value, edit: impl Fn(&mut Value)) -> Value {
    let mut new = up(v1alpha1(spec));
    edit(&mut new["spec"]);
    down(new)["spec"].take()
}

fn remove(object: &mut Value, key: &str) {
    object.as_object_mut().unwrap().remove(key);
}

#[test]
fn a_port_changed_through_v1alpha1_stays_changed() {
    let spec = json!({"networking": {"port": 8321, "tls": {"enabled": true, "secretName": "s"}}});
    let after = edited_as_v1alpha1(spec, |spec| {
        spec["server"]["containerSpec"]["port"] = json!(9000);
    });
    assert_eq!(
        after,
        json!({"networking": {"port": 9000, "tls": {"enabled": true, "secretName": "s"}}})
    );
}

#[test]
fn replicas_set_through_v1alpha1_stay_set() {
    let after = edited_as_v1alpha1(json!({}), |spec| spec["replicas"] = json!(0));
    assert_eq!(after, json!({"workload": {"replicas": 0}}));
}

#[test]
fn a_new_field_beside_what_was_absent_does_not_make_it_present() {
    let env = json!([{"name": "A", "value": "b"}]);
    let after = edited_as_v1alpha1(json!({}), |spec| {
        spec["server"]["containerSpec"] = json!({"name": "llama-stack", "env": env});
    });
    assert_eq!(after, json!({"workload": {"overrides": {"env": env}}}));
}

#[test]
fn a_changed_size_keeps_the_deletion_policy() {
    let spec = json!({"workload": {"replicas": 1, "storage": {"size": "1Gi", "deletionPolicy": "Delete"}}});
    let after = edited_as_v1alpha1(spec, |spec| {
        spec["server"]["storage"]["size"] = json!("2Gi");
    });
    assert_eq!(after["workload"]["storage"], json!({"size": "2Gi", "deletionPolicy": "Delete"}));
}

#[test]
fn removed_storage_is_not_brought_back_by_its_deletion_policy() {
    let spec = json!({"workload": {"replicas": 1, "storage": {"size": "1Gi", "deletionPolicy": "Delete"}}});
    let after = edited_as_v1alpha1(spec, |spec| remove(&mut spec["server"], "storage"));
    assert_eq!(after, json!({"workload": {"replicas": 1}}));
}

#[test]
fn a_changed_target_does_not_come_back_beside_the_stale_one() {
    let spec = json!({"workload": {"autoscaling": {"maxReplicas": 4, "targetCPUUtilization": 70}}});
    let after = edited_as_v1alpha1(spec, |spec| {
        spec["server"]["autoscaling"]["targetCPUUtilizationPercentage"] = json!(80);
    });
    assert_eq!(
        after["workload"]["autoscaling"],
        json!({"maxReplicas": 4, "targetCPUUtilizationPercentage": 80})
    );
}

#[test]
fn what_only_v1alpha2_says_of_scaling_and_volumes_stays_while_other_fields_change() {
    let metrics = json!([{"type": "Pods", "pods": {
        "metric": {"name": "queue"}, "target": {"type": "AverageValue", "averageValue": "4"},
    }}]);
    let behavior = json!({"scaleDown": {"stabilizationWindowSeconds": 900}});
    let spec = json!({"workload": {
        "autoscaling": {"maxReplicas": 4, "targetCPUUtilization": 70, "metrics": metrics, "behavior": behavior},
        "storage": {"size": "1Gi", "storageClassName": "fast", "deletionPolicy": "Retain"},
    }});
    let after = edited_as_v1alpha1(spec, |spec| {
        spec["server"]["autoscaling"]["maxReplicas"] = json!(8);
        spec["server"]["storage"]["size"] = json!("2Gi");
    });
    assert_eq!(
        after["workload"]["autoscaling"],
        json!({"maxReplicas": 8, "targetCPUUtilization": 70, "metrics": metrics, "behavior": behavior})
    );
    assert_eq!(
        after["workload"]["storage"],
        json!({"size": "2Gi", "storageClassName": "fast", "deletionPolicy": "Retain"})
    );
}

#[test]
fn the_hostname_stays_while_other_fields_change() {
    let spec = json!({"networking": {"port": 8321, "expose": {"hostname": "h"}}});
    let after = edited_as_v1alpha1(spec, |spec| {
        spec["network"]["allowedFrom"] = json!({"namespaces": ["a"]});
        spec["replicas"] = json!(3);
    });
    assert_eq!(
        after,
        json!({
            "networking": {"port": 8321, "expose": {"hostname": "h"}, "allowedFrom": {"namespaces": ["a"]}},
            "workload": {"replicas": 3},
        })
    );
}

#[test]
fn exposure_switched_off_is_off_and_switched_on_again_has_its_hostname() {
    let new = v1alpha2(json!({"networking": {"port": 8321, "expose": {"hostname": "h"}}}));
    let mut old = down(new.clone());
    old["spec"]["network"]["exposeRoute"] = json!(false);
    let off = up(old);
    assert_eq!(off["spec"]["networking"], json!({"port": 8321, "expose": false}));
    assert_comes_back(&off);

    let mut old = down(off.clone());
    old["spec"]["network"]["exposeRoute"] = json!(true);
    assert_eq!(up(old), new);

    let mut old = down(off.clone());
    remove(&mut old["spec"], "network");
    let gone = up(old);
    assert_eq!(gone["spec"]["networking"], json!({"port": 8321}));
    assert_comes_back(&gone);

    // Whoever switches it on in v1alpha2 says there how.
    let mut on = off;
    on["spec"]["networking"]["expose"] = json!(true);
    assert_eq!(up(down(on))["spec"]["networking"]["expose"], true);
}

#[test]
fn an_exposure_that_v1alpha2_switched_off_is_on_when_v1alpha1_says_so() {
    let spec = json!({"networking": {"port": 8321, "expose": {"enabled": false, "hostname": "h"}}});
    let after = edited_as_v1alpha1(spec, |spec| spec["network"]["exposeRoute"] = json!(true));
    assert_eq!(after["networking"]["expose"], true);
}

#[test]
fn env_changed_through_v1alpha2_stays_changed_and_the_container_keeps_its_name() {
    let after = edited_as_v1alpha2(
        json!({"replicas": 1, "server": {"containerSpec": {"name": "mine", "env": [{"name": "A"}]}}}),
        |spec| spec["workload"]["overrides"]["env"] = json!([]),
    );
    assert_eq!(after["server"]["containerSpec"], json!({"name": "mine", "env": []}));
}

#[test]
fn the_container_keeps_its_name_when_its_neighbours_come_and_go() {
    let named = json!({"replicas": 1, "server": {"containerSpec": {"name": "mine"}}});
    let after = edited_as_v1alpha2(named, |spec| spec["networking"] = json!({"port": 9000}));
    assert_eq!(after["server"]["containerSpec"], json!({"name": "mine", "port": 9000}));

    let with_port =
        json!({"replicas": 1, "server": {"containerSpec": {"name": "mine", "port": 9000}}});
    let after = edited_as_v1alpha2(with_port, |spec| remove(spec, "networking"));
    assert_eq!(after["server"]["containerSpec"], json!({"name": "mine"}));
}

#[test]
fn another_override_is_not_looked_up_in_the_old_ones_namespace() {
    let spec = json!({"replicas": 1, "server": {"userConfig": {"configMapName": "c", "configMapNamespace": "n"}}});
    let after = edited_as_v1alpha2(spec.clone(), |spec| {
        spec["overrideConfig"] = json!({"configMapName": "d"});
    });
    assert_eq!(after["server"]["userConfig"], json!({"configMapName": "d"}));
    let after = edited_as_v1alpha2(spec, |spec| remove(spec, "overrideConfig"));
    assert_eq!(after, json!({"replicas": 1, "server": {}}));
}

#[rstest]
#[case("providers", json!({"inference": {"provider": "vllm"}}))]
#[case("resources", json!({"models": ["m"]}))]
#[case("storage", json!({"kv": {"type": "sqlite"}}))]
#[case("disabled", json!(["safety"]))]
#[case("access", json!({"authentication": {"kubernetes": {}}}))]
fn user_config_displaces_generated_configuration_until_it_is_removed(
    #[case] section: &str,
    #[case] value: Value,
) {
    let new = v1alpha2(json!({"workload": {"replicas": 1}, section: value}));
    let mut old = down(new.clone());
    old["spec"]["server"]["userConfig"] = json!({"configMapName": "c"});
    let displaced = up(old);
    assert_eq!(
        displaced["spec"],
        json!({"workload": {"replicas": 1}, "overrideConfig": {"configMapName": "c"}})
    );
    assert!(annotation(&displaced, V1ALPHA2_EXTRAS).is_some_and(|a| a.contains(section)));
    assert_comes_back(&displaced);

    let mut old = down(displaced.clone());
    remove(&mut old["spec"]["server"], "userConfig");
    assert_eq!(up(old), new);

    // Removed through v1alpha2, it does not return by itself: an object must not change by being
    // read and written through v1alpha1.
    let mut generated = displaced;
    remove(&mut generated["spec"], "overrideConfig");
    let settled = up(down(generated.clone()));
    assert_eq!(settled["spec"], generated["spec"]);
    assert_carries_nothing(&settled);
}

#[test]
fn a_displaced_section_that_v1alpha2_wrote_anew_is_forgotten() {
    let mut old = down(v1alpha2(json!({"providers": {"a": 1}})));
    old["spec"]["server"]["userConfig"] = json!({"configMapName": "c"});
    let mut both = up(old);
    both["spec"]["providers"] = json!({"b": 2});
    let mut old = down(both.clone());
    assert_eq!(up(old.clone())["spec"], both["spec"]);
    remove(&mut old["spec"]["server"], "userConfig");
    assert_eq!(up(old)["spec"]["providers"], json!({"b": 2}));
}

#[test]
fn a_stored_object_with_both_comes_back_with_both() {
    let new = v1alpha2(json!({"overrideConfig": {"configMapName": "c"}, "providers": {"a": 1}}));
    assert_comes_back(&new);
    let mut old = down(new);
    old["spec"]["server"]["userConfig"]["configMapName"] = json!("d");
    let spec = up(old)["spec"].take();
    assert_eq!(spec, json!({"overrideConfig": {"configMapName": "d"}}));
}

#[test]
fn external_providers_stand_beside_an_override() {
    let after = edited_as_v1alpha1(json!({"externalProviders": {"inference": []}}), |spec| {
        spec["server"]["userConfig"] = json!({"configMapName": "c"});
    });
    assert_eq!(
        after,
        json!({"externalProviders": {"inference": []}, "overrideConfig": {"configMapName": "c"}})
    );
}

#[test]
fn a_field_in_the_way_of_a_carried_one_stays() {
    let spec = json!({"networking": {"port": 8321, "tls": {"enabled": true}}});
    let mut old = down(v1alpha2(spec));
    old["spec"] = json!({"server": "gone"});
    assert_eq!(up(old.clone())["spec"]["networking"], json!({"tls": {"enabled": true}}));
    assert_eq!(down(up(old.clone()))["spec"], old["spec"]);
}

#[test]
fn the_container_name_is_known_to_v1alpha2() {
    let named = |name: &str| v1alpha1(json!({"server": {"containerSpec": {"name": name}}}));
    assert_eq!(carried_container_name(&up(named("mine"))).as_deref(), Some("mine"));
    assert_eq!(carried_container_name(&named("mine")).as_deref(), Some("mine"));
    assert_eq!(carried_container_name(&up(named("llama-stack"))), None);
    assert_eq!(carried_container_name(&up(named(""))), None);
    assert_eq!(carried_container_name(&v1alpha2(json!({}))), None);
    assert_eq!(carried_container_name(&json!(null)), None);
}
