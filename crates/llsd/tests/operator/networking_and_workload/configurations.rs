//! Generated configurations are kept as long as pods may be started with them, and so are
//! the Secret of a database and the bundle of certificates.

use std::collections::BTreeSet;

use serde_json::json;

use super::{Namespace, TestOperator, ask};

use llsd_testbed::everything;
use llsd_testbed::namespace::name_of;

/// Asks for a server of this address, and gives the name of its configuration.
async fn configured(namespace: &Namespace<'_>, endpoint: &str) -> String {
    let inference = json!({"provider": "vllm", "endpoint": format!("http://{endpoint}:8000")});
    let ready = ask(namespace, &json!({"providers": {"inference": inference}})).await;
    ready["status"]["configGeneration"]["configMapName"].as_str().unwrap().to_owned()
}

/// All generated configurations of a namespace.
async fn configurations(namespace: &Namespace<'_>) -> BTreeSet<String> {
    let maps = namespace.list("ConfigMap").await;
    let names = maps.iter().map(|map| map["metadata"]["name"].as_str().unwrap().to_owned());
    names.filter(|name| name.starts_with("llama-config-")).collect()
}

#[tokio::test]
async fn the_last_two_configurations_and_those_of_replica_sets_are_kept() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("configurations").await;
    let other = operator.namespace("another").await;
    let mut others = BTreeSet::new();
    for endpoint in ["x", "y", "z"] {
        others.insert(configured(&other, endpoint).await);
    }
    let mut names = Vec::new();
    for endpoint in ["a", "b", "c", "d"] {
        names.push(configured(&namespace, endpoint).await);
    }
    let all: BTreeSet<String> = names.iter().cloned().collect();
    assert_eq!(all.len(), 4, "a change makes a new one");
    assert_eq!(configurations(&namespace).await, all, "old ReplicaSets name them");
    // Nobody can go back to the first two any more.
    for replica_set in namespace.list("ReplicaSet").await {
        let text = replica_set["spec"].to_string();
        if text.contains(&names[0]) || text.contains(&names[1]) {
            let name = replica_set["metadata"]["name"].as_str().unwrap();
            namespace.delete("ReplicaSet", name).await;
            namespace.until_gone("ReplicaSet", name).await;
        }
    }
    names.push(configured(&namespace, "e").await);
    for gone in &names[..2] {
        namespace.until_gone("ConfigMap", gone).await;
    }
    let kept: BTreeSet<String> = names[2..].iter().cloned().collect();
    assert_eq!(configurations(&namespace).await, kept);
    // Back to one that is still there: it is used, not made anew.
    let before = namespace.get("ConfigMap", &names[2]).await.unwrap();
    assert_eq!(before["immutable"], true, "{before}");
    let resource = namespace.get("LlamaStackDistribution", "llama").await.unwrap();
    let owner = &before["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], resource["metadata"]["uid"], "{before}");
    assert_eq!(configured(&namespace, "c").await, names[2]);
    assert_eq!(namespace.get("ConfigMap", &names[2]).await.unwrap(), before);
    assert_eq!(configurations(&other).await, others, "those of others are none of ours");
}

#[tokio::test]
async fn what_is_named_by_its_content_goes_with_the_last_state_that_needs_it() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("database").await;
    everything::prepare(&namespace).await;
    let rich = everything::spec();
    let rich =
        json!({"storage": rich["storage"], "networking": {"tls": rich["networking"]["tls"]}});
    for number in 0..2 {
        ask(&namespace, &rich).await;
        let objects = [("Secret", "llama-storage-"), ("ConfigMap", "llama-ca-bundle-")];
        let mut made = Vec::new();
        for (kind, start) in objects {
            let object = namespace.find(kind, start).await.unwrap();
            assert_eq!(object["immutable"], true, "{object}");
            made.push((kind, name_of(&object).to_owned()));
        }
        let plain = json!({"storage": {"sql": {"type": "sqlite"}}});
        ask(&namespace, &plain).await;
        for (kind, name) in &made {
            assert!(namespace.get(kind, name).await.is_some(), "{kind}: one can go back to it");
        }
        // Nobody can any more.
        let sets = namespace.list("ReplicaSet").await;
        for set in sets.iter().filter(|set| set["spec"]["replicas"] == 0) {
            namespace.delete("ReplicaSet", name_of(set)).await;
            namespace.until_gone("ReplicaSet", name_of(set)).await;
        }
        let other = json!({"overrides": {"env": [{"name": "ROUND", "value": number.to_string()}]}});
        ask(&namespace, &json!({"storage": plain["storage"], "workload": other})).await;
        for (kind, name) in &made {
            namespace.until_gone(kind, name).await;
        }
    }
}
