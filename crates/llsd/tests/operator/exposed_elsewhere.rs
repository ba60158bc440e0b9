//! Where the cluster serves Routes or a Gateway, these expose a server instead of an Ingress: the
//! parts of user story 5 that need other people's kinds.

use kube::api::{Api, DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use llsd_testkit::{ControlPlane, InUse, WhileUsed, skip};
use serde_json::{Value, json};

use llsd_testbed::definitions;
use llsd_testbed::namespace::DISTRIBUTION;
use llsd_testbed::namespace::condition;
use llsd_testbed::test_operator::TestOperator;

/// A cluster that served the kinds before the operator started.
async fn operator() -> Option<InUse<TestOperator>> {
    static OPERATOR: WhileUsed<TestOperator> = WhileUsed::new();
    let start = async || {
        let builder = ControlPlane::builder().with_controller_manager();
        let cluster = builder.start_or_skip().await?;
        if let Err(why) = definitions::both(&cluster.client()).await {
            skip(&why);
            return None;
        }
        let operator = TestOperator::within(cluster, &[]).await;
        operator.configure(json!({"ingressDomain": "apps.example.com"})).await;
        Some(operator)
    };
    OPERATOR.get(start).await
}

fn exposed(expose: &Value) -> Value {
    json!({"distribution": {"name": "starter"}, "networking": {"expose": expose}})
}

/// As OpenShift's router writes it.
async fn admit(operator: &TestOperator, namespace: &str, name: &str, host: &str) {
    let kind = GroupVersionKind::gvk("route.openshift.io", "v1", "Route");
    let kind = ApiResource::from_gvk_with_plural(&kind, "routes");
    let routes: Api<DynamicObject> =
        Api::namespaced_with(operator.cluster.client(), namespace, &kind);
    let status = json!({"status": {"ingress": [{"host": host, "routerName": "default"}]}});
    let patched = routes.patch_status(name, &PatchParams::default(), &Patch::Merge(&status)).await;
    patched.unwrap();
}

#[tokio::test]
async fn us5_1_on_openshift_a_route_with_a_host_of_its_own() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("route").await;
    namespace.distribution("demo", exposed(&json!(true))).await;
    let ready = namespace.until_ready("demo").await;
    assert_eq!(ready["status"]["routeURL"], "", "the router has not given it a host yet");
    let route = namespace.get("Route", "demo").await.expect("a Route");
    assert_eq!(route["spec"].get("host"), None, "OpenShift makes one");
    assert_eq!(route["spec"]["to"]["name"], "demo-service");
    assert_eq!(route["spec"]["tls"]["termination"], "edge");
    assert!(namespace.list("Ingress").await.is_empty());
    let host = format!("demo-{}.apps.cluster.example.com", namespace.name);
    admit(&operator, &namespace.name, "demo", &host).await;
    let url = format!("https://{host}");
    let what = "the status has the Route's URL";
    namespace
        .until(DISTRIBUTION, "demo", what, |object| object["status"]["routeURL"] == url.as_str())
        .await;
    namespace.patch(DISTRIBUTION, "demo", &json!({"spec": exposed(&json!(false))})).await;
    namespace.until_gone("Route", "demo").await;
    let hidden = namespace.until_ready("demo").await;
    assert_eq!(hidden["status"].get("routeURL"), None);
}

#[tokio::test]
async fn us5_2_a_route_has_the_host_that_the_resource_names() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("route-host").await;
    let made = rcgen::generate_simple_self_signed(["llama.example.com".to_owned()]).unwrap();
    let data = json!({"tls.crt": made.cert.pem(), "tls.key": made.signing_key.serialize_pem()});
    namespace.secret("llama-tls", data).await;
    let mut spec = exposed(&json!({"hostname": "llama.example.com"}));
    spec["networking"]["tls"] = json!({"enabled": true, "secretName": "llama-tls"});
    namespace.distribution("demo", spec).await;
    let ready = namespace.until_ready("demo").await;
    assert_eq!(ready["status"]["routeURL"], "https://llama.example.com");
    let route = namespace.get("Route", "demo").await.expect("a Route");
    assert_eq!(route["spec"]["host"], "llama.example.com");
    assert_eq!(route["spec"]["tls"]["termination"], "passthrough", "the server speaks TLS itself");
}

#[tokio::test]
async fn us5_1_behind_a_gateway_an_http_route_with_a_generated_host() {
    let Some(operator) = operator().await else { return };
    let namespace = operator.namespace("gateway").await;
    let gateway = json!({"name": "public", "namespace": "gateways", "sectionName": "https"});
    namespace.distribution("demo", exposed(&json!({"gateway": gateway}))).await;
    let ready = namespace.until_ready("demo").await;
    let host = format!("demo-{}.apps.example.com", namespace.name);
    assert_eq!(ready["status"]["routeURL"], format!("https://{host}"));
    let route = namespace.get("HTTPRoute", "demo").await.expect("an HTTPRoute");
    assert_eq!(route["spec"]["hostnames"], json!([host]));
    let parent = &route["spec"]["parentRefs"][0];
    assert_eq!((&parent["name"], &parent["namespace"]), (&json!("public"), &json!("gateways")));
    let backend = &route["spec"]["rules"][0]["backendRefs"][0];
    assert_eq!((&backend["name"], &backend["port"]), (&json!("demo-service"), &json!(8321)));
    assert_eq!(route["spec"]["rules"][0]["timeouts"], json!({"request": "1h"}));
    assert!(namespace.list("Route").await.is_empty());
    assert_eq!(condition(&ready, "DeploymentUpdated")["status"], "True");
}
