//! The API server, with the operator not running, and the Rust validation decide alike.

use llsd_api::v1alpha2::PROVIDER_APIS;
use llsd_cases::verdicts::{RefusedBy, Verdict};
use llsd_plan::problems::{Findings, Problem, Reason};
use llsd_plan::validate::validate;
use serde_json::{Value, json};

use llsd_testbed::cluster::{dry_run, installed, resource};

/// How many generated variations are checked by both; `LLSD_TEST_VARIATIONS` asks for more, and
/// `LLSD_TEST_SEED` for others.
const VARIATIONS: usize = 1_500;
const SEED: usize = 20_261_115;

#[tokio::test]
async fn every_resource_of_the_tables_gets_the_same_verdict_from_both() {
    let Some(cluster) = installed().await else {
        return;
    };
    let client = cluster.client();
    let mut faults = Vec::new();
    for case in Verdict::accepted() {
        let resource = case.resource();
        if let Err(refusal) = dry_run(&client, &resource).await {
            faults.push(format!("{}: refused: {}", case.name, refusal.message));
        }
        let findings = validate(&resource);
        if !findings.problems.is_empty() {
            faults.push(format!("{}: Rust refuses: {}", case.name, listed(&findings)));
        }
    }
    let refused = Verdict::refused();
    assert!(refused.len() >= 60, "the table holds {} resources", refused.len());
    for case in refused {
        let result = dry_run(&client, &case.resource()).await;
        faults.extend(faults_of_refusal(&case, result.err().map(|status| status.message)));
    }
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));
}

/// CEL has a budget: a resource as large as the schema allows must still be checked, not refused.
#[tokio::test]
async fn the_largest_resource_that_the_schema_allows_is_accepted() {
    let Some(cluster) = installed().await else { return };
    let list = |api: &str| -> Value {
        let entry = |n| json!({"id": format!("{api}-provider-{n}"), "provider": "remote::vllm"});
        (0..32).map(entry).collect()
    };
    let apis = PROVIDER_APIS.into_iter().filter(|api| *api != "agents");
    let named = |what: &str, count: usize| -> Value {
        (0..count).map(|n| json!({"name": format!("{what}-{n}")})).collect()
    };
    let spec = json!({
        "distribution": {"name": "starter"},
        "providers": apis.map(|api| (api.to_owned(), list(api))).collect::<Value>(),
        "resources": {
            "models": named("model", 256), "tools": named("tool", 128), "shields": named("shield", 128),
        },
    });
    let result = dry_run(&cluster.client(), &resource("largest", &spec)).await;
    assert!(result.is_ok(), "{}", result.unwrap_err().message);
}

#[tokio::test]
async fn as_many_providers_as_there_can_be_are_taken_away() {
    let Some(cluster) = installed().await else { return };
    let apis = PROVIDER_APIS.into_iter().filter(|api| *api != "agents");
    let removals = |api: &str| -> Value {
        (0..32).map(|n| json!({"id": format!("{api}-provider-{n}"), "enabled": false})).collect()
    };
    let providers: Value = apis.map(|api| (api.to_owned(), removals(api))).collect();
    let spec = json!({"distribution": {"name": "starter"}, "providers": providers});
    let result = dry_run(&cluster.client(), &resource("fewest", &spec)).await;
    assert!(result.is_ok(), "{}", result.unwrap_err().message);
}

/// Compares what the API server and the Rust validation said with what the table wants.
fn faults_of_refusal(case: &Verdict, refusal: Option<String>) -> Vec<String> {
    let (name, says) = (&case.name, case.says.as_deref().unwrap_or_default());
    let path = case.path.as_deref().unwrap_or_default();
    if case.refused_by == Some(RefusedBy::Operator) {
        return refusal
            .map(|said| format!("{name}: not left to the operator: {said}"))
            .into_iter()
            .collect();
    }
    let mut faults = Vec::new();
    match refusal {
        None => faults.push(format!("{name}: accepted")),
        Some(said) if !said.to_lowercase().contains(&says.to_lowercase()) => {
            faults.push(format!("{name}: does not say `{says}`: {said}"));
        }
        Some(_) => {}
    }
    let findings = validate(&case.resource());
    let at_the_path =
        findings.problems.iter().any(|problem| is_at_or_below(&problem.path.to_string(), path));
    if !at_the_path {
        faults.push(format!("{name}: Rust finds nothing at {path}: {}", listed(&findings)));
    }
    faults
}

fn is_at_or_below(path: &str, ancestor: &str) -> bool {
    path.strip_prefix(ancestor).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn listed(findings: &Findings) -> String {
    let problems: Vec<String> =
        findings.problems.iter().map(|p| format!("{}: {}", p.path, p.message)).collect();
    problems.join(" | ")
}

#[tokio::test]
async fn generated_variations_of_good_resources_get_the_same_verdict_from_both() {
    let Some(cluster) = installed().await else {
        return;
    };
    let client = cluster.client();
    let originals = Verdict::accepted();
    let variations = setting("LLSD_TEST_VARIATIONS", VARIATIONS);
    let seed = setting("LLSD_TEST_SEED", SEED);
    let mut random = Random(seed as u64);
    let (mut faults, mut refusals) = (Vec::new(), 0);
    for round in 0..variations {
        let original = &originals[random.below(originals.len())];
        let mut spec = original.spec.clone();
        for _ in 0..=random.below(2) {
            vary(&mut spec, &mut random);
        }
        let resource = resource("variation", &spec);
        let refusal = dry_run(&client, &resource).await.err().map(|status| status.message);
        let findings = validate(&resource);
        refusals += usize::from(refusal.is_some());
        if refusal.is_some() == findings.problems.is_empty() && deliberate(&findings).is_none() {
            faults.push(format!(
                "variation {round} of {}: {spec}\n  API server: {}\n  Rust: {}",
                original.name,
                refusal.unwrap_or_else(|| "accepts".into()),
                listed(&findings),
            ));
        }
    }
    // Variations that nobody refuses, or everybody, would prove nothing.
    assert!(
        (variations / 10..variations).contains(&refusals),
        "{refusals} of {variations} refused"
    );
    assert!(faults.is_empty(), "{} faults, seed {seed}:\n{}", faults.len(), faults.join("\n"));
}

fn setting(variable: &str, default: usize) -> usize {
    let given = std::env::var(variable).ok();
    given.map_or(default, |number| {
        number.parse().unwrap_or_else(|_| panic!("{variable} is no number"))
    })
}

/// Where the two are meant to differ, with the reason.
fn deliberate(findings: &Findings) -> Option<&'static str> {
    let is_of_servers = |problem: &Problem| {
        let path = problem.path.to_string();
        let is_address = path.ends_with(".endpoint") || path.ends_with(".mcpEndpoint.uri");
        is_address || problem.reason == Reason::NotFound
    };
    if !findings.problems.is_empty() && findings.problems.iter().all(is_of_servers) {
        return Some(
            "which types of providers there are, and what their addresses look like, the webhook knows and \
             the API server does not",
        );
    }
    let only_beyond_32_bits = !findings.problems.is_empty()
        && findings.problems.iter().all(|p| p.message.ends_with("is out of range"));
    only_beyond_32_bits.then_some(
        "the API server does not hold numbers of embedded Kubernetes types to their 32 bits; \
         the typed resource could not be read with them",
    )
}

/// Changes one place of the spec: drops, replaces, renames, repeats or adds something.
fn vary(spec: &mut Value, random: &mut Random) {
    let mut places = Vec::new();
    collect(spec, String::new(), &mut places);
    let place = spec.pointer_mut(&places[random.below(places.len())]).expect("collected above");
    match place {
        Value::Object(object) if !object.is_empty() && random.below(3) > 0 => {
            let key = object.keys().nth(random.below(object.len())).expect("not empty").clone();
            match random.below(4) {
                0 => drop(object.shift_remove(&key)),
                1 => {
                    let value = object.shift_remove(&key).expect("a key of its own");
                    object.insert(format!("{key}x"), value);
                }
                2 => drop(object.insert("unheardOf".into(), json!(1))),
                _ => drop(object.insert(key, odd_value(random))),
            }
        }
        Value::Array(items) if !items.is_empty() && random.below(2) == 0 => {
            let repeated = items[random.below(items.len())].clone();
            items.push(repeated);
        }
        Value::Array(items) => items.push(odd_value(random)),
        other => *other = odd_value(random),
    }
}

fn collect(value: &Value, pointer: String, places: &mut Vec<String>) {
    match value {
        Value::Object(object) => {
            for (key, child) in object {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect(child, format!("{pointer}/{key}"), places);
            }
        }
        Value::Array(items) => {
            for (index, child) in items.iter().enumerate() {
                collect(child, format!("{pointer}/{index}"), places);
            }
        }
        _ => {}
    }
    places.push(pointer);
}

fn odd_value(random: &mut Random) -> Value {
    let odd = [
        json!(null),
        json!(true),
        json!(false),
        json!(0),
        json!(-1),
        json!(8321),
        json!(1.5),
        json!(70_000),
        json!(99_999_999_999_i64),
        json!(""),
        json!("x"),
        json!("a b"),
        json!("10Gi"),
        json!("redis"),
        json!("postgres"),
        json!([]),
        json!([null]),
        json!(["x"]),
        json!({}),
        json!({"name": "a", "key": "b"}),
        json!({"secretKeyRef": {"name": "a", "key": "b"}}),
        json!({"provider": "vllm"}),
        json!([{"provider": "vllm"}, {"provider": "ollama"}]),
        json!({"enabled": false}),
        json!({"unheardOf": 1}),
    ];
    odd[random.below(odd.len())].clone()
}

/// SplitMix64: the variations must be the same on every machine, from a seed that a failure names.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        usize::try_from((mixed ^ (mixed >> 31)) % bound as u64).expect("below a usize")
    }
}
