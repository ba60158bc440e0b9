//! One run of `llsd validate` finds everything that is wrong with a file, each at its line.

use assert_cmd::Command;
use serde_json::Value;

const FIVE_MISTAKES: &str = "\
# Five mistakes, each of another kind.
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata:
  name: five-mistakes
spec:
  distribution:
    name: starter
    image: registry.example.com/llama/custom:1
  providers:
    inference:
      - id: vllm
        provider: vllm
        endpont: http://vllm:8000
      - provider: ollama
        endpoint: http://ollama:11434
  resources:
    models:
      - name: bge
        modelType: embedding
  networking:
    port: 80
";

fn validate(arguments: &[&str], stdin: &str) -> std::process::Output {
    let mut command = Command::cargo_bin("llsd").unwrap();
    command.arg("validate").args(arguments).write_stdin(stdin).output().unwrap()
}

#[test]
fn five_different_mistakes_are_five_problems_with_their_lines() {
    let output = validate(&["-f", "-"], FIVE_MISTAKES);
    let said = String::from_utf8(output.stderr).unwrap();
    let found: Vec<&str> = said.lines().filter(|line| line.starts_with("-:")).collect();
    let expected = [
        "-:7:3: spec.distribution: exactly one of name and image must be set",
        "-:14:9: spec.providers.inference[0].endpont: unknown field",
        "-:15:9: spec.providers.inference[1].id: each of several providers of one API needs an id",
        "-:19:9: spec.resources.models[0].embeddingDimension: \
         modelType embedding needs embeddingDimension",
        "-:22:11: spec.networking.port: 80 is out of range",
    ];
    assert_eq!(found, expected, "{said}");
    assert!(said.contains("did you mean endpoint?"), "{said}");
    assert_eq!(output.status.code(), Some(1));
}

#[test]
fn tools_get_the_same_as_json() {
    let output = validate(&["-f", "-", "-o", "json"], FIVE_MISTAKES);
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    let problems = report["resources"][0]["problems"].as_array().unwrap();
    let places: Vec<(u64, &str)> = problems
        .iter()
        .map(|p| (p["line"].as_u64().unwrap(), p["reason"].as_str().unwrap()))
        .collect();
    let expected = [
        (7, "Conflict"),
        (14, "UnknownField"),
        (15, "Required"),
        (19, "Required"),
        (22, "Invalid"),
    ];
    assert_eq!(places, expected);
}

#[test]
fn warnings_are_told_apart_and_do_not_fail() {
    let disabled_and_configured = "\
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: warned}
spec:
  distribution: {name: starter}
  providers:
    inference: {provider: vllm, endpoint: \"http://vllm:8000\"}
  disabled:
    - inference
    - nothing
";
    let output = validate(&["-f", "-"], disabled_and_configured);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{said}");
    assert!(said.contains("warning: spec.providers.inference: inference is disabled"), "{said}");
    assert!(said.contains("-:10:7: warning: spec.disabled[1]: no release has an API"), "{said}");
}
