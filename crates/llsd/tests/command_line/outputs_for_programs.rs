//! What `validate` and `render` print for programs: SARIF, workflow commands, and one JSON list.

use serde_json::{Value, json};

use crate::support::{Files, parse_documents, resource, run, with_vllm};

/// A problem at line 7, and a warning at line 1.
fn wrong() -> String {
    let text = resource("demo", "a").replace("llamastack.io", "llamastack.ai");
    format!("{text}  networking:\n    port: 80\n")
}

#[test]
fn sarif_has_rule_place_and_field_of_each_finding() {
    let files = Files::new();
    let file = files.add("stack one.yaml", &wrong());
    let said = run(&["validate", "-f", &file, "-o", "sarif"], "");
    assert_eq!((said.code, said.stderr.as_str()), (1, ""));
    let log: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    assert_eq!(run["tool"]["driver"]["name"], "llsd");
    let results = run["results"].as_array().unwrap();
    assert_eq!(results.len(), 2, "{results:?}");
    let levels: Vec<&Value> = results.iter().map(|result| &result["level"]).collect();
    assert_eq!(levels, ["warning", "error"]);
    let port = &results[1];
    let place = &port["locations"][0]["physicalLocation"];
    assert_eq!(place["region"], json!({"startLine": 7, "startColumn": 11}));
    let uri = place["artifactLocation"]["uri"].as_str().unwrap();
    assert!(uri.starts_with("file:///") && uri.ends_with("/stack%20one.yaml"), "{uri}");
    let named = &port["locations"][0]["logicalLocations"][0]["fullyQualifiedName"];
    assert_eq!(named, "spec.networking.port");
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let index = usize::try_from(port["ruleIndex"].as_u64().unwrap()).unwrap();
    assert_eq!((&rules[index]["id"], &port["ruleId"]), (&json!("Invalid"), &json!("Invalid")));
    let text = port["message"]["text"].as_str().unwrap();
    assert!(text.contains("80 is out of range\n→ use a number from 1024 to 65535"), "{text}");
    let warned = results[0]["message"]["text"].as_str().unwrap();
    assert!(warned.ends_with("\n→ write `apiVersion: llamastack.io/v1alpha2`"), "{warned}");
}

#[test]
fn what_is_valid_is_a_log_without_results() {
    let said = run(&["validate", "-f", "-", "-o", "sarif"], &resource("demo", "a"));
    assert_eq!(said.code, 0);
    let log: Value = serde_json::from_str(&said.stdout).unwrap();
    assert_eq!(log["runs"][0]["results"], json!([]));
}

#[test]
fn github_shows_each_finding_beside_its_line() {
    let files = Files::new();
    let file = files.add("stack.yaml", &wrong());
    let said = run(&["validate", "-f", &file, "-o", "github"], "");
    assert_eq!((said.code, said.stderr.as_str()), (1, ""));
    let lines: Vec<&str> = said.stdout.lines().collect();
    assert_eq!(lines.len(), 2, "{lines:?}");
    assert!(
        lines[0].starts_with(&format!("::warning file={file},line=1,col=13,title=")),
        "{}",
        lines[0]
    );
    let remedy = "%0A→ write `apiVersion: llamastack.io/v1alpha2`";
    assert!(lines[0].ends_with(remedy), "{}", lines[0]);
    assert_eq!(
        lines[1],
        format!(
            "::error file={file},line=7,col=11,title=Invalid::spec.networking.port: 80 is out of range%0A→ use \
             a number from 1024 to 65535"
        )
    );
    assert_eq!(run(&["validate", "-f", "-", "-o", "github"], &resource("demo", "a")).stdout, "");
}

#[test]
fn rendered_objects_are_one_list_in_json() {
    let resource = with_vllm("mine", "");
    let yaml = run(&["render", "-f", "-"], &resource);
    let json = run(&["render", "-f", "-", "-o", "json"], &resource);
    assert_eq!(json.code, 0, "{}", json.stderr);
    let list: Value = serde_json::from_str(&json.stdout).unwrap();
    assert_eq!((&list["apiVersion"], &list["kind"]), (&json!("v1"), &json!("List")));
    assert_eq!(list["items"].as_array().unwrap(), &parse_documents(&yaml.stdout));
}
