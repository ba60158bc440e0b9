//! Kinds that are not served, watches that are forbidden, namespaces that are gone.

use std::time::Duration;

use llsd_install::{names, namespaced};
use llsd_testbed::access::eventually;
use llsd_testbed::cluster_pool::ClusterPool;
use llsd_testbed::definitions;
use llsd_testbed::gate::Gate;
use llsd_testbed::granted::{ROLE, grant_all, revoke};
use llsd_testbed::install::{apply, file, install_namespaced};
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition};
use llsd_testbed::neighbour;
use llsd_testbed::operator::Operator;
use llsd_testbed::story::vllm_with_key;
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::{ControlPlane, Kubelet, PodState, skip};
use serde_json::{Value, json};

/// A cluster with everything but the operator.
async fn installed() -> Option<(ClusterPool, Kubelet)> {
    let cluster = ClusterPool::get_or_skip().await?;
    let kubelet = cluster.kubelet(|_| PodState::Ready).await.unwrap();
    Some((cluster, kubelet))
}

async fn namespace<'a>(cluster: &'a ControlPlane, prefix: &str) -> Namespace<'a> {
    Namespace { cluster, name: cluster.namespace(prefix).await.unwrap() }
}

async fn until_figure(operator: &Operator, name: &str, value: f64) {
    let what = format!("{name} is {value}");
    eventually(&what, async || operator.figure(name).await == Some(value)).await;
}

fn behind_a_gateway() -> Value {
    json!({
        "distribution": {"name": "starter"},
        "networking": {"expose": {"hostname": "llama.example.com", "gateway": {"name": "public"}}},
    })
}

#[tokio::test]
async fn a_kind_that_is_not_served_in_its_version_holds_nobody_and_is_used_when_it_is() {
    let builder = ControlPlane::builder().with_controller_manager();
    let Some(cluster) = builder.start_or_skip().await else { return };
    // The group is there, and so is the kind, but not in the version that is written.
    if let Err(why) = definitions::first_http_routes(&cluster.client(), &["v1beta1"]).await {
        return skip(&why);
    }
    let operator = TestOperator::within(cluster, &[]).await;
    let exposed = operator.namespace("exposed").await;
    exposed.distribution("demo", behind_a_gateway()).await;
    neighbour::becomes_ready(&operator.namespace("neighbour").await).await;
    assert_eq!(operator.process.probe("/readyz").await, Some(200));

    let told = exposed.until_condition("demo", "Ready", "False", "KindNotServed").await;
    let message = condition(&told, "Ready")["message"].to_string();
    assert!(message.contains("HTTPRoute (gateway.networking.k8s.io/v1)"), "{message}");
    assert_eq!(condition(&told, "Stalled")["status"], "True", "somebody has to act");
    exposed.until_event("demo", "KindNotServed", "does not serve HTTPRoute").await;
    // All else of it is there.
    let what = "its server is available";
    exposed
        .until(DISTRIBUTION, "demo", what, |object| {
            condition(object, "Available")["status"] == "True"
                && condition(object, "DeploymentReady")["status"] == "True"
        })
        .await;
    until_figure(&operator.process, r#"llsd_kinds_served{resource="httproutes"}"#, 0.0).await;

    let client = operator.cluster.client();
    definitions::first_http_routes(&client, &["v1", "v1beta1"]).await.unwrap();
    exposed.until_ready("demo").await;
    until_figure(&operator.process, r#"llsd_kinds_served{resource="httproutes"}"#, 1.0).await;
    until_figure(&operator.process, r#"llsd_watches_out_of_sync{resource="httproutes"}"#, 0.0)
        .await;
    // The first Gateway API has no timeouts; that is no reason to leave the server unreached.
    let timeouts = |route: &Value| route["spec"]["rules"][0]["timeouts"]["request"].is_string();
    let route = exposed.get("HTTPRoute", "demo").await.unwrap();
    assert!(!timeouts(&route) && route["spec"]["rules"][0]["backendRefs"].is_array(), "{route}");
    // It is watched as if it had been there from the start, and whole where all of it can be.
    definitions::http_routes(&client).await.unwrap();
    exposed.delete("HTTPRoute", "demo").await;
    exposed.until("HTTPRoute", "demo", "is back", timeouts).await;
}

#[tokio::test]
async fn an_api_server_that_does_not_stream_lists_is_listed_in_pages() {
    let builder = ControlPlane::builder().with_controller_manager();
    let builder = builder.api_server_flag("--feature-gates=WatchList=false");
    let Some(cluster) = builder.start_or_skip().await else { return };
    let operator = TestOperator::within(cluster, &[]).await;
    neighbour::becomes_ready(&operator.namespace("neighbour").await).await;
    assert!(
        !operator.process.log().contains("a watch is not up to date"),
        "{}",
        operator.process.log()
    );
}

#[tokio::test]
async fn lists_whose_streams_are_cut_are_read_in_pages() {
    let Some((cluster, _kubelet)) = installed().await else { return };
    let gate = Gate::open(&cluster, &cluster.user, "cut").await;
    gate.cut_streamed_lists();
    let _operator = Operator::replica(&cluster, gate.kubeconfig(), &[]);
    neighbour::becomes_ready(&namespace(&cluster, "neighbour").await).await;
}

#[tokio::test]
async fn a_forbidden_watch_holds_nobody_and_is_told_to_those_who_need_it() {
    let Some((cluster, _kubelet)) = installed().await else { return };
    let user = cluster.user.clone();
    let budgets = ("policy", "poddisruptionbudgets", &["list", "watch"][..]);
    // The right to list alone shows nothing that changes.
    let autoscalers = ("autoscaling", "horizontalpodautoscalers", &["watch"][..]);
    revoke(&cluster, &[budgets, autoscalers]).await;
    let operator = Operator::start(&cluster, &user, names::NAMESPACE, &[]);
    let budgeted = namespace(&cluster, "budgeted").await;
    let workload = json!({"replicas": 2, "podDisruptionBudget": {"minAvailable": 1}});
    let spec = json!({"distribution": {"name": "starter"}, "workload": workload});
    budgeted.distribution("demo", spec).await;
    let other = namespace(&cluster, "neighbour").await;
    neighbour::becomes_ready(&other).await;
    let undisturbed = other.get(DISTRIBUTION, "neighbour").await.unwrap();
    assert_eq!(condition(&undisturbed, "AccessLimited"), &Value::Null);
    assert_eq!(operator.probe("/readyz").await, Some(200));

    // The object can still be read and written by its name, so the server lacks nothing.
    let ready = budgeted.until_ready("demo").await;
    let limited = condition(&ready, "AccessLimited");
    let message = limited["message"].as_str().unwrap();
    assert_eq!((&limited["status"], &limited["reason"]), (&json!("True"), &json!("Forbidden")));
    let sentence = format!(
        "the operator may not watch poddisruptionbudgets.policy in all namespaces: ClusterRole {ROLE} lacks it"
    );
    assert_eq!(message, sentence);
    budgeted.until_event("demo", "AccessLimited", &sentence).await;
    assert!(budgeted.get("PodDisruptionBudget", "demo-pdb").await.is_some());
    let out_of_sync = r#"llsd_watches_out_of_sync{resource="poddisruptionbudgets"}"#;
    let unwatched = r#"llsd_watches_out_of_sync{resource="horizontalpodautoscalers"}"#;
    for figure in [out_of_sync, unwatched] {
        until_figure(&operator, figure, 1.0).await;
    }
    // It is tried again and again, and nothing is written or said for it.
    let mark = budgeted.quiet(&user).await;
    let of_budgets = |request: &llsd_testkit::Request| request.resource == "poddisruptionbudgets";
    let since = async || cluster.audit().requests_of(&user).await.unwrap().since(mark);
    eventually("it is tried again", async || !since().await.only(of_budgets).is_empty()).await;
    assert!(since().await.except_leases().writes().is_empty());
    let log = operator.log();
    let lines = log.lines().filter(|line| line.contains("a watch is not up to date"));
    assert_eq!(lines.count(), 2, "{log}");
    assert!(!log.contains("a watch is up to date again"), "{log}");

    grant_all(&cluster).await;
    let what = "nothing is limited any more";
    budgeted
        .until(DISTRIBUTION, "demo", what, |object| condition(object, "AccessLimited").is_null())
        .await;
    for figure in [out_of_sync, unwatched] {
        until_figure(&operator, figure, 0.0).await;
    }
    budgeted.delete("PodDisruptionBudget", "demo-pdb").await;
    budgeted.until("PodDisruptionBudget", "demo-pdb", "is back", |_| true).await;
}

/// Gives the operator of `home` the rights in another namespace that it has in its own.
async fn extend_to(other: &Namespace<'_>, home: &str) {
    apply(other.cluster, file(&namespaced(&other.name), "namespaced/rbac.yaml")).await;
    let (role, account) =
        (format!("--role={ROLE}"), format!("--serviceaccount={home}:{}", names::OPERATOR));
    let args = ["create", "rolebinding", "operator-next-door", &role, &account, "-n", &other.name];
    other.cluster.kubectl(&args, None).await.unwrap().expect_success();
}

#[tokio::test]
async fn a_namespace_that_is_not_there_holds_no_other_and_is_served_when_it_is() {
    let builder = ControlPlane::builder().with_controller_manager();
    let Some(cluster) = builder.start_or_skip().await else { return };
    let _kubelet = cluster.kubelet(|_| PodState::Ready).await.unwrap();
    let home = namespace(&cluster, "home").await;
    let user = install_namespaced(&cluster, &home.name).await;
    // One that sees nothing at all is not ready.
    let mut blind = Operator::start(&cluster, &user, &home.name, &["--watch-namespace", "later"]);
    eventually("it is not ready", async || blind.probe("/readyz").await == Some(503)).await;
    eventually("it says why", async || {
        blind
            .log()
            .contains("may not list llamastackdistributions.llamastack.io in namespace later")
    })
    .await;
    assert!(blind.stop().success(), "{}", blind.log());

    let both = format!("{},later", home.name);
    let operator = Operator::start(&cluster, &user, &home.name, &["--watch-namespace", &both]);
    neighbour::becomes_ready(&home).await;
    assert_eq!(operator.probe("/readyz").await, Some(200));
    let out_of_sync = r#"llsd_watches_out_of_sync{resource="llamastackdistributions"}"#;
    until_figure(&operator, out_of_sync, 1.0).await;

    cluster.kubectl(&["create", "namespace", "later"], None).await.unwrap().expect_success();
    let later = Namespace { cluster: &cluster, name: "later".to_owned() };
    extend_to(&later, &home.name).await;
    later.distribution("demo", json!({"distribution": {"name": "starter"}})).await;
    later.until_ready("demo").await;
    until_figure(&operator, out_of_sync, 0.0).await;
}

#[tokio::test]
async fn what_was_noted_of_a_resource_goes_with_it_also_while_it_is_worked_on() {
    let Some((cluster, _kubelet)) = installed().await else { return };
    let user = cluster.user.clone();
    let gate = Gate::open(&cluster, &user, "operator").await;
    let operator = Operator::replica(&cluster, gate.kubeconfig(), &["--secret-refresh", "1"]);
    let doomed = namespace(&cluster, "doomed").await;
    let other = namespace(&cluster, "neighbour").await;
    neighbour::becomes_ready(&other).await;
    doomed.secret("vllm-creds", json!({"token": "word"})).await;
    gate.hold_reads_of_secrets();
    doomed.distribution("demo", vllm_with_key()).await;
    gate.somebody_waits().await;
    doomed.delete(DISTRIBUTION, "demo").await;
    doomed.until_gone(DISTRIBUTION, "demo").await;
    let deleted = r#"llsd_reconciles_total{result="deleted"}"#;
    // The operator hears of it, and then gets its answer.
    tokio::time::sleep(Duration::from_secs(1)).await;
    gate.release();
    eventually("it was looked at for the last time", async || {
        operator.figure(deleted).await >= Some(1.0)
    })
    .await;
    let mark = cluster.audit().mark().await.unwrap();
    tokio::time::sleep(Duration::from_secs(4)).await;
    let requests = cluster.audit().requests_of(&user).await.unwrap().since(mark);
    let polled = requests.only(|request| request.name == "vllm-creds");
    assert!(polled.is_empty(), "{polled:#?}");
}
