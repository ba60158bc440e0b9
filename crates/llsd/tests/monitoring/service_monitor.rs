//! `spec.monitoring` on a real API server: what a cluster without the Prometheus Operator gets, what is made when it
//! comes, and what goes with the field.

use llsd_testbed::access::eventually;
use llsd_testbed::definitions;
use llsd_testbed::namespace::{DISTRIBUTION, condition};
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::skip;
use serde_json::json;

#[tokio::test]
async fn figures_of_a_server_are_found_guarded_and_forgotten() {
    let Some(operator) = TestOperator::start(&[]).await else { return };
    let namespace = operator.namespace("watched").await;
    let spec = json!({
        "distribution": {"name": "ogx-starter"},
        "monitoring": {
            "metrics": {"enabled": true},
            "serviceMonitor": {"labels": {"release": "prometheus"}},
            "otlp": {"endpoint": "http://collector:4318"},
        },
    });
    namespace.distribution("llama", spec).await;
    namespace.until_ready("llama").await;
    namespace.until_event("llama", "SpecWarning", "ServiceMonitor").await;
    let service = namespace.get("Service", "llama-service").await.unwrap();
    assert_eq!(service["spec"]["ports"][1]["name"], "metrics", "{service:#}");
    let policy = namespace.get("NetworkPolicy", "llama-network-policy").await.unwrap();
    let rules = policy["spec"]["ingress"].as_array().unwrap();
    assert_eq!(rules[1]["ports"][0]["port"], 9464, "{policy:#}");
    assert_eq!(rules[1]["from"].as_array().map(Vec::len), Some(2), "{policy:#}");
    assert!(rules[0].get("from").is_none(), "all other ports stay open: {policy:#}");

    // The kind comes later, and somebody's hand is mended.
    if let Err(why) = definitions::prometheus(&operator.cluster.client()).await {
        return skip(&why);
    }
    let kind = "ServiceMonitor";
    let made = |found: &serde_json::Value| {
        found["metadata"]["labels"]["release"] == "prometheus"
            && found["spec"]["endpoints"][0]["port"] == "metrics"
    };
    namespace.until(kind, "llama", "is made", made).await;
    namespace.delete(kind, "llama").await;
    namespace.until(kind, "llama", "is back", made).await;
    let ready = namespace.until_ready("llama").await;
    assert!(condition(&ready, "AccessLimited").is_null(), "{ready:#}");

    // v1alpha1 carries the field, and without it everything goes.
    let off = json!({"spec": {"monitoring": null}});
    namespace.patch(DISTRIBUTION, "llama", &off).await;
    namespace.until_gone(kind, "llama").await;
    namespace.until_gone("NetworkPolicy", "llama-network-policy").await;
    eventually("the Service has one port", async || {
        let service = namespace.get("Service", "llama-service").await.unwrap();
        service["spec"]["ports"].as_array().map(Vec::len) == Some(1)
    })
    .await;
}
