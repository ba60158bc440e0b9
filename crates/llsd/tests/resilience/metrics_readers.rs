//! Who reads the figures of an operator that asks: those whose token the API server knows and lets.

use std::time::Duration;

use llsd_install::names;
use llsd_testbed::access::{eventually, within};
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::loopback_client;

const REVIEWS: [&str; 2] = ["tokenreviews", "subjectaccessreviews"];

/// The status with which a reader is answered, and the text.
async fn read(operator: &TestOperator, token: Option<&str>) -> (u16, String) {
    let address = operator.process.metrics_address().unwrap();
    let request = loopback_client::client(None).unwrap().get(format!("http://{address}/metrics"));
    let request = match token {
        Some(token) => request.bearer_auth(token),
        None => request,
    };
    let answer = request.send().await.unwrap();
    (answer.status().as_u16(), answer.text().await.unwrap())
}

/// How often the operator asked who somebody is, and what they may.
async fn reviews(operator: &TestOperator) -> usize {
    let requests = operator.cluster.audit().requests_of(&operator.user).await.unwrap();
    requests.only(|request| REVIEWS.contains(&request.resource.as_str())).len()
}

#[tokio::test]
async fn figures_are_for_those_whose_token_may_get_them() {
    let Some(operator) = TestOperator::start(&["--metrics-authentication"]).await else { return };
    eventually("it serves", async || operator.process.probe("/readyz").await == Some(200)).await;
    for token in [None, Some("")] {
        assert_eq!(read(&operator, token).await, (401, String::new()));
    }
    assert_eq!(reviews(&operator).await, 0, "nobody showed a token");
    assert_eq!(read(&operator, Some("made-up")).await.0, 401);
    let namespace = operator.namespace("monitoring").await;
    let kubectl =
        async |args: &[&str]| operator.cluster.kubectl(args, None).await.unwrap().expect_success();
    let token = kubectl(&["create", "token", "default", "-n", &namespace.name]).await;
    let token = token.trim();
    assert_eq!(read(&operator, Some(token)).await, (403, String::new()));
    let account = format!("--serviceaccount={}:default", namespace.name);
    let role = format!("--clusterrole={}", names::METRICS_READER);
    kubectl(&["create", "clusterrolebinding", "prometheus", &role, &account]).await;
    // A refusal is remembered for ten seconds.
    within(Duration::from_secs(30), "the reader is let in", async || {
        read(&operator, Some(token)).await.0 == 200
    })
    .await;
    let before = reviews(&operator).await;
    for _ in 0..20 {
        let (code, text) = read(&operator, Some(token)).await;
        assert!(code == 200 && text.contains("llsd_leader"), "{code} {text}");
    }
    assert_eq!(reviews(&operator).await, before, "what is known is not asked again");
    kubectl(&["delete", "clusterrolebinding", "prometheus"]).await;
}

/// Without the right to ask nobody is let in, rather than everybody.
#[tokio::test]
async fn where_nobody_can_be_asked_nobody_reads() {
    let Some(operator) = TestOperator::start(&["--metrics-authentication"]).await else { return };
    let role = "llama-stack-k8s-operator-metrics-auth-rolebinding";
    let args = ["delete", "clusterrolebinding", role];
    operator.cluster.kubectl(&args, None).await.unwrap().expect_success();
    eventually("it serves", async || operator.process.probe("/readyz").await == Some(200)).await;
    let mut number = 0;
    eventually("the right is gone", async || {
        number += 1;
        read(&operator, Some(&format!("made-up-{number}"))).await.0 == 503
    })
    .await;
}
