//! Names that are nearly those of the server's, and images that are none: refused as firmly as a misspelt field.

use rstest::rstest;

use crate::support::{Run, resource, validate_stdin};

fn validate_spec(spec: &str) -> Run {
    validate_stdin(&resource("demo", "demo").replace("  distribution: {name: starter}\n", spec))
}

#[rstest]
#[case::provider(
    "providers: {inference: {provider: vlm, endpoint: \"http://vllm:8000\"}}",
    "spec.providers.inference.provider: no release has a provider `vlm` of this kind",
    "did you mean vllm? A type that only your image has is written in full: remote::vlm"
)]
#[case::disabled(
    "disabled: [evall]",
    "spec.disabled[0]: no release has an API `evall`",
    "did you mean eval?"
)]
fn a_misspelt_name_of_the_servers_is_refused_once(
    #[case] field: &str,
    #[case] message: &str,
    #[case] remedy: &str,
) {
    let run = validate_spec(&format!("  {{distribution: {{name: starter}}, {field}}}\n"));
    assert_eq!(run.code, 1, "{}", run.stderr);
    assert!(run.stderr.contains(&format!("{message}\n    → {remedy}\n")), "{}", run.stderr);
    assert!(run.stderr.contains("1 problem, 0 warnings"), "{}", run.stderr);
}

#[rstest]
#[case::type_of_ones_own("providers: {inference: {provider: \"remote::vlm\"}}")]
#[case::like_none("providers: {inference: {provider: our-own-models}}")]
#[case::another_product("providers: {inference: {provider: tei}}")]
#[case::numbered("providers: {inference: {provider: vllm-2}}")]
#[case::api_like_none("disabled: [nothing]")]
#[case::api_with_a_number("disabled: [eval2]")]
fn a_name_that_an_image_may_have_is_warned_of_alone(#[case] field: &str) {
    let run = validate_spec(&format!("  {{distribution: {{name: starter}}, {field}}}\n"));
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(run.stdout.contains("0 problems, 1 warning\n"), "{} {}", run.stdout, run.stderr);
}

#[test]
fn apis_that_are_always_served_are_known() {
    let run =
        validate_spec("  {distribution: {name: starter}, disabled: [inspect, providers, admin]}\n");
    assert_eq!(run.code, 0, "{}", run.stderr);
    assert!(!run.stderr.contains("no release has"), "{}", run.stderr);
    for api in ["inspect", "providers", "admin"] {
        let warning = format!("{api} has no providers and cannot be switched off by itself");
        assert!(run.stderr.contains(&warning), "{}", run.stderr);
    }
}

#[rstest]
#[case("foo@sha256:zz", "the digest has the wrong length")]
#[case("foo@latest", "a digest is <algorithm>:<hexadecimal>")]
#[case("foo:1@sha256:@", "the digest has the wrong length")]
fn a_digest_that_is_none_is_refused(#[case] image: &str, #[case] why: &str) {
    let run = validate_spec(&format!("  {{distribution: {{image: \"{image}\"}}}}\n"));
    assert_eq!(run.code, 1, "{}", run.stderr);
    let line = format!("spec.distribution.image: is not an image reference: {why}\n");
    assert!(run.stderr.contains(&line), "{}", run.stderr);
    assert!(run.stderr.contains("1 problem, 0 warnings"), "{}", run.stderr);
}
