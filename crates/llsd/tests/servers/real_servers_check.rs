//! What is generated is checked by the servers' own models: nothing is refused, and no key of ours is
//! dropped without a word. Every provider type of every release, every kind of storage, every API
//! switched off, every kind of resource.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use llsd_api::v1alpha2::PROVIDER_APIS;
use llsd_cases::files::starter_base;
use llsd_cases::samples::{facts_of, samples};
use llsd_plan::facts::{BaseFacts, BaseSource, ExternalProviderFacts, Facts};
use llsd_plan::plan::{Plan, Planning, parse_and_plan};
use llsd_plan::releases::{Catalogue, Distribution, ProviderType, Releases};
use llsd_testkit::{Candidate, Release, skip};
use serde_json::{Map, Value, json};

fn facts(release: &str) -> Facts {
    let mut facts = Facts::default();
    facts.image.release = Some(release.to_owned());
    facts.image.base = Some(BaseFacts {
        text: fs::read_to_string(starter_base(release)).unwrap(),
        source: BaseSource::File,
        found_in: None,
    });
    facts.external_providers.insert(
        "registry.example.com/custom:v1".to_owned(),
        ExternalProviderFacts {
            api: "inference".to_owned(),
            provider_type: "remote::custom".to_owned(),
            module: "custom_provider".to_owned(),
            ..ExternalProviderFacts::default()
        },
    );
    facts
}

fn resource(spec: &Value) -> Value {
    let mut resource = json!({
        "apiVersion": "llamastack.io/v1alpha2",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": "judged", "namespace": "default"},
        "spec": {"distribution": {"image": "registry.example.com/starter"}},
    });
    for (key, value) in spec.as_object().expect("a spec") {
        resource["spec"][key] = value.clone();
    }
    resource
}

fn planned(release: &str, name: &str, spec: &Value) -> Box<Plan> {
    match parse_and_plan(&resource(spec), &facts(release)) {
        Planning::Planned(plan) => plan,
        other => panic!("{release}: {name}: {other:#?}"),
    }
}

/// The generated file with a value for every variable that the operator sets.
fn candidate(name: &str, plan: &Plan) -> Candidate {
    let generated = plan.generated.as_ref().unwrap_or_else(|| panic!("{name}: nothing generated"));
    let packages = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/external_provider");
    let mut candidate =
        Candidate::new(name, &generated.text).with_env("PYTHONPATH", packages.to_string_lossy());
    for variable in &plan.environment {
        let value = match variable.name.as_str() {
            name if name.ends_with("_PORT") => "5432",
            "LLSD_STORAGE_SQL_URL" => "postgresql://user:password@host:5432/db",
            _ => "a-value",
        };
        candidate = candidate.with_env(&variable.name, value);
    }
    candidate
}

/// A provider of the given type with everything that it can be given.
fn provider(provider_type: &str, known: ProviderType) -> Value {
    let mut entry = json!({"id": "under-test", "provider": provider_type});
    if known.endpoint().is_some() {
        entry["endpoint"] = json!("http://backend.example.com:8000");
    }
    if known.key().is_some() {
        entry["apiKey"] = json!({"name": "creds", "key": "token"});
    }
    let mut settings = Map::new();
    for field in known.required() {
        let given = known.endpoint() == Some(field) || known.key() == Some(field);
        if !given && known.fill().all(|(filled, _)| filled != field) {
            settings.insert(field.to_owned(), json!("a-value"));
        }
    }
    if !settings.is_empty() {
        entry["settings"] = settings.into();
    }
    entry
}

/// camelCase, as the resource has it.
fn field_of(api: &str) -> String {
    let mut name = String::new();
    for (index, word) in api.split('_').enumerate() {
        let (first, rest) = word.split_at(1);
        name.push_str(&if index == 0 { first.to_owned() } else { first.to_uppercase() });
        name.push_str(rest);
    }
    name
}

fn every_provider_type(catalogue: Catalogue) -> Vec<(String, Value)> {
    let mut cases = Vec::new();
    // What only OGX has comes with the base.
    let configurable = |api: &&str| PROVIDER_APIS.contains(&field_of(api).as_str());
    for api in catalogue.apis().filter(configurable) {
        for (name, known) in catalogue.types(api) {
            let spec = json!({"providers": {field_of(api): provider(name, known)}});
            cases.push((format!("{api} {name}"), spec));
        }
    }
    cases
}

fn every_api_disabled(catalogue: Catalogue) -> Vec<(String, Value)> {
    catalogue
        .apis()
        .map(|api| (format!("without {api}"), json!({"disabled": [field_of(api)]})))
        .collect()
}

fn everything_else(catalogue: Catalogue) -> Vec<(String, Value)> {
    let vllm = json!({"provider": "vllm", "endpoint": "http://vllm:8000"});
    let guard = json!([{"name": "guard", "provider": "llama-guard", "model": "vllm/guard"}]);
    let shields = if catalogue.has_api("safety") { guard } else { json!([]) };
    let postgres = json!({"type": "postgres", "connectionString": {"name": "pg", "key": "url"}});
    let mut cases = vec![
        (
            "sqlite".to_owned(),
            json!({"storage": {"kv": {"type": "sqlite"}, "sql": {"type": "sqlite"}}}),
        ),
        (
            "redis".to_owned(),
            json!({"storage": {"kv": {"type": "redis", "endpoint": "redis://r:6379"}}}),
        ),
        (
            "redis with a password".to_owned(),
            json!({"storage": {"kv": {"type": "redis", "endpoint": "rediss://r:6379", "password": {"name": "r", "key": "p"}}}}),
        ),
        ("postgres".to_owned(), json!({"storage": {"sql": postgres}})),
        (
            "redis and postgres".to_owned(),
            json!({"storage": {"kv": {"type": "redis", "endpoint": "r:1"}, "sql": postgres}}),
        ),
        // Alone these need no file, so something else asks for one.
        (
            "tls and workers".to_owned(),
            json!({
                "networking": {"port": 9000, "tls": {"enabled": true, "secretName": "tls"}},
                "workload": {"workers": 3},
                "disabled": ["eval"],
            }),
        ),
        (
            "telemetry".to_owned(),
            json!({"providers": {"telemetry": {"provider": "opentelemetry", "endpoint": "http://otel:4318"}}}),
        ),
        (
            "models".to_owned(),
            json!({"providers": {"inference": vllm}, "resources": {"models": [
                "llama3.2-8b",
                {"name": "big", "provider": "vllm", "contextLength": 128_000, "quantization": "fp8", "metadata": {"team": "a"}},
                {"name": "embed", "modelType": "embedding", "embeddingDimension": 768},
            ]}}),
        ),
        (
            "tools and shields".to_owned(),
            json!({
                "providers": {
                    "inference": vllm,
                    "toolRuntime": {"id": "web", "provider": "tavily-search", "apiKey": {"name": "s", "key": "k"}},
                },
                "resources": {
                    "tools": ["websearch", "rag", {"name": "mcp::orders", "mcpEndpoint": {"uri": "http://mcp:1/sse"}}],
                    "shields": shields,
                },
            }),
        ),
        (
            "without the embedding provider's API but with a model server".to_owned(),
            json!({"providers": {"inference": vllm}, "disabled": ["vectorIo", "safety"]}),
        ),
    ];
    if catalogue.release.takes_external_packages {
        cases.push((
            "an external provider".to_owned(),
            json!({"externalProviders": {"inference": [
                {"providerId": "custom", "image": "registry.example.com/custom:v1", "config": {"url": "http://c", "timeout": 3}},
            ]}}),
        ));
    }
    if catalogue.release.knows_rerank_models {
        let rerank = json!([{"name": "rerank", "modelType": "rerank"}]);
        cases.push((
            "a rerank model".to_owned(),
            json!({"providers": {"inference": vllm}, "resources": {"models": rerank}}),
        ));
    }
    cases
}

/// Checking is quick, so an ordinary run asks a release of an old layout too.
fn checking_releases() -> Vec<Release> {
    if Release::is_thorough_test() {
        Release::under_test().unwrap()
    } else {
        vec![Release::V0_2_24, Release::newest(), Release::newest_ogx()]
    }
}

/// Every release of the test run; the rest of them belong to `make test-servers`.
#[test]
fn the_servers_own_models_accept_every_generated_configuration() {
    for release in checking_releases() {
        let catalogue = Releases::shipped().catalogue(release.name()).expect("a known release");
        let mut cases = every_provider_type(catalogue);
        cases.extend(every_api_disabled(catalogue));
        cases.extend(everything_else(catalogue));
        let candidates: Vec<Candidate> = cases
            .iter()
            .map(|(name, spec)| candidate(name, &planned(&catalogue.release.name, name, spec)))
            .collect();
        let results = match release.check(&candidates) {
            Ok(results) => results,
            Err(error) => return skip(&error.to_string()),
        };
        let refused: Vec<String> =
            results.iter().filter(|result| !result.is_clean()).map(ToString::to_string).collect();
        assert!(refused.is_empty(), "{release}:\n{}", refused.join("\n"));
        eprintln!("{release}: {} configurations accepted", results.len());
    }
}

/// What the operator carries, as it stands: with nothing set, and with a model server.
#[test]
fn every_embedded_distribution_is_accepted_by_its_release() {
    for release in checking_releases() {
        let of_release = Distribution::all()
            .iter()
            .filter(|(_, distribution)| distribution.release == release.name());
        let mut candidates = Vec::new();
        for (name, distribution) in of_release {
            // The one variable that a distribution of 0.2.12 cannot do without.
            let bare = Candidate::new(name, distribution.base()).with_env("INFERENCE_MODEL", "m");
            candidates.push(bare.clone());
            candidates.push(bare.with_env("VLLM_URL", "http://vllm:8000/v1"));
        }
        match release.check(&candidates) {
            Err(error) => return skip(&error.to_string()),
            Ok(results) => {
                for result in results {
                    assert!(result.is_clean(), "{release}: {result}");
                }
            }
        }
    }
}

/// PyYAML takes YAML 1.1 at its word: what is text in the resource must stay text.
#[test]
fn the_servers_yaml_reader_reads_back_exactly_what_was_meant() {
    let texts = [
        "yes",
        "No",
        "on",
        "OFF",
        "y",
        "~",
        "null",
        "",
        " ",
        "0123",
        "0o17",
        "0x1F",
        "12:30",
        "1_000",
        "1e5",
        "1.0e+5",
        ".5",
        ".inf",
        "-.INF",
        ".nan",
        "2026-01-01",
        "<<",
        "=",
        "- a",
        "? a",
        "a: b",
        "a:",
        "a #b",
        "#a",
        "!tag",
        "&anchor",
        "*alias",
        "%directive",
        "@at",
        "`b",
        "{a}",
        "[a]",
        "'q'",
        "\"q\"",
        "\\",
        "a\nb",
        "a\n\nb\n",
        "\ttab",
        "trailing ",
        " leading",
        "Grüße, 世界 🦙",
        "\u{7}\u{85}\u{2028}\u{feff}",
        "${env.NOT_A_VARIABLE:=x}",
        "---",
        "...",
    ];
    let numbers = json!([0, -7, 1.5, 1e-7, 1e300, 9_223_372_036_854_775_807_i64, true, null]);
    let mut metadata: Map<String, Value> =
        texts.iter().enumerate().map(|(n, text)| (format!("t{n}"), json!(text))).collect();
    metadata.insert("numbers".to_owned(), numbers);
    for text in ["yes", "0123", "12:30", "null", "a: b", "Grüße"] {
        metadata.insert(text.to_owned(), json!("a key that means something"));
    }
    let spec = json!({
        "providers": {"inference": {"provider": "vllm", "endpoint": "http://vllm:8000"}},
        "resources": {"models": [{"name": "m", "metadata": metadata}]},
    });
    let plan = planned("0.7.3", "odd texts", &spec);
    let generated = plan.generated.as_ref().unwrap();
    match Release::newest().read_yaml(&[generated.text.as_str()]) {
        Err(error) => skip(&error.to_string()),
        Ok(read) => assert_eq!(read[0].as_ref().unwrap(), &generated.document.to_value()),
    }
}

/// Every sample whose image is one of the operator's own, checked by the release of that image.
#[test]
fn the_servers_own_models_accept_every_sample() {
    let mut by_release: BTreeMap<String, Vec<Candidate>> = BTreeMap::new();
    let mut names = BTreeSet::new();
    for (name, resource) in samples() {
        let mut facts = facts_of(&resource);
        facts.image.release = facts.image.base.is_some().then(|| "0.7.3".to_owned());
        let Planning::Planned(plan) = parse_and_plan(&resource, &facts) else {
            panic!("{name} is not planned");
        };
        if let Some(generated) = &plan.generated {
            names.insert(name.clone());
            let candidates = by_release.entry(generated.release.to_owned()).or_default();
            candidates.push(candidate(&name, &plan));
        }
    }
    assert!(names.len() > 15, "{names:?}");
    for release in checking_releases() {
        let known = Releases::shipped().catalogue(release.name());
        let name = known.map_or("", |catalogue| &catalogue.release.title);
        let Some(candidates) = by_release.get(name) else { continue };
        match release.check(candidates) {
            Err(error) => return skip(&error.to_string()),
            Ok(results) => {
                for result in results {
                    assert!(result.is_clean(), "{release}: {result}");
                }
            }
        }
    }
}
