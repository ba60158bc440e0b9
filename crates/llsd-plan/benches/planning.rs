//! How long planning takes: the starter distribution with ten providers and twenty models, as a
//! whole and in its parts. `cargo bench -p llsd-plan`.

use std::hint::black_box;
use std::time::{Duration, Instant};

use llsd_plan::config;
use llsd_plan::facts::{BaseFacts, BaseSource, Facts};
use llsd_plan::plan::{Planning, parse_and_plan};
use llsd_plan::releases::{ConfigDocument, Distribution, Releases};
use llsd_plan::validate::validate;
use llsd_yaml::document;
use serde_json::{Value, json};

const ROUNDS: usize = 500;

fn main() {
    let resource = resource();
    let facts = Facts::default();
    match parse_and_plan(&resource, &facts) {
        Planning::Planned(_) => {}
        other => panic!("the resource of the bench is not planned: {other:#?}"),
    }
    let starter = &Distribution::all()["starter"];
    let base =
        BaseFacts { text: starter.base().to_owned(), source: BaseSource::Embedded, found_in: None };
    let spec = serde_json::from_value(resource["spec"].clone()).expect("a spec");
    let document =
        || ConfigDocument::new(Releases::shipped(), &base.text, Some("0.7.3".to_owned()));
    let whole = median(|| drop(black_box(parse_and_plan(&resource, &facts))));
    println!("planning, ten providers and twenty models: {whole:?}");
    let parts: [(&str, Duration); 3] = [
        ("validation", median(|| drop(black_box(validate(&resource))))),
        ("reading the base", median(|| drop(black_box(document::read(&base.text))))),
        (
            "generation, reading included",
            median(|| drop(black_box(config::generate(&spec, &facts, &base, document())))),
        ),
    ];
    for (name, time) in parts {
        let share = time.as_secs_f64() / whole.as_secs_f64();
        println!("  {name}: {time:?}, {:.0} % of the whole", share * 100.0);
    }
}

fn median(run: impl Fn()) -> Duration {
    let mut times: Vec<Duration> = (0..ROUNDS)
        .map(|_| {
            let start = Instant::now();
            run();
            start.elapsed()
        })
        .collect();
    times.sort();
    times[ROUNDS / 2]
}

fn resource() -> Value {
    let secret = |key: &str| json!({"secretKeyRef": {"name": "creds", "key": key}});
    let inference: Vec<Value> = (0..6)
        .map(|n| {
            json!({
                "id": format!("vllm-{n}"),
                "provider": "vllm",
                "endpoint": format!("http://vllm-{n}:8000"),
                "apiKey": secret("token"),
                "settings": {"max_tokens": 8192, "tls_verify": true},
            })
        })
        .collect();
    let models: Vec<Value> = (0..20)
        .map(|n| {
            json!({"name": format!("model-{n}"), "provider": format!("vllm-{}", n % 6), "contextLength": 8192})
        })
        .collect();
    json!({
        "apiVersion": "llamastack.io/v1alpha2",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": "bench", "namespace": "default"},
        "spec": {
            "distribution": {"name": "starter"},
            "providers": {
                "inference": inference,
                "safety": {"provider": "llama-guard"},
                "vectorIo": {
                    "provider": "pgvector",
                    "host": secret("host"),
                    "secretRefs": {"password": secret("password")},
                },
                "toolRuntime": [
                    {"id": "tavily", "provider": "tavily-search", "apiKey": secret("tavily")},
                    {"id": "brave", "provider": "brave-search", "apiKey": secret("brave")},
                ],
            },
            "resources": {"models": models, "tools": ["websearch", "rag"]},
            "storage": {
                "kv": {"type": "redis", "endpoint": "redis://redis:6379", "password": secret("redis")},
                "sql": {"type": "postgres", "connectionString": secret("dsn")},
            },
            "networking": {"expose": true},
            "workload": {"replicas": 2, "workers": 2},
        },
    })
}
