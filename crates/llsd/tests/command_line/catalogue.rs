//! `llsd providers` and `llsd distributions`: what is known of servers, to look up.

use serde_json::{Value, json};

use crate::support::run;

fn found(arguments: &[&str]) -> Value {
    let said = run(&[arguments, &["-o", "json"]].concat(), "");
    assert_eq!(said.code, 0, "{}", said.stderr);
    serde_json::from_str(&said.stdout).unwrap()
}

#[test]
fn every_type_is_listed_by_api_with_its_releases() {
    let said = run(&["providers"], "").stdout;
    assert!(said.starts_with("API "), "{said}");
    let vllm = said.lines().find(|line| line.contains(" remote::vllm ")).unwrap();
    let words: Vec<&str> = vllm.split_whitespace().collect();
    assert_eq!(words[..4], ["inference", "vllm", "remote::vllm", "all"], "{vllm}");
    let milvus = said.lines().find(|line| line.contains("inline::milvus")).unwrap();
    assert!(milvus.starts_with("vectorIo"), "{milvus}");
    let skills = said.lines().find(|line| line.starts_with("skills ")).unwrap();
    assert!(skills.split_whitespace().nth(1) == Some("–"), "no field is for them: {skills}");
    assert_eq!(milvus.matches("inline::milvus").count(), 2, "the short name means the remote one");
}

#[test]
fn a_type_shows_its_fields_with_what_sets_them_and_since_when() {
    let said = run(&["providers", "remote::vllm"], "").stdout;
    assert!(
        said.starts_with("remote::vllm of inference, in a resource `provider: vllm`\n"),
        "{said}"
    );
    let line = |name: &str| {
        let found = said.lines().find(|line| line.split_whitespace().next() == Some(name));
        found.unwrap_or_else(|| panic!("{name}: {said}")).to_owned()
    };
    assert_eq!(
        line("base_url").split_whitespace().collect::<Vec<_>>()[1..],
        ["endpoint", "since", "0.4.7"]
    );
    assert!(line("url").ends_with("until 0.3.5"), "{said}");
    assert!(run(&["providers", "vllm"], "").stdout.contains(&said), "the short name finds it, too");
    let files = run(&["providers", "s3", "--api", "files"], "").stdout;
    let bucket = files.lines().find(|line| line.starts_with("bucket_name ")).unwrap();
    assert!(bucket.ends_with("yes"), "{files}");
    let stored = files.lines().find(|line| line.starts_with("metadata_store")).unwrap();
    assert!(stored.contains("filled in"), "{files}");
    assert!(line("max_tokens").contains("settings.max_tokens"), "{said}");
}

#[test]
fn one_release_has_its_own_fields() {
    let older = found(&["providers", "remote::vllm", "--release", "0.3.5"]);
    let names = |found: &Value| -> Vec<String> {
        let of_inference = found.as_array().unwrap().iter().find(|it| it["api"] == "inference");
        let fields = of_inference.unwrap()["fields"].as_array().unwrap().iter();
        fields.map(|field| field["name"].as_str().unwrap().to_owned()).collect()
    };
    assert!(names(&older).contains(&"url".to_owned()), "{older}");
    assert!(!names(&older).contains(&"base_url".to_owned()), "{older}");
    let newer = found(&["providers", "vllm", "--release", "0.7.3", "--api", "inference"]);
    assert_eq!(newer.as_array().unwrap().len(), 1);
    assert_eq!(newer[0]["provider"], "vllm");
    assert_eq!(newer[0]["releases"], json!([{"since": null, "until": null}]));
}

#[test]
fn an_api_is_found_in_both_spellings_and_its_required_fields_are_told() {
    let one = found(&["providers", "--api", "vectorIo"]);
    assert_eq!(one, found(&["providers", "--api", "vector_io"]));
    let all = one.as_array().unwrap();
    assert!(all.iter().all(|it| it["api"] == "vectorIo"), "{one}");
    let has_required = |it: &Value| {
        it["fields"].as_array().unwrap().iter().any(|field| field["required"] != json!([]))
    };
    assert!(all.iter().any(has_required), "{one}");
}

#[test]
fn what_is_not_known_says_what_was_meant() {
    for (arguments, answer) in [
        (vec!["vlm"], "no provider type is called \"vlm\"; did you mean vllm?"),
        (vec!["abacus-cluster"], "\"abacus-cluster\"; `llsd providers` lists them"),
        (vec!["--api", "inferences"], "there is no API \"inferences\"; there are "),
        (
            vec!["cerebras-openai-compat", "--release", "0.7.3"],
            "remote::cerebras-openai-compat of inference is in other releases (until 0.2.12)",
        ),
    ] {
        let said = run(&[&["providers"], &arguments[..]].concat(), "");
        assert_eq!(said.code, 2, "{}", said.stdout);
        assert!(said.stderr.contains(answer), "{arguments:?}: {}", said.stderr);
    }
}

#[test]
fn the_images_to_mirror_are_those_that_a_name_stands_for() {
    let text = run(&["distributions"], "").stdout;
    let starter = text.lines().find(|line| line.starts_with("starter ")).unwrap();
    let words: Vec<&str> = starter.split_whitespace().collect();
    assert_eq!(words, ["starter", "docker.io/llamastack/distribution-starter:0.7.3", "0.7.3"]);
    let all = found(&["distributions"]);
    assert_eq!(all.as_array().unwrap().len(), text.lines().count() - 1);
    let ogx = all.as_array().unwrap().iter().find(|it| it["name"] == "ogx-starter").unwrap();
    assert_eq!((&ogx["succeeds"], &ogx["release"]), (&json!("starter"), &json!("ogx-1.5.0")));
}
