//! What holds when something is out of order: objects that no version can parse, and a webhook that
//! is away for a while.

use futures::{AsyncBufReadExt, TryStreamExt};
use http::Request;
use llsd_testkit::ControlPlane;
use serde_json::{Value, json};

use crate::registration::{install_conversion, register_admission};
use crate::server::{Identity, Server};
use crate::versioned::Versioned;
use llsd_testbed::access::eventually;
use llsd_testbed::cluster::create_when_served;

const OLD_NAME: &str = "llamastackdistributions.v1alpha1.llamastack.io";

/// A CRD that takes anything and stores it as v1alpha1, as careless installations have it.
fn lax_crd(stored: &str) -> Value {
    let mut crd = llsd_api::crd::manifest();
    crd["spec"]["conversion"] = json!({"strategy": "None"});
    for version in crd["spec"]["versions"].as_array_mut().unwrap() {
        version["storage"] = json!(version["name"] == stored);
        version["schema"]["openAPIV3Schema"] =
            json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        version.as_object_mut().unwrap().remove("selectableFields");
        // For its number of pods the API server would look into every spec.
        version["subresources"].as_object_mut().unwrap().remove("scale");
    }
    crd
}

/// JSON by hand, as no client of ours would nest so deeply.
fn nested(depth: usize) -> String {
    let object = json!({
        "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
        "metadata": {"name": "deep"},
        "spec": {"distribution": {"name": "starter"},
                 "providers": {"inference": {"provider": "vllm", "settings": {"x": "HERE"}}}},
    });
    let value = format!("{}1{}", "[".repeat(depth), "]".repeat(depth));
    object.to_string().replace("\"HERE\"", &value)
}

#[tokio::test]
async fn an_object_that_no_version_can_parse_stops_no_list_and_no_watch() {
    let Some(cluster) = ControlPlane::start_or_skip().await else { return };
    let mut expected = 0;
    for stored in ["v1alpha1", "v1alpha2"] {
        crate::registration::apply(&cluster, &lax_crd(stored)).await;
        eventually("the storage version is the one asked for", async || {
            let args = [
                "get",
                "crd",
                "llamastackdistributions.llamastack.io",
                "-o",
                "jsonpath={.status.storedVersions}",
            ];
            cluster.kubectl(&args, None).await.unwrap().stdout.contains(stored)
        })
        .await;
        for (number, odd) in [
            json!({}),
            json!({"spec": null}),
            json!({"spec": "text", "status": 7}),
            json!({"spec": [1, {"a": []}]}),
            json!({"spec": {"server": 3, "replicas": "many", "distribution": [], "networking": "x"}}),
            json!({"spec": {"server": {"containerSpec": [], "podOverrides": "p"}, "network": true,
                            "providers": 17, "workload": {"overrides": {"env": {"a": 1}}}}}),
        ]
        .into_iter()
        .enumerate()
        {
            let mut object = odd;
            object["apiVersion"] = json!(format!("llamastack.io/{stored}"));
            object["kind"] = json!("LlamaStackDistribution");
            object["metadata"] = json!({"name": format!("{stored}-{number}")});
            create_when_served(&cluster, &object.to_string()).await;
            expected += 1;
        }
    }
    let identity = Identity::new();
    let server = Server::start(&identity, None);
    install_conversion(&cluster, server.address, &identity).await;
    let resources = Versioned::new(cluster.client(), "default");
    for version in ["v1alpha1", "v1alpha2"] {
        assert_eq!(resources.list(version).await.unwrap().len(), expected);
        let uri = format!(
            "/apis/llamastack.io/{version}/llamastackdistributions?watch=true&timeoutSeconds=60"
        );
        let request = Request::get(uri).body(Vec::new()).unwrap();
        let mut events = cluster.client().request_stream(request).await.unwrap().lines();
        for _ in 0..expected {
            let event: Value =
                serde_json::from_str(&events.try_next().await.unwrap().unwrap()).unwrap();
            assert_eq!(event["type"], "ADDED", "{event}");
        }
    }
    // Ten thousand levels are the API server's own limit; our clients read 128.
    for depth in [200, 9_000] {
        create_when_served(&cluster, &nested(depth)).await;
        for name in [OLD_NAME, "llsd"] {
            let got = cluster.kubectl(&["get", name, "-o", "name"], None).await.unwrap();
            assert_eq!(got.expect_success().lines().count(), expected + 1, "{depth} {name}");
        }
        // Written through the other version, nothing of it is lost.
        let label = ["label", OLD_NAME, "deep", "a=b"];
        cluster.kubectl(&label, None).await.unwrap().expect_success();
        let args = ["get", "llsd", "deep", "-o", "jsonpath={.spec.providers.inference.settings}"];
        let settings = cluster.kubectl(&args, None).await.unwrap().expect_success();
        assert_eq!(settings.matches('[').count(), depth);
        cluster.kubectl(&["delete", "llsd", "deep"], None).await.unwrap().expect_success();
    }
}

#[tokio::test]
async fn without_the_webhook_the_stored_version_goes_on_and_v1alpha1_returns_with_it() {
    let Some(cluster) = ControlPlane::start_or_skip().await else { return };
    let identity = Identity::new();
    let server = Server::start(&identity, None);
    install_conversion(&cluster, server.address, &identity).await;
    register_admission(&cluster, server.address, &identity).await;
    let resources = Versioned::new(cluster.client(), "default");
    let object = |name: &str| {
        json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
            "metadata": {"name": name}, "spec": {"distribution": {"name": "starter"}},
        })
    };
    resources.create("v1alpha2", &object("before")).await;
    resources.get("v1alpha1", "before").await;

    let address = server.end();
    resources.create("v1alpha2", &object("during")).await;
    let replicas = json!({"spec": {"workload": {"replicas": 2}}});
    resources.merge("v1alpha2", "before", &replicas).await.expect("a write while it is away");
    assert_eq!(resources.list("v1alpha2").await.unwrap().len(), 2);
    let read = cluster.kubectl(&["get", OLD_NAME, "during"], None).await.unwrap();
    assert!(!read.success());
    assert!(read.stderr.contains("conversion webhook"), "{}", read.stderr);
    resources.delete("v1alpha2", "during").await;

    let server = Server::start_at(address, &identity, None);
    eventually("v1alpha1 is served again", async || resources.list("v1alpha1").await.is_ok()).await;
    assert_eq!(resources.get("v1alpha1", "before").await["spec"]["replicas"], 2);
    assert!(
        server
            .metrics
            .text()
            .contains("llsd_webhook_calls_total{path=\"convert\",result=\"answered\"}")
    );
}
