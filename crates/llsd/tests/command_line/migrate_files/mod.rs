//! `llsd migrate -f`: v1alpha1 files as v1alpha2, with everything around the fields kept.

mod guide;
mod own_image;
mod page;
mod report;
mod texts;
mod to_ogx;

use crate::support::{Files, Run, run};

/// Migrates a text and demands that it succeeds.
fn migrated(text: &str) -> Run {
    let run = run(&["migrate", "-f", "-"], text);
    assert_eq!(run.code, 0, "{}", run.stderr);
    run
}

/// Renders a text with what the samples need.
fn rendered(text: &str) -> String {
    let files = Files::new();
    let file = files.add("resource.yaml", text);
    let facts = crate::support::repository("crates/llsd/tests/data/facts-of-the-samples.yaml");
    let run = run(&["render", "-f", &file, "--facts", facts.to_str().unwrap()], "");
    assert_eq!(run.code, 0, "{text}\n{}", run.stderr);
    run.stdout
}
