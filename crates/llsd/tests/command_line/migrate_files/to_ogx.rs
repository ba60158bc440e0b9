//! `llsd migrate --to`: resources for OGX, whichever version they were, with their comments.

use crate::support::{Files, run};

const STARTER: &str = "\
# Kept.
apiVersion: llamastack.io/v1alpha1
kind: LlamaStackDistribution
metadata:
  name: demo
spec:
  server:
    distribution:
      name: starter # the small one
    containerSpec:
      env:
      # In the cluster.
      - name: VLLM_URL
        value: http://vllm:8000/v1
      - name: SAFETY_MODEL
        value: guard
    storage:
      size: 20Gi
";

#[test]
fn a_file_of_v1alpha1_becomes_one_of_ogx_that_validates_and_stays() {
    let first = run(&["migrate", "--to", "ogx-1.5.0", "-f", "-"], STARTER);
    assert_eq!(first.code, 0, "{}", first.stderr);
    for kept in ["# Kept.\n", "name: ogx-starter # the small one\n", "# In the cluster.\n"] {
        assert!(first.stdout.contains(kept), "{}", first.stdout);
    }
    assert!(!first.stdout.contains("shields"), "{}", first.stdout);
    for said in [
        ":9:13: changed: spec.server.distribution.name: starter → ogx-starter, OGX 1.5.0\n",
        "dropped: ",
        ": OGX 1.5.0 has no shields\n",
        "docs/from-llama-stack-to-ogx.md\n",
    ] {
        assert!(first.stderr.contains(said), "{said}: {}", first.stderr);
    }
    let again = run(&["migrate", "--to", "ogx-1.5", "-f", "-"], &first.stdout);
    assert_eq!((again.code, &again.stdout), (0, &first.stdout), "{}", again.stderr);
    let files = Files::new();
    let file = files.add("resource.yaml", &first.stdout);
    let checked = run(&["validate", "--release", "ogx-1.5.0", "-f", &file], "");
    assert_eq!(checked.code, 0, "{}{}", checked.stdout, checked.stderr);
}

#[test]
fn an_image_is_checked_as_the_release_that_is_asked_for() {
    let image = "\
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: demo}
spec:
  distribution: {image: 'registry.example.com/stack:0.7.3'}
  disabled: [safety]
";
    let moved = run(&["migrate", "--to", "ogx-1.5", "-f", "-"], image);
    assert_eq!((moved.code, moved.stdout.as_str()), (0, image), "{}", moved.stderr);
    assert!(moved.stderr.contains("left: spec.distribution.image: "), "{}", moved.stderr);
}

#[test]
fn a_release_that_nobody_can_be_moved_to_is_a_wrong_call() {
    for release in ["ogx-1.4", "0.7.3", "ogx"] {
        let refused = run(&["migrate", "--to", release, "-f", "-"], STARTER);
        assert_eq!(refused.code, 2, "{}", refused.stderr);
        assert!(refused.stderr.contains("use ogx-1.5.0"), "{}", refused.stderr);
    }
}
