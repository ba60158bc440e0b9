//! What the operator writes into the resource's definition and the validating webhook: its own few
//! fields, again whenever they are lost, and never in the way of whoever applies the install files.

use http::Method;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use llsd::operator::webhook::install::FIELD_MANAGER;
use llsd_install::names;
use llsd_testkit::free_port;
use serde_json::{Value, json};

use llsd_testbed::access::eventually;
use llsd_testbed::operator::Operator;
use llsd_testbed::webhooks::{Calls, Site, definition_path, webhook_path};

/// Served, and registered behind the Service, which leads nowhere here.
fn behind_the_service(site: &Site) -> Operator {
    Operator::replica(&site.cluster, &site.kubeconfig(), &["--webhook-bind-address=127.0.0.1:0"])
}

async fn kubectl(site: &Site, arguments: &[&str], expected: bool) -> String {
    let done = site.cluster.kubectl(arguments, None).await.unwrap();
    assert_eq!(done.success(), expected, "{arguments:?}: {}{}", done.stdout, done.stderr);
    done.stdout
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn applying_the_install_files_again_shows_no_drift_and_takes_nothing_away() {
    let Some(site) = Site::set().await else { return };
    let _replica = behind_the_service(&site);
    let bundle = site.registered().await;
    for path in [definition_path(), webhook_path()] {
        let object = site.get(&path).await;
        let entries = object["metadata"]["managedFields"].as_array().unwrap();
        let ours: Vec<&Value> =
            entries.iter().filter(|entry| entry["manager"] == FIELD_MANAGER).collect();
        let [ours] = ours.as_slice() else { panic!("{ours:?}") };
        let mut leaves = leaves(&ours["fieldsV1"]);
        leaves.dedup();
        assert_eq!(leaves, ["f:caBundle"], "{ours}");
    }
    let mark = site.cluster.audit().mark().await.unwrap();
    let files = ["deploy/crd.yaml", "deploy/webhook.yaml"].map(llsd_cases::files::repository);
    for _ in 0..2 {
        for file in &files {
            for side in ["--server-side=true", "--server-side=false"] {
                let file = file.to_str().unwrap();
                kubectl(&site, &["apply", side, "-f", file], true).await;
                assert_eq!(kubectl(&site, &["diff", side, "-f", file], true).await, "");
            }
        }
    }
    assert_eq!(site.bundles().await, [bundle.clone(), bundle]);
    let writes = site.cluster.audit().requests_of(&site.user).await.unwrap().since(mark).writes();
    let registrations = writes.only(|request| {
        request.resource.contains("definitions") || request.resource.contains("webhook")
    });
    assert!(registrations.is_empty(), "{registrations:#?}");
}

/// The names of the fields without any below them.
fn leaves(fields: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for (name, below) in fields.as_object().into_iter().flatten() {
        if below.as_object().is_some_and(serde_json::Map::is_empty) {
            found.push(name.clone());
        }
        found.extend(leaves(below));
    }
    found
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_somebody_takes_away_is_put_back_also_in_another_definition() {
    let Some(site) = Site::set().await else { return };
    let port = free_port().unwrap();
    let _replica = site.replica(port, port, &[]);
    Calls::prepare(&site).await;
    let bundle = site.registered().await;
    let patch = "application/json-patch+json";
    let conversion = "/spec/conversion/webhook/clientConfig/caBundle";
    for (path, field) in
        [(definition_path(), conversion), (webhook_path(), "/webhooks/0/clientConfig/caBundle")]
    {
        let removal = json!([{"op": "remove", "path": field}]);
        site.send(Method::PATCH, &path, patch, &removal).await;
    }
    eventually("both are back", async || site.bundles().await == [bundle.clone(), bundle.clone()])
        .await;

    for file in ["deploy/crd.yaml", "deploy/webhook.yaml"].map(llsd_cases::files::repository) {
        kubectl(&site, &["delete", "-f", file.to_str().unwrap()], true).await;
        kubectl(&site, &["create", "-f", file.to_str().unwrap()], true).await;
    }
    eventually("both are back", async || site.bundles().await == [bundle.clone(), bundle.clone()])
        .await;
    let mut calls = Calls::prepare(&site).await;
    calls.round().await;
    assert_eq!(calls.failed, Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_does_not_lead_yet_registers_where_nothing_is_and_leaves_alone_what_is_there() {
    let Some(site) = Site::set().await else { return };
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {"name": names::LEASE},
        "spec": {
            "holderIdentity": "v0.9", "leaseDurationSeconds": 3600, "leaseTransitions": 0,
            "renewTime": MicroTime(jiff::Timestamp::now()),
        },
    });
    let leases = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases", names::NAMESPACE);
    site.send(Method::POST, &leases, "application/json", &lease).await;
    let port = free_port().unwrap();
    let first = site.replica(port, port, &[]);
    let mut calls = Calls::prepare(&site).await;
    calls.round().await;
    assert_eq!(calls.failed, Vec::<String>::new());
    assert_eq!(first.figure("llsd_leader").await, Some(0.0));

    let before = site.registered().await;
    let another = free_port().unwrap();
    let second = site.replica(another, another, &[]);
    eventually("it is ready", async || second.probe("/readyz").await == Some(200)).await;
    calls.round().await;
    assert_eq!(calls.failed, Vec::<String>::new());
    assert_eq!(site.bundles().await, [before.clone(), before]);
    let url =
        site.get(&definition_path()).await["spec"]["conversion"]["webhook"]["clientConfig"]["url"]
            .clone();
    assert_eq!(url, format!("https://127.0.0.1:{port}/convert"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_takes_the_place_of_the_service_until_an_operator_is_behind_it_again() {
    let Some(site) = Site::set().await else { return };
    let client_config = async || {
        let definition = site.get(&definition_path()).await;
        definition["spec"]["conversion"]["webhook"]["clientConfig"].clone()
    };
    let service = client_config().await["service"].clone();
    let port = free_port().unwrap();
    let mut outside = site.replica(port, port, &[]);
    site.registered().await;
    let url = format!("https://127.0.0.1:{port}/convert");
    assert_eq!(client_config().await["url"], url.as_str());
    assert_eq!(client_config().await.get("service"), None);
    assert!(outside.stop().success(), "{}", outside.log());

    let _inside = behind_the_service(&site);
    eventually("the Service is back", async || client_config().await["service"] == service).await;
    assert_eq!(client_config().await.get("url"), None);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_registration_of_another_operator_is_left_alone() {
    let Some(site) = Site::set().await else { return };
    let other = json!({"spec": {"conversion": {"webhook": {"clientConfig": {
        "service": {"namespace": "elsewhere"},
    }}}}});
    site.send(Method::PATCH, &definition_path(), "application/merge-patch+json", &other).await;
    let replica = behind_the_service(&site);
    eventually("it says so", async || replica.log().contains("it names the Service elsewhere/"))
        .await;
    assert_eq!(site.bundles().await[0], Value::Null);
}
