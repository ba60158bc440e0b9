//! A real Prometheus reads two replicas of the operator at work: every query of the dashboard and every alert is
//! asked, and what it finds is true.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use llsd_install::monitoring::{dashboard, monitoring};
use llsd_install::names;
use llsd_testbed::access::eventually;
use llsd_testbed::definitions;
use llsd_testbed::namespace::Namespace;
use llsd_testbed::operator::Operator;
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::{Prometheus, skip};
use serde_json::{Value, json};

use crate::alerts::groups;
use crate::picture;

/// Every query of the dashboard, with its variable as Grafana fills it in.
fn queries() -> Vec<String> {
    let dashboard = dashboard();
    let panels = dashboard["panels"].as_array().unwrap();
    let targets = panels.iter().filter_map(|panel| panel["targets"].as_array()).flatten();
    let queries = targets.map(|target| target["expr"].as_str().unwrap());
    queries.map(|query| query.replace("$namespace", ".*")).collect()
}

/// The value of a query that finds one series, else nothing.
async fn value(prometheus: &Prometheus, query: &str) -> Option<f64> {
    let found = prometheus.query(query).await.unwrap_or_else(|error| panic!("{query}: {error:#}"));
    match found.as_slice() {
        [one] => one["value"][1].as_str()?.parse().ok(),
        _ => None,
    }
}

async fn is(prometheus: &Prometheus, query: &str, expected: f64) {
    let asked = async || {
        value(prometheus, query).await.is_some_and(|found| (found - expected).abs() < 0.001)
    };
    eventually(&format!("{query} is {expected}"), asked).await;
}

fn metric_names(query: &str) -> BTreeSet<&str> {
    let words = query.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with("llsd_") || word.starts_with("process_")).collect()
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs_f64()
}

/// Three minutes of a small cluster's life: servers come, are scaled, and go.
async fn work_for_a_picture(namespace: &Namespace<'_>) {
    for at in 0..18 {
        let name = format!("server-{}", at % 6);
        if at < 12 {
            let spec =
                json!({"distribution": {"name": "starter"}, "workload": {"replicas": 1 + at / 6}});
            namespace.distribution(&name, spec).await;
        } else if at < 15 {
            namespace.delete("LlamaStackDistribution", &name).await;
        }
        tokio::time::sleep(Duration::from_secs(10)).await;
    }
}

#[tokio::test]
async fn prometheus_reads_the_operator_and_every_query_finds_its_figures() {
    let Some(operator) = TestOperator::start(&[]).await else { return };
    let kubeconfig = operator.cluster.kubeconfig_for(&operator.user, &[]);
    let second = Operator::replica(&operator.cluster, &kubeconfig, &[]);
    let mut targets = Vec::new();
    for operator in [&operator.process, &second] {
        eventually("it serves figures", async || operator.figure("llsd_leader").await.is_some())
            .await;
        targets.push(operator.metrics_address().unwrap());
    }
    let Some(prometheus) = Prometheus::start_or_skip("operators", &targets, &groups()).await else {
        return;
    };

    let begun = now();
    let namespace = operator.namespace("scraped").await;
    for name in ["one", "two"] {
        namespace.distribution(name, json!({"distribution": {"name": "starter"}})).await;
        namespace.until_ready(name).await;
    }
    let mistake = json!({"distribution": {"name": "starter"}, "resources": {"models": [{"name": "m", "provider": "nobody"}]}});
    namespace.distribution("wrong", mistake).await;
    namespace
        .until("LlamaStackDistribution", "wrong", "has failed", |found| {
            found["status"]["phase"] == "Failed"
        })
        .await;

    // One truth over both replicas.
    is(&prometheus, "count(llsd_build_info)", 2.0).await;
    is(&prometheus, "sum(llsd_leader)", 1.0).await;
    is(&prometheus, "sum(llsd_resources{phase=\"Ready\"})", 2.0).await;
    is(&prometheus, "sum(llsd_resources{phase=\"Failed\"})", 1.0).await;
    is(&prometheus, "sum(llsd_conditions{condition=\"Ready\",status=\"True\"})", 2.0).await;
    is(&prometheus, "sum(llsd_conditions{condition=\"Ready\",status=\"False\"})", 1.0).await;
    is(&prometheus, "sum(llsd_watches_out_of_sync)", 0.0).await;
    is(&prometheus, "max(llsd_oldest_change_age_seconds)", 0.0).await;

    // What is asked is there: a figure that nobody has would be a picture that is always empty.
    let all = prometheus.query("{__name__=~\"llsd_.*|process_.*\"}").await.unwrap();
    let there: BTreeSet<&str> =
        all.iter().filter_map(|series| series["metric"]["__name__"].as_str()).collect();
    for query in queries() {
        let found = prometheus.query(&query).await;
        assert!(found.is_ok(), "{query}: {found:?}");
        let missing: Vec<_> =
            metric_names(&query).into_iter().filter(|name| !there.contains(name)).collect();
        // This operator serves no webhooks, so it has no certificates.
        assert!(
            missing.iter().all(|name| name.starts_with("llsd_certificate_")),
            "{query}: {missing:?}"
        );
    }

    // The picture in the docs is drawn from such data.
    let picture = match std::env::var_os("DASHBOARD_PICTURE") {
        None => picture::drawn(&dashboard(), &prometheus, begun, now()).await,
        Some(file) => {
            work_for_a_picture(&namespace).await;
            let drawn = picture::drawn(&dashboard(), &prometheus, begun, now()).await;
            std::fs::write(file, &drawn).unwrap();
            drawn
        }
    };
    for part in [">Ready</text>", ">Memory of each replica</text>", "<polyline", "<polygon"] {
        assert!(picture.contains(part), "{part}");
    }

    // The objects that have it watched are taken by an API server that knows their kinds.
    match definitions::prometheus(&operator.cluster.client()).await {
        Ok(()) => {
            for file in monitoring(names::NAMESPACE, true) {
                operator.operator_namespace().apply(&file.text()).await;
            }
        }
        Err(why) => skip(&why),
    }

    // Every alert is evaluated without an error, and what should be is on its way.
    let checked = async || prometheus.rules().await.unwrap();
    let state = |rules: &[Value], name: &str| {
        rules.iter().find(|rule| rule["name"] == name).unwrap()["state"].clone()
    };
    eventually("all rules are evaluated", async || {
        checked().await.iter().all(|rule| rule["health"] == "ok")
    })
    .await;
    eventually("the failed resource is noticed", async || {
        state(&checked().await, "LlsdResourcesFailed") == "pending"
    })
    .await;
    let rules = checked().await;
    for name in
        ["LlsdOperatorDown", "LlsdNoLeader", "LlsdSeveralLeaders", "LlsdBug", "LlsdWatchOutOfSync"]
    {
        assert_eq!(state(&rules, name), "inactive", "{name}");
    }
}
