//! Servers that do not answer: nobody's status waits for them, and nothing is written again and again.

use std::collections::BTreeMap;
use std::time::Duration;

use llsd_testkit::{Mark, RegistryServer};
use serde_json::{Value, json};
use tokio::time::Instant;

use llsd_testbed::access::within;
use llsd_testbed::blackhole_server::BlackholeServer;
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition};
use llsd_testbed::neighbour;
use llsd_testbed::registry::{allowed_hosts, configuration, labelled};
use llsd_testbed::relay::Relay;
use llsd_testbed::story::vllm;
use llsd_testbed::stub_server::StubServer;
use llsd_testbed::test_operator::TestOperator;

/// Enough for four workers to be busy for more than a minute, if they waited for five seconds each.
const SERVERS: usize = 60;

fn resources(specs: impl IntoIterator<Item = (String, Value)>) -> String {
    let resource = |(name, spec): (String, Value)| {
        json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": DISTRIBUTION,
            "metadata": {"name": name}, "spec": spec,
        })
    };
    let items: Vec<Value> = specs.into_iter().map(resource).collect();
    json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string()
}

/// Waits until there are so many objects of a kind as they should be.
async fn until_all(
    namespace: &Namespace<'_>,
    kind: &str,
    count: usize,
    what: &str,
    holds: impl Fn(&Value) -> bool,
) {
    within(Duration::from_mins(3), what, async || {
        namespace.list(kind).await.iter().filter(|object| holds(object)).count() == count
    })
    .await;
}

fn health(resource: &Value) -> (&str, &str) {
    let condition = condition(resource, "HealthCheck");
    let text = |field: &str| condition[field].as_str().unwrap_or_default();
    (text("status"), text("reason"))
}

/// How often the operator has written each object of a namespace since then.
async fn writes(
    operator: &TestOperator,
    namespace: &Namespace<'_>,
    mark: Mark,
) -> BTreeMap<String, usize> {
    let requests =
        operator.cluster.audit().requests_of(&operator.user).await.unwrap().since(mark).writes();
    let here = requests.only(|request| request.namespace == namespace.name);
    let mut counts = BTreeMap::new();
    for request in here.iter().filter(|request| request.resource != "events") {
        *counts.entry(format!("{} {}", request.resource, request.name)).or_default() += 1;
    }
    counts
}

#[tokio::test]
async fn servers_that_do_not_answer_delay_nobodys_status_and_are_told_once() {
    let nobody = BlackholeServer::and_rude();
    let template = format!("http://{}", nobody.host());
    let arguments = ["--concurrency", "4", "--resync", "10", "--server-url-template", &template];
    let Some(operator) = TestOperator::start(&arguments).await else { return };
    let (namespace, other) =
        (operator.namespace("blackhole").await, operator.namespace("other").await);
    let specs = (0..SERVERS)
        .map(|number| (format!("server-{number}"), json!({"distribution": {"name": "starter"}})));
    namespace.apply(&resources(specs)).await;
    until_all(&namespace, "Deployment", SERVERS, "all pods run", |deployment| {
        deployment["status"]["availableReplicas"] == 1
    })
    .await;
    let begun = Instant::now();
    neighbour::becomes_ready(&other).await;
    until_all(&namespace, DISTRIBUTION, SERVERS, "all are Ready", |resource| {
        condition(resource, "Ready")["status"] == "True"
    })
    .await;
    let taken = begun.elapsed();
    assert!(taken < Duration::from_secs(40), "the last status came {taken:?} after the last pod");

    until_all(&namespace, DISTRIBUTION, SERVERS, "what ails the servers is told", |resource| {
        health(resource) == ("Unknown", "ServerUnreachable")
    })
    .await;
    // Asked all the while, in one wording and the other, and looked at every ten seconds.
    let mark = namespace.quiet(&operator.user).await;
    let calls = nobody.calls();
    tokio::time::sleep(Duration::from_secs(25)).await;
    assert_eq!(writes(&operator, &namespace, mark).await, BTreeMap::new());
    assert!(nobody.calls() > calls, "nobody is asked any more");
}

#[tokio::test]
async fn at_rest_with_servers_and_registry_away_a_status_is_written_once_and_then_not() {
    let (server, nobody) = (StubServer::of_all_servers(), BlackholeServer::and_rude());
    let way = Relay::to(&server.host());
    let template = format!("http://{}", way.host());
    let arguments = ["--resync", "3", "--server-url-template", &template];
    let Some(mut operator) = TestOperator::start(&arguments).await else { return };
    let mut registry = RegistryServer::builder().start().await.unwrap();
    registry.push("stack/own", "1", &labelled(configuration())).await.unwrap();
    let hosts = [registry.host().to_owned(), nobody.host()];
    operator.configure(json!({"registries": allowed_hosts(&hosts)})).await;

    let image = |host: &str| json!({"image": format!("{host}/stack/own:1")});
    let mut generated = vllm();
    generated["distribution"] = image(registry.host());
    let name = operator.namespace("away").await.name;
    let namespace = Namespace { cluster: &operator.cluster, name: name.clone() };
    let specs = [
        ("generated", generated),
        ("image", json!({"distribution": image(registry.host())})),
        ("named", json!({"distribution": {"name": "starter"}})),
        // Its registry never answered: it runs without a digest.
        ("unpinned", json!({"distribution": image(&nobody.host())})),
    ];
    namespace.apply(&resources(specs.map(|(name, spec)| (name.to_owned(), spec)))).await;
    until_all(&namespace, DISTRIBUTION, 4, "all are Ready and well", |resource| {
        condition(resource, "Ready")["status"] == "True" && health(resource).0 == "True"
    })
    .await;
    let mark = namespace.quiet(&operator.user).await;
    let running = namespace.running("generated").await;
    way.cut();
    registry.stop();
    neighbour::becomes_ready(&operator.namespace("other").await).await;
    until_all(&namespace, DISTRIBUTION, 4, "the servers' silence is told", |resource| {
        health(resource) == ("Unknown", "ServerUnreachable")
    })
    .await;
    tokio::time::sleep(Duration::from_secs(20)).await;
    let written = writes(&operator, &namespace, mark).await;
    assert_eq!(written.len(), 4, "{written:?}");
    assert!(written.values().all(|times| *times == 1), "{written:?}");

    // The same for an operator that starts now, but that nothing is news to it.
    let mark = namespace.quiet(&operator.user).await;
    operator.restart(&arguments);
    let namespace = Namespace { cluster: &operator.cluster, name };
    tokio::time::sleep(Duration::from_secs(30)).await;
    let written = writes(&operator, &namespace, mark).await;
    let more_than_once = written.iter().find(|(_, times)| **times > 1);
    assert!(more_than_once.is_none(), "{written:?}");
    assert_eq!(namespace.running("generated").await, running, "the server is disturbed");
    for resource in namespace.list(DISTRIBUTION).await {
        assert_eq!(condition(&resource, "Ready")["status"], "True", "{resource:#}");
    }
    let mark = namespace.quiet(&operator.user).await;
    tokio::time::sleep(Duration::from_secs(10)).await;
    assert_eq!(writes(&operator, &namespace, mark).await, BTreeMap::new());
}
