//! `llsd init` and `llsd schema`: a resource to start from, and what an editor needs to help with it.

use serde_json::{Value, json};

use crate::support::{Files, run, samples, validate_stdin};

#[test]
fn every_sample_can_be_printed_and_is_what_the_repository_has() {
    let list = run(&["init"], "").stdout;
    for (file, arguments) in samples() {
        let name = file.strip_prefix("v1alpha2-").unwrap_or(&file);
        let line = list.lines().find(|line| line.split_whitespace().next() == Some(name));
        assert!(line.is_some_and(|line| line.split_whitespace().count() > 2), "{name}: {list}");
        let said = run(&["init", name], "");
        assert_eq!((said.code, said.stderr.as_str()), (0, ""), "{name}");
        let kept = std::fs::read_to_string(&arguments[1]).unwrap();
        assert!(said.stdout.ends_with(&kept), "{name}");
        let is_current = !name.starts_with("v1alpha1-");
        let first = said.stdout.lines().next().unwrap();
        assert_eq!(
            first == "# yaml-language-server: $schema=llsd.schema.json",
            is_current,
            "{name}"
        );
    }
}

#[test]
fn a_sample_is_valid_as_it_is_printed() {
    let printed = run(&["init", "simple"], "").stdout;
    let checked = validate_stdin(&printed);
    assert_eq!(checked.code, 0, "{}", checked.stderr);
}

#[test]
fn a_file_is_never_overwritten() {
    let files = Files::new();
    let file = files.path("stack.yaml");
    let first = run(&["init", "simple", "-o", &file], "");
    assert_eq!(first.code, 0, "{}", first.stderr);
    let schema = files.path("llsd.schema.json");
    let hint =
        format!("wrote {file}\n`llsd schema > {schema}` lets your editor complete and check it\n");
    assert_eq!(first.stdout, hint);
    let written = std::fs::read_to_string(&file).unwrap();
    assert_eq!(written, run(&["init", "simple"], "").stdout);
    let second = run(&["init", "tls", "-o", &file], "");
    assert_eq!(second.code, 2, "{}", second.stdout);
    let told = format!("error: {file} is there already; choose another file, or remove it\n");
    assert_eq!(second.stderr, told);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), written);
    files.add("llsd.schema.json", "{}");
    let beside = run(&["init", "tls", "-o", &files.path("tls.yaml")], "");
    assert_eq!(beside.stdout, format!("wrote {}\n", files.path("tls.yaml")));
}

#[test]
fn a_misspelt_sample_is_suggested() {
    let said = run(&["init", "postgress"], "");
    assert_eq!(said.code, 2);
    assert_eq!(said.stderr, "error: there is no sample \"postgress\"; did you mean postgres?\n");
}

#[test]
fn the_schema_knows_every_field_and_no_other() {
    let said = run(&["schema"], "");
    assert_eq!(said.code, 0, "{}", said.stderr);
    let schema: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(schema["properties"]["apiVersion"]["const"], "llamastack.io/v1alpha2");
    let spec = &schema["properties"]["spec"];
    assert_eq!(spec["additionalProperties"], json!(false));
    assert_eq!(spec["properties"]["networking"]["properties"]["port"]["minimum"], 1024);
    let older: Value =
        serde_json::from_str(&run(&["schema", "--api-version", "v1alpha1"], "").stdout).unwrap();
    assert!(older["properties"]["spec"]["properties"]["server"].is_object());
    let wrong = run(&["schema", "--api-version", "v1"], "");
    assert_eq!(wrong.code, 2);
    assert!(wrong.stderr.contains("known are v1alpha2 and v1alpha1"), "{}", wrong.stderr);
}
