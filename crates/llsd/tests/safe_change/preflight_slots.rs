//! Changes that wait for a slot for their preflight: namespaces take turns, a free slot wakes the next one, who waits
//! asks nothing, and an annotation goes past the line.

use std::time::{Duration, Instant};

use kube::ResourceExt;
use kube::api::PostParams;
use llsd_testbed::access::eventually;
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition, name_of};
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::PodState;
use serde_json::{Value, json};

use crate::preflight::{is_preflight, refusal, set_preflight};

const ONE_AT_A_TIME: [&str; 4] = ["--preflight-jobs", "1", "--preflight-deadline", "300"];

/// Much sooner than who waits is looked at without a reason.
const SOON: Duration = Duration::from_secs(30);

fn spec(endpoint: &str) -> Value {
    json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": [{"id": "mine", "provider": "vllm", "endpoint": endpoint}]},
        "workload": {"overrides": {"minReadySeconds": 0}},
    })
}

async fn served(namespace: &Namespace<'_>, names: &[&str]) {
    for name in names {
        namespace.distribution(name, spec("http://first:8000")).await;
    }
    for name in names {
        namespace.until_ready(name).await;
    }
}

async fn change(namespace: &Namespace<'_>, name: &str) {
    namespace.distribution(name, spec("http://second:8000")).await;
}

/// Until its status says that it waits for a slot.
async fn until_it_waits(namespace: &Namespace<'_>, name: &str) {
    namespace
        .until(DISTRIBUTION, name, "waits for its turn", |now| {
            let said = condition(now, "Preflight")["message"].as_str().unwrap_or_default();
            said.contains("waits for its turn")
                && now["status"]["preflight"]["verdict"] == "Pending"
        })
        .await;
}

/// The resources whose Jobs go on.
async fn under_way(namespace: &Namespace<'_>) -> Vec<String> {
    let jobs = namespace.list("Job").await;
    let going = jobs.iter().filter(|job| job["status"]["completionTime"].is_null());
    going
        .map(|job| name_of(job).split("-preflight-").next().unwrap_or_default().to_owned())
        .collect()
}

async fn until_under_way(namespace: &Namespace<'_>, names: &[&str]) {
    eventually("the Job of the next change is there", async || under_way(namespace).await == names)
        .await;
}

/// Lets the preflights of one namespace pass, and no others.
fn let_pass(operator: &TestOperator, namespace: &Namespace<'_>) {
    let name = namespace.name.clone();
    operator.kubelet.decide(move |pod| {
        let waits = is_preflight(pod) && pod.namespace().as_deref() != Some(name.as_str());
        if waits { PodState::Pending } else { PodState::Ready }
    });
}

/// Those who wait ask nothing of the API server.
async fn waiting_asks_nothing(operator: &TestOperator, namespace: &Namespace<'_>) {
    namespace.quiet(&operator.user).await;
    let audit = operator.cluster.audit();
    let mark = audit.mark().await.unwrap();
    tokio::time::sleep(Duration::from_secs(6)).await;
    let asked = audit.requests_of(&operator.user).await.unwrap().since(mark).except_watches();
    let of_waiting = asked.only(|request| {
        request.namespace == namespace.name
            || request.resource == "deployments" && ["b", "c"].contains(&&*request.name)
    });
    assert!(of_waiting.is_empty(), "{:?}", of_waiting.by_verb_and_resource());
}

#[tokio::test]
async fn namespaces_take_turns_a_free_slot_wakes_the_next_and_who_waits_asks_nothing() {
    let Some(mut operator) = TestOperator::start(&ONE_AT_A_TIME).await else { return };
    set_preflight(&operator, PodState::Pending);
    let (many, single) = {
        let (many, single) = (operator.namespace("many").await, operator.namespace("one").await);
        (many.name, single.name)
    };
    {
        let cluster = &operator.cluster;
        let many = Namespace { cluster, name: many.clone() };
        let single = Namespace { cluster, name: single.clone() };
        served(&many, &["a", "b", "c"]).await;
        served(&single, &["llama"]).await;
        change(&many, "a").await;
        until_under_way(&many, &["a"]).await;
        for name in ["b", "c"] {
            change(&many, name).await;
            until_it_waits(&many, name).await;
        }
        change(&single, "llama").await;
        until_it_waits(&single, "llama").await;
        waiting_asks_nothing(&operator, &single).await;
    }

    // Another leader counts the Job that goes on, and knows who waits.
    operator.restart(&ONE_AT_A_TIME);
    let cluster = &operator.cluster;
    let many = Namespace { cluster, name: many };
    let single = Namespace { cluster, name: single };
    single.quiet(&operator.user).await;
    assert_eq!(under_way(&many).await, ["a"]);
    assert!(under_way(&single).await.is_empty());

    let_pass(&operator, &many);
    many.until_condition("a", "Preflight", "True", "PreflightPassed").await;
    let freed = Instant::now();
    until_under_way(&single, &["llama"]).await;
    assert!(freed.elapsed() < SOON, "it was woken after {:?}", freed.elapsed());
    assert!(under_way(&many).await.is_empty(), "two of it have waited for longer");

    set_preflight(&operator, PodState::Ready);
    let freed = Instant::now();
    single.until_condition("llama", "Preflight", "True", "PreflightPassed").await;
    for name in ["b", "c"] {
        many.until_condition(name, "Preflight", "True", "PreflightPassed").await;
        many.until_ready(name).await;
    }
    assert!(freed.elapsed() < SOON * 2, "{:?}", freed.elapsed());
}

#[tokio::test]
async fn a_change_goes_past_the_line_unchecked_where_its_user_says_so() {
    let Some(operator) = TestOperator::start(&ONE_AT_A_TIME).await else { return };
    set_preflight(&operator, PodState::Pending);
    let namespace = operator.namespace("emergency").await;
    served(&namespace, &["busy", "urgent"]).await;
    change(&namespace, "busy").await;
    until_under_way(&namespace, &["busy"]).await;
    change(&namespace, "urgent").await;
    until_it_waits(&namespace, "urgent").await;

    let skip =
        |value: Value| json!({"metadata": {"annotations": {"llamastack.io/preflight": value}}});
    namespace.patch(DISTRIBUTION, "urgent", &skip(json!("skip"))).await;
    let is_second = |deployment: &Value| deployment["status"]["observedGeneration"] == 2;
    namespace.until("Deployment", "urgent", "is changed", is_second).await;
    let skipped =
        namespace.until_condition("urgent", "Preflight", "Unknown", "PreflightSkipped").await;
    let message = condition(&skipped, "Preflight")["message"].as_str().unwrap();
    assert!(message.contains("llamastack.io/preflight"), "{message}");
    assert_eq!(skipped["status"]["preflight"]["verdict"], "NotJudged", "{skipped}");
    namespace.until_event("urgent", "PreflightSkipped", "llamastack.io/preflight").await;
    namespace.until_ready("urgent").await;
    assert_eq!(under_way(&namespace).await, ["busy"], "it had no Job");

    // What went stays, and the next change is checked again.
    namespace.patch(DISTRIBUTION, "urgent", &skip(Value::Null)).await;
    namespace.quiet(&operator.user).await;
    let deployment = namespace.get("Deployment", "urgent").await.unwrap();
    assert!(is_second(&deployment), "{deployment}");
    namespace.distribution("urgent", spec("http://third:8000")).await;
    until_it_waits(&namespace, "urgent").await;
    set_preflight(&operator, PodState::Ready);
    for name in ["busy", "urgent"] {
        namespace.until_condition(name, "Preflight", "True", "PreflightPassed").await;
    }

    // So is one that its image refused.
    set_preflight(&operator, refusal("providers.inference[0]"));
    namespace.distribution("urgent", spec("http://fourth:8000")).await;
    namespace.until_condition("urgent", "Preflight", "False", "PreflightFailed").await;
    let before = namespace.get("Deployment", "urgent").await.unwrap();
    namespace.patch(DISTRIBUTION, "urgent", &skip(json!("skip"))).await;
    namespace.until_condition("urgent", "Preflight", "Unknown", "PreflightSkipped").await;
    let is_another = |now: &Value| now["spec"]["template"] != before["spec"]["template"];
    namespace.until("Deployment", "urgent", "is changed", is_another).await;
}

/// Has the cluster refuse every new ConfigMap, as the one with a changed configuration.
async fn forbid_config_maps(namespace: &Namespace<'_>) {
    let quota = json!({
        "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"},
        "spec": {"hard": {"count/configmaps": "0"}},
    });
    let quota = serde_json::from_value(quota).unwrap();
    namespace.api("ResourceQuota").create(&PostParams::default(), &quota).await.unwrap();
    let is_counted = |quota: &Value| quota["status"]["hard"]["count/configmaps"] == "0";
    namespace.until("ResourceQuota", "none", "is in force", is_counted).await;
}

#[tokio::test]
async fn what_cannot_be_written_takes_no_slot_from_others() {
    let Some(operator) = TestOperator::start(&ONE_AT_A_TIME).await else { return };
    set_preflight(&operator, PodState::Ready);
    let (stuck, free) = (operator.namespace("stuck").await, operator.namespace("free").await);
    served(&stuck, &["a", "b"]).await;
    served(&free, &["llama"]).await;
    forbid_config_maps(&stuck).await;
    for name in ["a", "b"] {
        change(&stuck, name).await;
        stuck.until_condition(name, "Ready", "False", "ApplyFailed").await;
    }
    let asked = Instant::now();
    change(&free, "llama").await;
    free.until_condition("llama", "Preflight", "True", "PreflightPassed").await;
    assert!(asked.elapsed() < SOON, "{:?}", asked.elapsed());

    stuck.delete("ResourceQuota", "none").await;
    for name in ["a", "b"] {
        stuck.until_condition(name, "Preflight", "True", "PreflightPassed").await;
    }
}
