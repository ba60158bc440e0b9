//! Which kind exposes a server where a cluster has several.

use llsd_testkit::skip;
use serde_json::json;

use super::{Apart, Namespace, asked};

/// Waits until there is one object of this kind, and none of the others.
async fn only(namespace: &Namespace<'_>, kind: &str) {
    let kinds = ["Route", "HTTPRoute", "Ingress"];
    let what = format!("{kind} alone exposes the server");
    llsd_testbed::access::eventually(&what, async || {
        let mut holds = true;
        for other in kinds {
            holds &= namespace.list(other).await.len() == usize::from(other == kind);
        }
        holds
    })
    .await;
    namespace.until_ready("llama").await;
}

#[tokio::test]
async fn a_route_where_they_are_served_an_http_route_where_a_gateway_is_named() {
    let Some(apart) = Apart::shared().await else { return };
    if let Err(why) = &apart.routes {
        return skip(why);
    }
    let namespace = apart.operator.namespace("routes").await;
    let gateway = json!({"gateway": {"name": "gate", "namespace": "gates"}});
    for (expose, kind) in [
        (json!(true), "Route"),
        (gateway.clone(), "HTTPRoute"),
        (json!({"hostname": "llama.example.com"}), "Route"),
        (gateway, "HTTPRoute"),
        (json!(false), "nothing"),
        (json!(true), "Route"),
    ] {
        asked(&namespace, &json!({"networking": {"expose": expose}})).await;
        only(&namespace, kind).await;
    }
    let route = namespace.get("Route", "llama").await.unwrap();
    assert_eq!(route["spec"]["to"]["name"], "llama-service", "{route}");
    // Drift in a kind of others is put right as well.
    namespace.patch("Route", "llama", &json!({"spec": {"to": {"name": "other"}}})).await;
    namespace
        .until("Route", "llama", "is put right", |now| now["spec"]["to"]["name"] == "llama-service")
        .await;
}
