//! `docs/configuration.md`, the page that error messages name, stays true: it names every field of
//! the resource and every fact, and its examples are what the program does.

use std::collections::{BTreeMap, BTreeSet};

use llsd_api::crd::described_v1alpha2;
use llsd_api::v1alpha2::PROVIDER_APIS;
use llsd_plan::facts::{
    BaseFacts, BaseSource, ConfigMapFacts, ExternalProviderFacts, Facts, ImageFacts, SecretFacts,
    SecretKeyFacts,
};
use serde_json::Value;

use crate::support::{Files, repository, run};

fn page() -> String {
    std::fs::read_to_string(repository("docs/configuration.md")).unwrap()
}

/// The words that the page has in code.
fn words(page: &str) -> BTreeSet<&str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = BTreeSet::new();
    for (index, part) in page.split("```").enumerate() {
        let codes: Vec<&str> = match index % 2 {
            1 => vec![part],
            _ => part.split('`').skip(1).step_by(2).collect(),
        };
        for code in codes {
            found.extend(code.split(|c| !is_word(c)).filter(|word| !word.is_empty()));
        }
    }
    found
}

/// The blocks of one language.
fn blocks<'a>(page: &'a str, language: &str) -> Vec<&'a str> {
    let fenced = page.split("```").skip(1).step_by(2);
    fenced.filter_map(|block| block.strip_prefix(&format!("{language}\n"))).collect()
}

/// Fields of Kubernetes' own types, whose inner fields are not ours to describe.
const EMBEDDED: [&str; 15] = [
    "spec.workload.resources",
    "spec.workload.topologySpreadConstraints",
    "spec.workload.autoscaling.metrics",
    "spec.workload.autoscaling.behavior",
    "spec.workload.overrides.probes.startup",
    "spec.workload.overrides.probes.readiness",
    "spec.workload.overrides.probes.liveness",
    "spec.workload.overrides.env",
    "spec.workload.overrides.envFrom",
    "spec.workload.overrides.volumes",
    "spec.workload.overrides.volumeMounts",
    "spec.workload.overrides.imagePullSecrets",
    "spec.workload.overrides.tolerations",
    "spec.workload.overrides.affinity",
    "spec.workload.overrides.securityContext",
];

/// Every field below a schema, by name, with one of the paths where it stands.
fn fields(schema: &Value, path: &str, found: &mut BTreeMap<String, String>) {
    if EMBEDDED.contains(&path) {
        return;
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        found.insert(name.clone(), path.clone());
        fields(field, &path, found);
    }
    match schema {
        Value::Object(parts) => {
            let others = parts.iter().filter(|(name, _)| *name != "properties");
            others.for_each(|(_, part)| fields(part, path, found));
        }
        Value::Array(parts) => parts.iter().for_each(|part| fields(part, path, found)),
        _ => {}
    }
}

#[test]
fn the_page_names_every_field_of_the_resource() {
    let page = page();
    let words = words(&page);
    let mut found = BTreeMap::new();
    fields(&described_v1alpha2()["properties"]["spec"], "spec", &mut found);
    for api in PROVIDER_APIS {
        assert!(found.contains_key(api), "the schema was not walked: {api}");
    }
    for name in ["deploymentName", "embeddingDimension", "mcpEndpoint", "uri", "params", "gateway"]
    {
        assert!(found.contains_key(name), "the schema was not walked: {name}");
    }
    for (name, path) in found {
        assert!(words.contains(name.as_str()), "the page does not name {path}");
    }
}

#[test]
fn the_page_names_every_fact() {
    let facts = Facts {
        secrets: [(
            String::new(),
            SecretFacts {
                keys: [(String::new(), SecretKeyFacts::default())].into(),
                ..SecretFacts::default()
            },
        )]
        .into(),
        config_maps: [(String::new(), ConfigMapFacts::default())].into(),
        external_providers: [(
            String::new(),
            ExternalProviderFacts {
                digest: Some(String::new()),
                config_class: Some(String::new()),
                package_file: Some(String::new()),
                differing_platforms: vec![String::new()],
                unavailable: Some(String::new()),
                unusable: Some(String::new()),
                ..ExternalProviderFacts::default()
            },
        )]
        .into(),
        image: ImageFacts {
            base: Some(BaseFacts {
                text: String::new(),
                source: BaseSource::File,
                found_in: Some(String::new()),
            }),
            ..ImageFacts::default()
        },
        ..Facts::default()
    };
    let page = page();
    let words = words(&page);
    let mut names = BTreeSet::new();
    keys(&serde_json::to_value(facts).unwrap(), &mut names);
    assert!(names.len() > 20, "{names:?}");
    for name in names {
        assert!(words.contains(name.as_str()), "the page does not name the fact {name}");
    }
}

fn keys(value: &Value, found: &mut BTreeSet<String>) {
    for (key, child) in value.as_object().into_iter().flatten() {
        if !key.is_empty() {
            found.insert(key.clone());
        }
        keys(child, found);
    }
}

#[test]
fn the_example_explained_is_what_the_program_prints() {
    let page = page();
    let resource =
        blocks(&page, "yaml").into_iter().find(|text| text.starts_with("apiVersion")).unwrap();
    let printed = run(&["explain", "-f", "-"], resource);
    assert_eq!((printed.code, printed.stderr.as_str()), (0, ""));
    let shown = blocks(&page, "text").into_iter().find(|text| text.contains("# base: ")).unwrap();
    let mut lines = printed.stdout.lines();
    for line in shown.lines().filter(|line| *line != "…") {
        assert!(lines.any(|printed| printed == line), "not printed, or not there: {line}");
    }
}

#[test]
fn the_example_of_facts_is_read() {
    let page = page();
    let example =
        blocks(&page, "yaml").into_iter().find(|text| text.starts_with("# facts.yaml")).unwrap();
    let files = Files::new();
    let facts = files.add("facts.yaml", example);
    let read =
        run(&["render", "-f", "-", "--facts", &facts], &crate::support::resource("demo", "a"));
    assert_eq!((read.code, read.stderr.as_str()), (0, ""), "{}", read.stderr);
}
