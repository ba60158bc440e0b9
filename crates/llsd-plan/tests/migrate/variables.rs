//! Single variables: what they become, and when they stay.

use llsd_plan::facts::{BaseFacts, BaseSource, Facts, ImageFacts};
use llsd_plan::migrate::{DecisionKind, migrate, migrate_with};
use rstest::rstest;
use serde_json::{Value, json};

use crate::{secret, spec_of, text, told, with_env};

#[rstest]
#[case::milvus_in_a_file("starter", text("MILVUS_URL", "anything"),
    json!({"vectorIo": {"provider": "inline::milvus"}}))]
#[case::a_number("remote-vllm", text("VLLM_MAX_TOKENS", "100"),
    json!({"inference": {"id": "vllm-inference", "provider": "vllm", "settings": {"max_tokens": "100"}}}))]
#[case::a_host("starter", json!([text("PGVECTOR_DB", "vectors"), text("PGVECTOR_HOST", "db.svc")]),
    json!({"vectorIo": {"provider": "pgvector", "host": "db.svc", "settings": {"db": "vectors"}}}))]
#[case::a_password("starter", json!([text("PGVECTOR_DB", "v"), secret("PGVECTOR_PASSWORD", "pg", "word")]),
    json!({"vectorIo": {"provider": "pgvector", "secretRefs": {"password": {"name": "pg", "key": "word"}},
        "settings": {"db": "v"}}}))]
#[case::two_readers("starter", secret("OPENAI_API_KEY", "openai", "key"), json!({
    "inference": {"provider": "openai", "apiKey": {"name": "openai", "key": "key"}},
    "scoring": {"provider": "braintrust", "apiKey": {"name": "openai", "key": "key"}},
}))]
#[case::several_have_ids("starter", json!([text("OLLAMA_URL", "http://o:1"), text("VLLM_URL", "http://v:2/v1")]),
    json!({"inference": [
        {"id": "ollama", "provider": "ollama", "endpoint": "http://o:1"},
        {"id": "vllm", "provider": "vllm", "endpoint": "http://v:2/v1"},
    ]}))]
fn variables_become_providers(
    #[case] distribution: &str,
    #[case] env: Value,
    #[case] expected: Value,
) {
    let mut env = if env.is_array() { env } else { json!([env]) };
    if distribution == "remote-vllm" {
        env.as_array_mut().unwrap().push(text("INFERENCE_MODEL", "m"));
    }
    let spec = spec_of(&with_env(distribution, &env));
    assert_eq!(spec["providers"], expected);
    assert_eq!(spec.get("workload"), None);
}

#[rstest]
#[case::by_custom("starter", &[text("OLLAMA_URL", "http://o:1"), text("OLLAMA_INFERENCE_MODEL", "m")],
    json!([{"name": "m"}]))]
#[case::of_one_of_several("starter", &[text("VLLM_URL", "http://v:2"), text("OLLAMA_URL", "http://o:1"),
    text("VLLM_INFERENCE_MODEL", "m")], json!([{"name": "m", "provider": "vllm"}]))]
#[case::read("remote-vllm", &[text("VLLM_URL", "http://v:2"), text("INFERENCE_MODEL", "m")], json!([{"name": "m"}]))]
#[case::of_the_base("meta-reference-gpu", &[text("INFERENCE_MODEL", "m")],
    json!([{"name": "m", "provider": "meta-reference-inference"}]))]
fn variables_become_models(
    #[case] distribution: &str,
    #[case] env: &[Value],
    #[case] expected: Value,
) {
    let spec = spec_of(&with_env(distribution, &json!(env)));
    assert_eq!(spec["resources"]["models"], expected);
}

#[test]
fn the_default_shield_stays_the_default_one() {
    let env = json!([text("CODE_SCANNER_MODEL", "c"), text("SAFETY_MODEL", "s")]);
    let shields = json!([
        {"name": "llama-guard", "provider": "llama-guard", "model": "s"},
        {"name": "code-scanner", "provider": "code-scanner", "model": "c"},
    ]);
    assert_eq!(spec_of(&with_env("starter", &env))["resources"]["shields"], shields);
    let alone = with_env("starter", &json!([text("CODE_SCANNER_MODEL", "c")]));
    assert_eq!(spec_of(&alone).get("resources"), None);
}

#[rstest]
#[case::literal_key(&[text("VLLM_URL", "http://v:1"), text("VLLM_API_TOKEN", "sk")], "a Secret only")]
#[case::switched_off(&[secret("VLLM_API_TOKEN", "a", "b")], "is off without VLLM_URL")]
#[case::switch_stays(&[text("AZURE_API_KEY", "sk"), text("AZURE_API_BASE", "http://a/b")],
    "AZURE_API_KEY stays, and it switches the provider `azure` on")]
#[case::elsewhere(&[text("SQLITE_STORE_DIR", "/data")], "no field says the same")]
#[case::unread(&[text("LOG_LEVEL", "debug")], "starter 0.7.3 does not read it")]
#[case::of_a_library(&[text("AWS_DEFAULT_REGION", "eu")], "libraries inside the server")]
#[case::expanded(&[text("VLLM_URL", "http://$(HOST):1")], "refers to other variables")]
#[case::expanding(&[text("OLLAMA_URL", "http://o:1"), text("MINE", "$(OLLAMA_URL)/x")], "another variable refers to it")]
#[case::twice(&[text("OLLAMA_URL", "http://o:1"), text("OLLAMA_URL", "http://o:2")], "more than once")]
#[case::empty(&[text("OLLAMA_URL", "")], "as good as not set")]
#[case::whose(&[text("OLLAMA_URL", "http://o:1"), text("VLLM_URL", "http://v:1"), text("INFERENCE_MODEL", "m")],
    "one of ollama, vllm")]
fn a_variable_that_cannot_be_said_otherwise_stays(#[case] env: &[Value], #[case] why: &str) {
    let migrated = migrate(&with_env("starter", &json!(env)));
    let left = told(&migrated, DecisionKind::Left);
    assert!(left.iter().any(|told| told.contains(why)), "{left:#?}");
    let kept = migrated.object["spec"]["workload"]["overrides"]["env"].as_array().unwrap();
    assert!(kept.iter().all(|kept| env.contains(kept)));
}

#[rstest]
#[case::own_configuration("/spec/server/userConfig", json!({"configMapName": "own"}))]
#[case::own_command("/spec/server/containerSpec/args", json!(["x"]))]
#[case::an_image("/spec/server/distribution", json!({"image": "example.com/own:1"}))]
fn where_the_configuration_is_not_the_distribution_s_all_stay(
    #[case] path: &str,
    #[case] value: Value,
) {
    let env = json!([text("OLLAMA_URL", "http://o:1")]);
    let mut source = with_env("starter", &env);
    let (holder, key) = path.rsplit_once('/').unwrap();
    source.pointer_mut(holder).unwrap()[key] = value;
    let migrated = migrate(&source);
    assert_eq!(migrated.object["spec"]["workload"]["overrides"]["env"], env);
    assert!(told(&migrated, DecisionKind::Left)[0].contains("all variables stay"));
    assert_eq!(migrated.object["spec"].get("providers"), None);
}

/// The configuration inside the image is as good as one that the operator knows by itself.
#[test]
fn with_the_configuration_inside_an_image_its_variables_are_turned_too() {
    let mut source = with_env("starter", &json!([text("VLLM_URL", "http://v:1/v1")]));
    source["spec"]["server"]["distribution"] = json!({"image": "example.com/own:1"});
    let base = |file: &str| {
        let path = format!("{}/tests/bases/{file}.yaml", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).unwrap();
        let found_in = Some(file.to_owned());
        let base = BaseFacts { text, source: BaseSource::File, found_in };
        let image = ImageFacts { base: Some(base), ..ImageFacts::default() };
        Facts { image, ..Facts::default() }
    };
    let migrated = migrate_with(&source, &base("starter-0.6.1"));
    let expected = json!({"inference": {"provider": "vllm", "endpoint": "http://v:1/v1"}});
    assert_eq!(migrated.object["spec"]["providers"], expected);
    assert_eq!(migrated.object["spec"].get("workload"), None);
    // What this image does not read is not turned, however well another one knows it.
    let migrated = migrate_with(&source, &base("small-postgres"));
    let left = told(&migrated, DecisionKind::Left);
    assert!(left[0].contains("small-postgres does not read it"), "{left:?}");
}

#[test]
fn both_names_of_the_key_of_vllm_are_understood_and_the_real_one_wins() {
    let url = text("VLLM_URL", "http://v:1/v1");
    let env = json!([url, secret("VLLM_API_KEY", "a", "b")]);
    let spec = spec_of(&with_env("starter", &env));
    assert_eq!(spec["providers"]["inference"]["apiKey"], json!({"name": "a", "key": "b"}));
    let env = json!([url, secret("VLLM_API_KEY", "a", "b"), secret("VLLM_API_TOKEN", "c", "d")]);
    let spec = spec_of(&with_env("starter", &env));
    assert_eq!(spec["providers"]["inference"]["apiKey"], json!({"name": "c", "key": "d"}));
    assert_eq!(spec["workload"]["overrides"]["env"], json!([secret("VLLM_API_KEY", "a", "b")]));
}
