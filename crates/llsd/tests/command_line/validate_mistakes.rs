//! Mistakes that people make, each with the answer that it gets.

use rstest::rstest;

use crate::support::{Files, run, validate_stdin};

const HEAD: &str = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\n";

fn with_spec(spec: &str) -> String {
    format!("{HEAD}metadata: {{name: demo, namespace: demo}}\nspec: {spec}\n")
}

fn with_endpoint(endpoint: &str) -> String {
    let provider = format!("{{provider: vllm, endpoint: {endpoint:?}}}");
    with_spec(&format!("{{distribution: {{name: starter}}, providers: {{inference: {provider}}}}}"))
}

#[rstest]
#[case::no_scheme(
    "vllm:8000",
    "`vllm:8000` has no scheme",
    "write http://vllm:8000 or https://vllm:8000"
)]
#[case::wrong_scheme("htp://vllm:8000", "the scheme `htp` is not supported", "did you mean http?")]
#[case::no_port("http://vllm:80000", "`80000` is not a port", "use a number from 1 to 65535")]
#[case::blank(" ", "holds blanks", "write an address without blanks")]
#[case::credentials("http://user:pw@vllm:8000", "holds credentials", "name it in apiKey")]
fn an_endpoint_that_no_server_can_use_is_refused(
    #[case] endpoint: &str,
    #[case] message: &str,
    #[case] remedy: &str,
) {
    let run = validate_stdin(&with_endpoint(endpoint));
    assert_eq!(run.code, 1, "{}", run.stderr);
    let line = format!("spec.providers.inference.endpoint: {message}");
    assert!(run.stderr.contains(&line), "{}", run.stderr);
    assert!(run.stderr.contains(remedy), "{}", run.stderr);
    assert!(run.stderr.contains("1 problem, 0 warnings"), "{}", run.stderr);
    assert!(!run.stderr.contains("user:pw"), "{}", run.stderr);
}

#[test]
fn an_endpoint_with_the_path_of_one_operation_is_warned_of() {
    let run = validate_stdin(&with_endpoint("http://vllm:8000/v1/chat/completions"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stderr.contains("ends with `/chat/completions`"), "{}", run.stderr);
    assert!(run.stderr.contains("write http://vllm:8000/v1"), "{}", run.stderr);
}

#[rstest]
#[case::number("labels: {a: 1}", "metadata.labels.a: must be a string, not a number")]
#[case::boolean("labels: {a: true}", "metadata.labels.a: must be a string, not a boolean")]
#[case::bad_key("labels: {-a: x}", "metadata.labels.-a: is not a valid key")]
#[case::misspelt("lables: {a: x}", "did you mean labels?")]
#[case::annotation("annotations: {a: 1}", "metadata.annotations.a: must be a string, not a number")]
fn metadata_that_the_api_server_refuses_is_refused(#[case] field: &str, #[case] expected: &str) {
    let text = format!(
        "{HEAD}metadata: {{name: demo, {field}}}\nspec: {{distribution: {{name: starter}}}}\n"
    );
    let run = validate_stdin(&text);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains(expected), "{}", run.stderr);
    assert!(!run.stderr.contains("please report"), "{}", run.stderr);
}

#[rstest]
#[case::list(
    "{distribution: {name: starter}, resources: {models: llama3.2-8b}}",
    "write [llama3.2-8b]"
)]
#[case::quantity(
    "{distribution: {name: starter}, workload: {storage: {size: 2GB}}}",
    "for example 500m or 2Gi"
)]
#[case::moved("{distribution: {name: starter}, replicas: 2}", "write it as spec.workload.replicas")]
#[case::nested("{distribution: {name: starter, providers: {}}}", "write it as spec.providers")]
fn a_remedy_says_what_to_write(#[case] spec: &str, #[case] expected: &str) {
    let run = validate_stdin(&with_spec(spec));
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains(expected), "{}", run.stderr);
}

#[test]
fn a_name_that_is_not_one_is_told_what_a_name_looks_like() {
    let text =
        format!("{HEAD}metadata: {{name: My_Stack}}\nspec: {{distribution: {{name: starter}}}}\n");
    let run = validate_stdin(&text);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("lower-case letters, digits and -"), "{}", run.stderr);
}

#[test]
fn a_top_level_field_that_no_resource_has_is_refused() {
    let text = format!("{}extra: 1\n", with_spec("{distribution: {name: starter}}"));
    let run = validate_stdin(&text);
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains("extra: "), "{}", run.stderr);
}

#[rstest]
#[case::replicas("replicas: 2", "spec.workload.replicas")]
#[case::autoscaling("autoscaling: {maxReplicas: 3}", "spec.workload.autoscaling.maxReplicas")]
fn replicas_that_share_no_state_are_warned_of(#[case] workload: &str, #[case] path: &str) {
    let run = validate_stdin(&with_spec(&format!(
        "{{distribution: {{name: starter}}, workload: {{{workload}}}}}"
    )));
    assert_eq!(run.code, 0, "{}", run.stderr);
    let expected = format!("{path}: the replicas share no state");
    assert!(run.stderr.contains(&expected), "{}", run.stderr);
    let shared = run_with_shared_state(workload);
    assert!(!shared.contains("share no state"), "{shared}");
}

fn run_with_shared_state(workload: &str) -> String {
    let kv = "{type: redis, endpoint: \"redis://redis:6379\"}";
    let sql = "{type: postgres, connectionString: {name: pg, key: url}}";
    let spec = format!(
        "{{distribution: {{name: starter}}, storage: {{kv: {kv}, sql: {sql}}}, workload: {{{workload}}}}}"
    );
    validate_stdin(&with_spec(&spec)).stderr
}

#[rstest]
#[case("tools: [websearch, builtin::websearch]", "the tool `builtin::websearch` is listed twice")]
#[case("shields: [{name: a, model: m}, {name: a, model: other}]", "the shield `a` is listed twice")]
fn what_is_listed_twice_is_refused(#[case] resources: &str, #[case] expected: &str) {
    let run = validate_stdin(&with_spec(&format!(
        "{{distribution: {{name: starter}}, resources: {{{resources}}}}}"
    )));
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains(expected), "{}", run.stderr);
}

#[test]
fn a_release_that_a_named_distribution_has_no_configuration_of_is_told_of_the_base() {
    let text = with_spec(
        "{distribution: {name: starter}, providers: {inference: {provider: vllm, endpoint: \"http://v\"}}}",
    );
    let run = run(&["validate", "-f", "-", "--release", "0.6"], &text);
    assert_eq!(run.code, 1, "{}", run.stderr);
    let remedy = "    → add --base with the configuration inside the image of that release, or leave --release out\n";
    assert!(run.stderr.contains(remedy), "{}", run.stderr);
}

#[rstest]
#[case::hostname("{distribution: {name: starter}, networking: {expose: {hostname: \"My_Host\"}}}")]
#[case::quantity("{distribution: {name: starter}, workload: {storage: {size: 2GB}}}")]
#[case::id(
    "{distribution: {name: starter}, providers: {inference: [{id: a/b, provider: vllm, endpoint: \"http://v\"}]}}"
)]
#[case::port("{distribution: {name: starter}, networking: {port: 1}}")]
#[case::label("{distribution: {name: starter}, networking: {allowedFrom: {labels: [\"a b\"]}}}")]
fn no_regular_expression_is_shown(#[case] spec: &str) {
    let run = validate_stdin(&with_spec(spec));
    assert_eq!(run.code, 1, "{}", run.stderr);
    for part in ["^", "[a-z", "[A-Za-z", "]*", ")?"] {
        assert!(!run.stderr.contains(part), "{part}: {}", run.stderr);
    }
}

#[test]
fn facts_that_cannot_be_used_leave_nothing_valid() {
    let files = Files::new();
    let facts = files.add("facts.yaml", "imag: {}\n");
    let text = with_spec("{distribution: {name: starter}}");
    let run = run(&["validate", "-f", "-", "--facts", &facts], &text);
    assert_eq!((run.code, run.stdout.as_str()), (1, ""), "{}", run.stderr);
    assert!(
        run.stderr.contains(&format!("{facts}:1:1: imag: unknown field `imag`")),
        "{}",
        run.stderr
    );
}
