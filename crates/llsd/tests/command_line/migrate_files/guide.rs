//! Every pair of the migration guide: migrating the first renders to the same objects as the second.

use llsd_cases::files::yaml_files;

use super::{migrated, rendered};
use crate::support::repository;

/// A sample under another name, so that pairs can be compared byte for byte.
fn sample(name: &str) -> String {
    let text = std::fs::read_to_string(repository(&format!("deploy/samples/{name}.yaml"))).unwrap();
    let names = text.lines().filter(|line| line.starts_with("  name: ")).count();
    assert_eq!(names, 1, "{name}");
    let renamed = text
        .lines()
        .map(|line| if line.starts_with("  name: ") { "  name: my-llsd" } else { line });
    renamed.collect::<Vec<&str>>().join("\n") + "\n"
}

#[test]
fn each_pair_of_the_guide_renders_to_the_same_objects() {
    for pair in
        ["ollama", "ollama-volume", "vllm-api-key", "override-config", "network", "autoscaling"]
    {
        let before = migrated(&sample(&format!("v1alpha1-{pair}"))).stdout;
        let after = sample(&format!("v1alpha2-migrated-{pair}"));
        assert_eq!(rendered(&before), rendered(&after), "{pair}: {before}");
    }
}

#[test]
fn every_v1alpha1_sample_migrates_and_then_stays_as_it_is() {
    let mut count = 0;
    for path in yaml_files("deploy/samples") {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(&path).unwrap();
        let first = migrated(&text).stdout;
        assert!(!first.contains("llamastack.io/v1alpha1\n"), "{name}");
        assert_eq!(migrated(&first).stdout, first, "{name}");
        if name.starts_with("v1alpha2") {
            assert_eq!(first, text, "{name}");
        }
        rendered_unless_custom(&name, &first);
        count += 1;
    }
    assert!(count > 30, "{count}");
}

/// The sample with an image of its own renders only with that image's configuration.
fn rendered_unless_custom(name: &str, text: &str) {
    if name != "v1alpha2-custom-image.yaml" {
        rendered(text);
    }
}
