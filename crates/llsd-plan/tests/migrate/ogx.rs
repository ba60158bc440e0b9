//! From llama-stack to OGX: what is renamed, what goes, what is said, and that the result is sound.

use llsd_plan::facts::Facts;
use llsd_plan::migrate::{DecisionKind, Migrated, OgxTarget, migrate_to};
use llsd_plan::plan::{Planning, parse_and_plan};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{secret, text, told, with_env};

fn moved(source: &Value) -> Migrated {
    let target = OgxTarget::parse("ogx-1.5").unwrap();
    let migrated = migrate_to(source, &Facts::default(), target);
    let again = migrate_to(&migrated.object, &Facts::default(), target);
    assert_eq!(again.object, migrated.object, "the second time changes something");
    for kind in
        [DecisionKind::Moved, DecisionKind::Turned, DecisionKind::Dropped, DecisionKind::Changed]
    {
        assert_eq!(told(&again, kind), Vec::<String>::new());
    }
    migrated
}

fn resource(spec: &Value) -> Value {
    json!({
        "apiVersion": "llamastack.io/v1alpha2",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": "demo", "namespace": "here"},
        "spec": spec,
    })
}

/// Planned for OGX without a problem.
fn is_sound(object: &Value) {
    let mut facts = Facts::default();
    facts.image.release = Some("ogx-1.5.0".to_owned());
    let outcome = parse_and_plan(object, &facts);
    assert!(!matches!(outcome, Planning::Refused(_)), "{outcome:#?}");
}

#[rstest]
#[case("ogx-1.5", Some("ogx-1.5.0"))]
#[case("ogx-1.5.0", Some("ogx-1.5.0"))]
#[case("ogx-1", None)]
#[case("ogx-1.4", None)]
#[case("ogx-1.5.1", None)]
#[case("ogx", None)]
#[case("1.5.0", None)]
#[case("0.7.3", None)]
#[case("", None)]
fn the_release_to_move_to_is_the_one_of_the_distributions(
    #[case] text: &str,
    #[case] release: Option<&str>,
) {
    assert_eq!(OgxTarget::parse(text).ok().map(OgxTarget::release), release);
}

#[test]
fn what_ended_with_llama_stack_goes_and_what_has_another_name_gets_it() {
    let migrated = moved(&resource(&json!({
        "distribution": {"name": "starter"},
        "providers": {
            "inference": [
                {"id": "vllm", "provider": "vllm", "endpoint": "http://vllm:8000"},
                {"id": "bedrock", "provider": "remote::bedrock",
                 "secretRefs": {"api_key": {"name": "aws", "key": "token"}}},
                {"id": "rerank", "provider": "inline::transformers"},
            ],
            "safety": {"provider": "llama-guard"},
            "eval": {"provider": "inline::builtin"},
            "scoring": {"provider": "basic"},
            "datasetio": {"provider": "inline::localfs"},
            "vectorIo": {"provider": "inline::sqlite_vec"},
            "batches": {"provider": "reference",
                "settings": {"kvstore": {"backend": "kv_default", "namespace": "b"}}},
        },
        "resources": {
            "models": [
                {"name": "small", "provider": "vllm", "providerModelId": "llama3.2-8b"},
                {"name": "big", "provider": "vllm"},
            ],
            "shields": ["llama-guard"],
        },
        "disabled": ["safety", "telemetry"],
    })));
    let expected = json!({
        "distribution": {"name": "ogx-starter"},
        "providers": {
            "inference": [
                {"id": "vllm", "provider": "vllm", "endpoint": "http://vllm:8000"},
                {"id": "bedrock", "provider": "remote::bedrock",
                 "secretRefs": {"aws_bedrock_bearer_token": {"name": "aws", "key": "token"}}},
                {"id": "rerank", "provider": "inline::sentence-transformers"},
            ],
            "vectorIo": {"id": "sqlite_vec", "provider": "inline::sqlite-vec"},
            "batches": {"provider": "reference", "settings": {}},
        },
        "resources": {
            "models": [
                {"name": "small", "provider": "vllm", "providerModelId": "llama3.2-8b"},
                {"name": "big", "provider": "vllm"},
            ],
        },
        "disabled": ["safety", "telemetry"],
    });
    assert_eq!(migrated.object["spec"], expected);
    assert_eq!(
        told(&migrated, DecisionKind::Changed),
        [
            "spec.distribution.name: starter → ogx-starter, OGX 1.5.0",
            "spec.providers.inference[1].secretRefs.api_key: → aws_bedrock_bearer_token",
            "spec.providers.inference[2].provider: inline::transformers → \
             inline::sentence-transformers",
            "spec.providers.vectorIo.provider: inline::sqlite_vec → inline::sqlite-vec",
        ]
    );
    assert_eq!(
        told(&migrated, DecisionKind::Dropped),
        [
            "spec.providers.batches.settings.kvstore: OGX 1.5.0 does not know it",
            "spec.providers.datasetio: OGX 1.5.0 has no API `datasetio`",
            "spec.providers.eval: OGX 1.5.0 has no API `eval`",
            "spec.providers.safety: OGX 1.5.0 has no API `safety`",
            "spec.providers.scoring: OGX 1.5.0 has no API `scoring`",
            "spec.resources.shields: OGX 1.5.0 has no shields",
        ]
    );
    assert_eq!(
        told(&migrated, DecisionKind::Left),
        ["spec.resources.models[0]: clients ask OGX for vllm/small, where llama-stack had \
          vllm/llama3.2-8b"]
    );
    is_sound(&migrated.object);
}

#[test]
fn a_v1alpha1_resource_is_told_of_in_its_own_fields() {
    let mut source = with_env(
        "starter",
        &json!([
            text("VLLM_URL", "http://vllm:8000/v1"),
            text("SAFETY_MODEL", "guard"),
            secret("AWS_BEARER_TOKEN_BEDROCK", "aws", "token"),
        ]),
    );
    source["spec"]["server"]["storage"] = json!({"size": "1Gi"});
    let migrated = moved(&source);
    let spec = &migrated.object["spec"];
    assert_eq!(spec["distribution"]["name"], "ogx-starter");
    assert_eq!(spec["providers"]["inference"]["provider"], "vllm");
    assert_eq!(spec["resources"], Value::Null);
    assert_eq!(
        told(&migrated, DecisionKind::Changed),
        [
            "spec.server.containerSpec.env[2]: AWS_BEARER_TOKEN_BEDROCK → AWS_BEDROCK_BEARER_TOKEN",
            "spec.server.distribution.name: starter → ogx-starter, OGX 1.5.0",
        ]
    );
    let left = told(&migrated, DecisionKind::Left);
    assert!(left.iter().any(|line| line.starts_with("spec.server.storage")), "{left:?}");
    is_sound(&migrated.object);
}

#[test]
fn variables_of_the_image_follow_and_those_that_nobody_reads_are_named() {
    let env = json!([
        secret("AWS_BEARER_TOKEN_BEDROCK", "aws", "token"),
        text("CODE_SCANNER_MODEL", "scanner"),
        text("SQLITE_STORE_DIR", "/.llama/distributions/starter"),
        text("OWN", "x"),
    ]);
    let migrated = moved(&resource(&json!({
        "distribution": {"name": "starter"},
        "workload": {"overrides": {"env": env}},
    })));
    let env = &migrated.object["spec"]["workload"]["overrides"]["env"];
    assert_eq!(env[0]["name"], "AWS_BEDROCK_BEARER_TOKEN");
    let left = told(&migrated, DecisionKind::Left);
    assert_eq!(left.len(), 2, "{left:?}");
    assert!(left[0].contains("CODE_SCANNER_MODEL stays, but ogx-starter does not read it"));
    assert!(left[1].contains("SQLITE_STORE_DIR stays: OGX would change what it finds there"));
    is_sound(&migrated.object);
}

#[test]
fn an_image_is_left_and_a_name_without_counterpart_leaves_everything() {
    let safety = json!({"safety": {"provider": "llama-guard"}});
    let image = json!({"image": "registry.example.com/llama-stack:0.7.3"});
    let migrated = moved(&resource(&json!({"distribution": image, "providers": safety})));
    assert_eq!(migrated.object["spec"], json!({"distribution": image}));
    assert!(told(&migrated, DecisionKind::Left)[0].starts_with("spec.distribution.image: "));
    is_sound(&migrated.object);

    let source = resource(&json!({"distribution": {"name": "starter-gpu"}, "providers": safety}));
    let migrated = moved(&source);
    assert_eq!(migrated.object, source);
    let left = told(&migrated, DecisionKind::Left);
    assert!(left[0].contains("no distribution of OGX stands for starter-gpu"), "{left:?}");
}

#[test]
fn a_resource_of_ogx_stays_as_it_is() {
    let source = resource(&json!({
        "distribution": {"image": "docker.io/ogxai/distribution-starter:1.5.0"},
        "workload": {"storage": {"size": "1Gi"}},
    }));
    let migrated = moved(&source);
    assert_eq!(migrated.object, source);
    assert_eq!(migrated.decisions, []);
}

#[rstest]
#[case::volume(json!({}), "spec.workload.storage")]
#[case::sqlite(json!({"kv": {"type": "sqlite"}}), "spec.workload.storage")]
#[case::redis(json!({"kv": {"type": "redis", "endpoint": "redis://redis:6379"}}), "spec.storage.kv")]
#[case::postgres(
    json!({"sql": {"type": "postgres", "connectionString": {"name": "pg", "key": "dsn"}}}),
    "spec.storage.sql"
)]
fn where_state_lies_says_what_becomes_of_it(#[case] storage: Value, #[case] path: &str) {
    let migrated = moved(&resource(&json!({
        "distribution": {"name": "starter"},
        "storage": storage,
        "workload": {"storage": {"size": "1Gi"}},
    })));
    let left = told(&migrated, DecisionKind::Left);
    let of_state: Vec<_> = left.iter().filter(|line| line.contains("storage")).collect();
    assert_eq!(of_state.len(), 1, "{left:?}");
    assert!(of_state[0].starts_with(path), "{left:?}");
}
