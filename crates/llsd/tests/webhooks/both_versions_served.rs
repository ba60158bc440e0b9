//! A real API server serves both versions through the webhook: whatever is read or written in
//! either, nothing is lost, and what was not changed stays byte for byte.

use std::sync::OnceLock;

use futures::AsyncBufReadExt;
use http::{Method, Request};
use llsd_testbed::access::eventually;
use llsd_testkit::{ControlPlane, SharedControlPlane};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::registration::install_conversion;
use crate::server::{Identity, Server};
use crate::versioned::{Versioned, lasting, samples, versions};

static CLUSTER: SharedControlPlane = SharedControlPlane::new(ControlPlane::builder);
static INSTALLED: OnceCell<()> = OnceCell::const_new();
static SERVER: OnceLock<(Identity, Server)> = OnceLock::new();

/// Resources of a namespace of their own.
async fn resources() -> Option<(&'static ControlPlane, Versioned)> {
    let cluster = CLUSTER.get_or_skip().await?;
    let install = async || {
        let (identity, server) = SERVER.get_or_init(|| {
            let identity = Identity::new();
            let server = Server::start(&identity, None);
            (identity, server)
        });
        install_conversion(cluster, server.address, identity).await;
    };
    INSTALLED.get_or_init(install).await;
    let namespace = cluster.namespace("versions").await.unwrap();
    Some((cluster, Versioned::new(cluster.client(), &namespace)))
}

#[tokio::test]
async fn every_sample_comes_back_byte_for_byte_after_a_write_through_the_other_version() {
    let Some((_, resources)) = resources().await else { return };
    let mut created = Vec::new();
    for (number, (file, mut sample)) in samples().into_iter().enumerate() {
        let [own, other] = versions(&sample);
        let name = format!("sample-{number}");
        sample["metadata"]["name"] = json!(name);
        let first = lasting(resources.create(own, &sample).await);
        let seen = resources.get(other, &name).await;
        assert_eq!(seen["apiVersion"], format!("llamastack.io/{other}"), "{file}");
        let written = resources.replace(other, &name, &seen).await.expect(&file);
        assert_eq!(lasting(written), lasting(seen), "{file}");
        let again = lasting(resources.get(own, &name).await);
        assert_eq!(first["metadata"]["generation"], again["metadata"]["generation"], "{file}");
        assert_eq!(first.to_string(), again.to_string(), "{file}");
        created.push((name, other, first));
    }
    for version in ["v1alpha1", "v1alpha2"] {
        let listed = resources.list(version).await.unwrap();
        assert_eq!(listed.len(), created.len());
        for (name, _, first) in &created {
            let item = listed.iter().find(|item| item["metadata"]["name"] == *name).unwrap();
            if item["apiVersion"] == first["apiVersion"] {
                assert_eq!(lasting(item.clone()).to_string(), first.to_string());
            }
        }
    }
    for (name, other, _) in &created {
        resources.delete(other, name).await;
    }
    assert_eq!(resources.list("v1alpha1").await.unwrap(), [json!(null); 0]);
}

#[tokio::test]
async fn a_v1alpha1_write_to_a_v1alpha2_resource_changes_what_it_says_and_nothing_else() {
    let Some((_, resources)) = resources().await else { return };
    let (_, full) = samples().into_iter().find(|(file, _)| file == "v1alpha2-full").unwrap();
    let mut expected = resources.create("v1alpha2", &full).await;
    let merge = json!({"spec": {"replicas": 7}});
    resources.merge("v1alpha1", "full", &merge).await.expect("merge patch");
    expected["spec"]["workload"]["replicas"] = json!(7);
    assert_eq!(resources.get("v1alpha2", "full").await["spec"], expected["spec"]);

    let patch = json!([
        {"op": "replace", "path": "/spec/server/containerSpec/port", "value": 9000},
        {"op": "add", "path": "/metadata/labels", "value": {"team": "a"}},
    ]);
    let kind = "application/json-patch+json";
    resources.send_as(kind, Method::PATCH, "v1alpha1", "/full", &patch).await.expect("json patch");
    expected["spec"]["networking"]["port"] = json!(9000);
    let now = resources.get("v1alpha2", "full").await;
    assert_eq!(now["spec"], expected["spec"]);
    assert_eq!(now["metadata"]["labels"]["team"], "a");

    let mut read = resources.get("v1alpha1", "full").await;
    read["spec"]["network"]["exposeRoute"] = json!(false);
    resources.replace("v1alpha1", "full", &read).await.expect("replace");
    let hidden = resources.get("v1alpha2", "full").await;
    assert_eq!(hidden["spec"]["networking"]["expose"], false);
    assert_eq!(hidden["spec"]["providers"], expected["spec"]["providers"]);
}

#[tokio::test]
async fn a_status_written_through_either_version_is_read_through_both() {
    let Some((_, resources)) = resources().await else { return };
    let spec = json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": {"provider": "vllm", "endpoint": "http://vllm:8000"}},
    });
    resources.create("v1alpha2", &resource("status", &spec)).await;
    for (version, other, phase) in
        [("v1alpha1", "v1alpha2", "Initializing"), ("v1alpha2", "v1alpha1", "Ready")]
    {
        let before = resources.get(other, "status").await;
        let mut object = resources.get(version, "status").await;
        object["status"]["phase"] = json!(phase);
        object["status"]["availableReplicas"] = json!(2);
        // Of the status subresource alone the status counts.
        object["spec"] = json!({});
        let put = resources.send(Method::PUT, version, "/status/status", &object).await;
        put.expect("status");
        let after = resources.get(other, "status").await;
        assert_eq!(after["status"]["phase"], phase);
        assert_eq!(after["status"]["availableReplicas"], 2);
        assert_eq!(after["spec"], before["spec"]);
        assert_eq!(after["metadata"]["generation"], 1);
    }
}

#[tokio::test]
async fn a_watch_of_either_version_tells_of_writes_through_the_other() {
    let Some((cluster, resources)) = resources().await else { return };
    let made = resources.create("v1alpha2", &resource("seen", &starter())).await;
    let from = made["metadata"]["resourceVersion"].as_str().unwrap();
    let namespace = made["metadata"]["namespace"].as_str().unwrap();
    let client = cluster.client();
    for version in ["v1alpha1", "v1alpha2"] {
        let uri = format!(
            "/apis/llamastack.io/{version}/namespaces/{namespace}/llamastackdistributions\
             ?watch=true&resourceVersion={from}&timeoutSeconds=60"
        );
        let request = Request::get(uri).body(Vec::new()).unwrap();
        let mut lines = client.request_stream(request).await.unwrap().lines();
        if version == "v1alpha1" {
            let merge = json!({"spec": {"replicas": 3}});
            resources.merge("v1alpha1", "seen", &merge).await.expect("patch");
            resources.delete("v1alpha1", "seen").await;
        }
        for expected in ["MODIFIED", "DELETED"] {
            let line = futures::TryStreamExt::try_next(&mut lines).await.unwrap().unwrap();
            let event: Value = serde_json::from_str(&line).unwrap();
            assert_eq!(event["type"], expected, "{event}");
            assert_eq!(event["object"]["apiVersion"], format!("llamastack.io/{version}"));
            let replicas = match version {
                "v1alpha1" => &event["object"]["spec"]["replicas"],
                _ => &event["object"]["spec"]["workload"]["replicas"],
            };
            assert_eq!(*replicas, 3);
        }
    }
}

/// What an author may write is judged after conversion, whichever way it came in.
#[tokio::test]
async fn what_takes_the_right_to_create_pods_takes_it_in_either_version() {
    let Some((cluster, _)) = resources().await else { return };
    for object in llsd_api::policy::manifests() {
        if object["metadata"]["name"] == llsd_api::policy::PODS {
            let args = ["apply", "--server-side", "-f", "-"];
            let applied = cluster.kubectl(&args, Some(&object.to_string())).await.unwrap();
            applied.expect_success();
        }
    }
    let namespace = cluster.namespace("author").await.unwrap();
    let resource = "--resource=llamastackdistributions.llamastack.io";
    for args in [
        ["create", "role", "author", "--verb=*", resource],
        ["create", "rolebinding", "author", "--role=author", "--user=author"],
    ] {
        let args = [&args[..], &["-n", &namespace]].concat();
        cluster.kubectl(&args, None).await.unwrap().expect_success();
    }
    let author = Versioned::new(cluster.client_for("author", &[]), &namespace);
    let old = |name: &str, pod: Value| {
        let server = json!({"distribution": {"name": "starter"}, "podOverrides": pod});
        json!({
            "apiVersion": "llamastack.io/v1alpha1", "kind": "LlamaStackDistribution",
            "metadata": {"name": name}, "spec": {"server": server},
        })
    };
    let is_denied = async |version: &str, object: &Value| {
        let answer = author.send(Method::POST, version, "", object).await;
        let said = answer.body["message"].as_str().unwrap_or_default();
        answer.code == 403 && said.contains("requires permission to create pods")
    };
    let written = old("account", json!({"serviceAccountName": "admin"}));
    eventually("it is denied", async || is_denied("v1alpha1", &written).await).await;
    let mut carried = old("carried", json!({}));
    let mut spec = starter();
    spec["workload"] = json!({"overrides": {"podLabels": {"a": "b"}}});
    let own = self::resource("own", &spec);
    assert!(is_denied("v1alpha2", &own).await);
    // As the other version carries it: read from one that an administrator wrote.
    let admin = Versioned::new(cluster.client(), &namespace);
    admin.create("v1alpha2", &own).await;
    let seen = admin.get("v1alpha1", "own").await;
    carried["metadata"]["annotations"] = seen["metadata"]["annotations"].clone();
    assert!(is_denied("v1alpha1", &carried).await);
    let replicas = json!({"spec": {"replicas": 2}});
    author.merge("v1alpha1", "own", &replicas).await.expect("an edit elsewhere");
    author.create("v1alpha1", &old("plain", json!({}))).await;
}

fn starter() -> Value {
    json!({"distribution": {"name": "starter"}})
}

fn resource(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
        "metadata": {"name": name}, "spec": spec,
    })
}
