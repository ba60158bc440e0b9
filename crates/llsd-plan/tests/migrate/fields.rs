//! Fields: what moves, what goes, and what the annotation goes on carrying.

use llsd_plan::migrate::{DecisionKind, migrate};
use serde_json::json;

use crate::{spec_of, told, with_env};

#[test]
fn defaults_that_nobody_wrote_are_not_written() {
    let mut source = with_env("starter", &json!([]));
    source["spec"]["server"] =
        json!({"distribution": {"name": "starter"}, "storage": {"size": "1Gi"}});
    source["spec"]["network"] = json!({"exposeRoute": true});
    let expected = json!({
        "distribution": {"name": "starter"},
        "networking": {"expose": true},
        "workload": {"storage": {"size": "1Gi"}},
    });
    assert_eq!(spec_of(&source), expected);
}

#[test]
fn a_container_name_stays_in_the_annotation_and_the_usual_one_does_not() {
    let mut source = with_env("starter", &json!([]));
    source["spec"]["server"]["containerSpec"] = json!({"name": "llama-stack", "port": 9000});
    let migrated = migrate(&source);
    assert_eq!(migrated.object["metadata"], source["metadata"]);
    assert_eq!(told(&migrated, DecisionKind::Carried), Vec::<String>::new());
    source["spec"]["server"]["containerSpec"]["name"] = json!("own");
    let migrated = migrate(&source);
    let carried = &migrated.object["metadata"]["annotations"]["llamastack.io/v1alpha1-extras"];
    assert_eq!(
        carried.as_str(),
        Some(r#"[{"path":"/spec/server/containerSpec/name","was":"llama-stack","is":"own"}]"#)
    );
    assert!(
        told(&migrated, DecisionKind::Carried)[0].starts_with("spec.server.containerSpec.name: ")
    );
}

#[test]
fn a_namespace_of_the_config_map_goes_where_it_is_the_resource_s_own() {
    let mut source = with_env("starter", &json!([]));
    let user_config = |namespace| json!({"configMapName": "own", "configMapNamespace": namespace});
    source["spec"]["server"]["userConfig"] = user_config("here");
    let migrated = migrate(&source);
    assert_eq!(migrated.object["metadata"], source["metadata"]);
    let dropped = told(&migrated, DecisionKind::Dropped);
    assert!(dropped[0].starts_with("spec.server.userConfig.configMapNamespace: "), "{dropped:?}");
    source["spec"]["server"]["userConfig"] = user_config("there");
    let carried = told(&migrate(&source), DecisionKind::Carried);
    assert!(carried[0].contains("copy the ConfigMap there"), "{carried:?}");
}

#[test]
fn what_v1alpha2_had_said_before_comes_back() {
    let mut source = with_env("starter", &json!([]));
    source["metadata"]["annotations"] = json!({"llamastack.io/v1alpha2-extras":
        r#"[{"path":"/spec/disabled","is":["eval"]}]"#});
    let migrated = migrate(&source);
    assert_eq!(migrated.object["spec"]["disabled"], json!(["eval"]));
    assert_eq!(migrated.object["metadata"], json!({"name": "demo", "namespace": "here"}));
}
