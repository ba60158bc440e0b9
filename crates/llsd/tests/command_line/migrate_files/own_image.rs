//! `llsd migrate -f … --base …`: the variables of an image of one's own.

use crate::support::{Files, repository, run};

const OWN: &str = "\
apiVersion: llamastack.io/v1alpha1
kind: LlamaStackDistribution
metadata: {name: demo}
spec:
  server:
    distribution: {image: example.com/own:1}
    containerSpec:
      env:
      - {name: VLLM_URL, value: 'http://vllm:8000/v1'}
";

#[test]
fn the_configuration_inside_the_image_says_what_its_variables_mean() {
    let files = Files::new();
    let file = files.add("own.yaml", OWN);
    let alone = run(&["migrate", "-f", &file], "");
    assert_eq!(alone.code, 0, "{}", alone.stderr);
    assert!(
        alone.stdout.contains("VLLM_URL") && alone.stderr.contains("`--base`"),
        "{}",
        alone.stderr
    );

    let base = repository("crates/llsd-plan/tests/bases/starter-0.6.1.yaml");
    let base = base.to_str().unwrap();
    let with_base = run(&["migrate", "-f", &file, "--base", base], "");
    assert_eq!(with_base.code, 0, "{}", with_base.stderr);
    assert!(!with_base.stdout.contains("VLLM_URL"), "{}", with_base.stderr);
    assert!(with_base.stdout.contains("provider: vllm"), "{}", with_base.stderr);
    assert!(with_base.stderr.contains("1 variable turned, 0 left"), "{}", with_base.stderr);

    let wrong = files.add("base.yaml", "providers: [\n");
    let refused = run(&["migrate", "-f", &file, "--base", &wrong], "");
    assert_eq!((refused.code, &*refused.stdout), (1, ""), "{}", refused.stderr);
    let in_cluster = run(&["migrate", "--in-cluster", "--base", base], "");
    assert_eq!(in_cluster.code, 2, "{}", in_cluster.stderr);
}
