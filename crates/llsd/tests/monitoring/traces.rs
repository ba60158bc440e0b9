//! Traces reach a collector: each look at a resource with its six steps and its requests, and nothing that is
//! secret. A collector that is away delays nobody.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use llsd_testbed::access::eventually;
use llsd_testbed::test_operator::TestOperator;
use serde_json::{Value, json};
use tokio::net::TcpListener;

/// What a collector was sent.
#[derive(Clone, Default)]
struct Collector(Arc<Mutex<Vec<String>>>);

impl Collector {
    /// Where it listens; it ends with the test.
    async fn listen(&self) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let sent = self.0.clone();
        let take = async move |body: Bytes| {
            sent.lock().unwrap().push(String::from_utf8(body.to_vec()).unwrap());
            "{}"
        };
        let router = Router::new().route("/v1/traces", post(take));
        tokio::spawn(async move { axum::serve(listener, router).await });
        format!("http://{address}")
    }

    fn text(&self) -> String {
        self.0.lock().unwrap().concat()
    }

    /// All spans, by trace.
    fn traces(&self) -> BTreeMap<String, Vec<Value>> {
        let mut traces = BTreeMap::<String, Vec<Value>>::new();
        for body in self.0.lock().unwrap().iter() {
            let body: Value = serde_json::from_str(body).unwrap();
            for span in body["resourceSpans"][0]["scopeSpans"][0]["spans"].as_array().unwrap() {
                let trace = span["traceId"].as_str().unwrap().to_owned();
                traces.entry(trace).or_default().push(span.clone());
            }
        }
        traces
    }
}

fn attribute(span: &Value, key: &str) -> String {
    let mut attributes = span["attributes"].as_array().into_iter().flatten();
    let found = attributes.find(|attribute| attribute["key"] == key);
    let value = found.map_or(&Value::Null, |found| &found["value"]);
    value["stringValue"].as_str().or(value["intValue"].as_str()).unwrap_or_default().to_owned()
}

fn span_named<'a>(spans: &'a [Value], name: &str) -> Option<&'a Value> {
    spans.iter().find(|span| span["name"] == name)
}

fn time(span: &Value, field: &str) -> u128 {
    span[field].as_str().unwrap().parse().unwrap()
}

/// The look at which the server was made: it wrote the Deployment.
fn making(traces: BTreeMap<String, Vec<Value>>) -> Option<Vec<Value>> {
    traces.into_values().find(|spans| {
        let writes = |span: &Value| {
            span["name"] == "request" && attribute(span, "path").ends_with("/deployments/llama")
        };
        span_named(spans, "reconcile").is_some_and(|look| attribute(look, "name") == "llama")
            && span_named(spans, "report").is_some()
            && spans.iter().any(writes)
    })
}

#[tokio::test]
async fn each_look_is_a_trace_with_its_six_steps_and_its_requests() {
    let collector = Collector::default();
    let address = collector.listen().await;
    let Some(operator) = TestOperator::start(&["--otlp-endpoint", &address]).await else { return };
    let namespace = operator.namespace("traced").await;
    namespace.secret("vllm", json!({"key": "a-value-that-nobody-may-see"})).await;
    let spec = json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": {
            "provider": "vllm", "endpoint": "http://vllm:8000",
            "apiKey": {"secretKeyRef": {"name": "vllm", "key": "key"}},
        }},
    });
    namespace.distribution("llama", spec).await;
    namespace.until_ready("llama").await;
    eventually("the look that made it is sent", async || making(collector.traces()).is_some())
        .await;
    let spans = making(collector.traces()).unwrap();
    let look = span_named(&spans, "reconcile").unwrap();
    assert_eq!(attribute(look, "namespace"), namespace.name);
    assert_eq!(attribute(look, "result"), "planned");
    assert!(look.get("parentSpanId").is_none(), "{look}");
    let mut before = time(look, "startTimeUnixNano");
    for step in
        ["parse", "gather", "plan", "survey", "decide", "apply", "prune", "observe", "report"]
    {
        let span = span_named(&spans, step).unwrap_or_else(|| panic!("no {step} in {spans:#?}"));
        assert_eq!(span["parentSpanId"], look["spanId"], "{step}");
        let began = time(span, "startTimeUnixNano");
        assert!(began >= before, "{step} comes in its turn");
        before = began;
    }
    assert!(time(look, "endTimeUnixNano") >= before);
    let apply = span_named(&spans, "apply").unwrap();
    let of_apply: Vec<&Value> =
        spans.iter().filter(|span| span["parentSpanId"] == apply["spanId"]).collect();
    assert!(of_apply.len() >= 3, "its requests are parts of the step: {spans:#?}");
    for request in of_apply {
        assert_eq!(request["name"], "request");
        assert!(["200", "201"].contains(&attribute(request, "code").as_str()), "{request}");
    }
    // Nothing is sent of what belongs to no look, and nothing that is secret.
    let all = collector.traces();
    assert!(all.values().flatten().all(|span| attribute(span, "verb") != "watch"));
    assert!(!collector.text().contains("a-value-that-nobody-may-see"));
    assert!(collector.text().contains("service.name"));
}

#[tokio::test]
async fn a_collector_that_is_away_delays_nobody() {
    let Some(operator) = TestOperator::start(&["--otlp-endpoint", "http://127.0.0.1:1"]).await
    else {
        return;
    };
    let namespace = operator.namespace("untraced").await;
    namespace.distribution("llama", json!({"distribution": {"name": "starter"}})).await;
    namespace.until_ready("llama").await;
    let says = "traces are not taken by the collector";
    eventually("it is said", async || operator.process.log().contains(says)).await;
    namespace.distribution("other", json!({"distribution": {"name": "starter"}})).await;
    namespace.until_ready("other").await;
    assert_eq!(operator.process.log().matches(says).count(), 1, "and not again");
}
