//! The operator's roles with less, or again as much, as the install files have: what an administrator
//! takes away by mistake.

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use llsd_install::{cluster_wide, names};
use llsd_testkit::ControlPlane;
use serde_json::{Value, json};

use crate::access::{eventually, may};
use crate::install::{apply, file};

/// The role of the operator for what it does to resources.
pub const ROLE: &str = "llama-stack-k8s-operator-manager-role";

/// Takes verbs on resources, each as group and plural, out of that role, and waits until that holds.
pub async fn revoke(cluster: &ControlPlane, rights: &[(&str, &str, &[&str])]) {
    let kind = GroupVersionKind::gvk("rbac.authorization.k8s.io", "v1", "ClusterRole");
    let roles: Api<DynamicObject> = Api::all_with(cluster.client(), &ApiResource::from_gvk(&kind));
    let mut rules = roles.get(ROLE).await.unwrap().data["rules"].clone();
    for (group, plural, verbs) in rights {
        rules = without(&rules, group, plural, verbs);
    }
    let patch = Patch::Merge(json!({"rules": rules}));
    roles.patch(ROLE, &PatchParams::default(), &patch).await.unwrap();
    let client = cluster.client_for(&names::user(names::NAMESPACE), &[]);
    for (group, plural, verbs) in rights {
        for verb in *verbs {
            eventually(&format!("{verb} of {plural} is revoked"), async || {
                !may(&client, verb, (group, plural), "default", "").await
            })
            .await;
        }
    }
}

/// Gives all rights back, as the install files do.
pub async fn grant_all(cluster: &ControlPlane) {
    let args = ["delete", "clusterrole", ROLE];
    cluster.kubectl(&args, None).await.unwrap().expect_success();
    apply(cluster, file(&cluster_wide(), "rbac.yaml")).await;
}

/// The rules without some verbs on one resource. A rule may name several resources, so each gets one.
fn without(rules: &Value, group: &str, plural: &str, verbs: &[&str]) -> Value {
    let mut each = Vec::new();
    for rule in rules.as_array().unwrap() {
        for resource in rule["resources"].as_array().unwrap() {
            let mut rule = rule.clone();
            rule["resources"] = json!([resource]);
            if rule["apiGroups"][0] == group && resource == plural {
                rule["verbs"]
                    .as_array_mut()
                    .unwrap()
                    .retain(|verb| !verbs.contains(&verb.as_str().unwrap()));
            }
            if rule["verbs"] != json!([]) {
                each.push(rule);
            }
        }
    }
    json!(each)
}
