//! The certificates that a server trusts follow the ConfigMaps that hold them: their content, and
//! nothing else of them.

use serde_json::{Value, json};

use super::{Namespace, TestOperator, ask};

use llsd_testbed::access::eventually;
use llsd_testbed::authority::authority;

const ODH: &str = "odh-trusted-ca-bundle";

/// A ConfigMap with these certificates by key.
async fn config_map(namespace: &Namespace<'_>, name: &str, data: Value, label: &str) {
    let map = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": {"name": name, "labels": {"label": label}}, "data": data,
    });
    namespace.apply(&map.to_string()).await;
}

/// How often the pods were rolled, once they have settled.
async fn rollouts(namespace: &Namespace<'_>) -> u32 {
    namespace.until_ready("llama").await;
    let deployment = namespace.get("Deployment", "llama").await.unwrap();
    let revision = &deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"];
    revision.as_str().unwrap().parse().unwrap()
}

/// The ConfigMap with certificates that pods mount.
fn bundle_of(deployment: &Value) -> Option<&str> {
    let volumes = deployment["spec"]["template"]["spec"]["volumes"].as_array().unwrap();
    let volume = volumes.iter().find(|volume| volume["name"] == "ca-bundle")?;
    volume["configMap"]["name"].as_str()
}

/// Waits until the server's bundle is made of exactly these certificates.
async fn until_trusted(namespace: &Namespace<'_>, certificates: &[&str]) {
    let lines = |pem: &str| pem.lines().map(str::trim).collect::<String>();
    let wanted: String = certificates.iter().map(|pem| lines(pem)).collect();
    eventually("its pods trust the certificates", async || {
        let deployment = namespace.get("Deployment", "llama").await.unwrap();
        let Some(name) = bundle_of(&deployment) else { return false };
        let bundle = namespace.get("ConfigMap", name).await.unwrap();
        assert_eq!(bundle["metadata"]["labels"]["app.kubernetes.io/component"], "ca-bundle");
        lines(bundle["data"]["ca-bundle.crt"].as_str().unwrap()) == wanted
    })
    .await;
}

/// Waits until the pods were rolled so often, and no more often.
async fn until_rolled(namespace: &Namespace<'_>, times: u32) {
    let what = format!("is rolled for the {times}. time");
    namespace
        .until("Deployment", "llama", &what, |now| {
            now["metadata"]["annotations"]["deployment.kubernetes.io/revision"]
                == *times.to_string()
        })
        .await;
    assert_eq!(rollouts(namespace).await, times);
}

#[tokio::test]
async fn certificates_of_several_keys_in_another_namespace_are_trusted_and_followed() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("trusting").await;
    let elsewhere = operator.namespace("authorities").await;
    operator.configure(json!({"caBundleNamespaces": elsewhere.name})).await;
    let [a, b, c] = ["a", "b", "c"].map(authority);
    config_map(&elsewhere, "both", json!({"a.crt": a, "b.crt": b, "other": "x"}), "1").await;
    let bundle = json!({
        "configMapName": "both", "configMapNamespace": elsewhere.name,
        "configMapKeys": ["b.crt", "a.crt"],
    });
    ask(&namespace, &json!({"networking": {"tls": {"caBundle": bundle}}})).await;
    until_trusted(&namespace, &[&b, &a]).await;
    assert_eq!(rollouts(&namespace).await, 1);
    // Neither a label nor a key that was not asked for is a reason to restart a server.
    config_map(&elsewhere, "both", json!({"a.crt": a, "b.crt": b, "other": "y"}), "2").await;
    config_map(&elsewhere, "both", json!({"a.crt": a, "b.crt": c, "other": "y"}), "2").await;
    until_trusted(&namespace, &[&c, &a]).await;
    until_rolled(&namespace, 2).await;
}

#[tokio::test]
async fn the_bundle_of_openshift_ai_is_trusted_as_soon_as_it_is_there_and_as_long() {
    let Some(operator) = TestOperator::shared().await else { return };
    let namespace = operator.namespace("data-science").await;
    ask(&namespace, &json!({})).await;
    assert_eq!(rollouts(&namespace).await, 1);
    assert!(namespace.find("ConfigMap", "llama-ca-bundle-").await.is_none());
    let [a, b] = ["a", "b"].map(authority);

    config_map(&namespace, ODH, json!({"ca-bundle.crt": a}), "1").await;
    until_trusted(&namespace, &[&a]).await;
    until_rolled(&namespace, 2).await;

    config_map(&namespace, ODH, json!({"ca-bundle.crt": a}), "2").await;
    config_map(&namespace, ODH, json!({"ca-bundle.crt": a, "odh-ca-bundle.crt": b}), "2").await;
    until_trusted(&namespace, &[&a, &b]).await;
    until_rolled(&namespace, 3).await;

    namespace.delete("ConfigMap", ODH).await;
    until_rolled(&namespace, 4).await;
    let deployment = namespace.get("Deployment", "llama").await.unwrap();
    assert_eq!(bundle_of(&deployment), None);
}
