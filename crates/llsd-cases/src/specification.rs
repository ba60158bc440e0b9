//! The specification by example: the README of the golden cases, from their first comments.

use std::fmt::Write;

use crate::files::entries;
use crate::golden::{FOLDER, GoldenCase};

const HEAD: &str = "# The specification by example

Each folder is one case: a `resource.yaml`, where needed the image's configuration and facts of the \
cluster, and under `expected/` what planning gives, byte for byte. `cargo test -p llsd-plan --test \
cases` compares them; how a case is laid out stands in `crates/llsd-cases/src/golden.rs`. A case \
that ends its comment with `# base: NAME` builds on `../bases/NAME.yaml`.

This page is written from the first comments of the cases, by `UPDATE_CASES=1 cargo test -p \
llsd-plan --test cases`.
";

/// The headings, each with the beginnings of its cases' names.
const GROUPS: [(&str, &[&str]); 17] = [
    ("User story 1: simple inference", &["us1-"]),
    ("User story 2: several providers", &["us2-"]),
    ("User story 3: registered resources", &["us3-"]),
    ("User story 4: state storage", &["us4-"]),
    ("User story 5: exposure", &["us5-"]),
    ("User story 6: own configuration", &["us6-"]),
    ("User story 7: migration", &["us7-"]),
    ("Edge cases", &["ec-"]),
    ("Requirements", &["fr-"]),
    ("Releases and their layouts", &["release-", "layout-", "telemetry-", "workers-"]),
    ("OGX", &["ogx-"]),
    ("Bases", &["base-", "distribution-", "hostile-", "merge-"]),
    ("Providers", &["azure-", "companions-", "disabled-", "external-", "needed-"]),
    ("Models, shields and tools", &["model-", "shield-", "tool-"]),
    ("Storage", &["redis-", "volume-"]),
    ("Secrets and registries", &["registry-", "secret-"]),
    ("Others", &[""]),
];

/// The page as it should be.
pub fn page() -> String {
    let mut cases = GoldenCase::all();
    let mut page = HEAD.to_owned();
    for (heading, prefixes) in GROUPS {
        let is_of_group =
            |case: &mut GoldenCase| prefixes.iter().any(|prefix| case.name.starts_with(prefix));
        let _ = write!(page, "\n## {heading}\n\n");
        for GoldenCase { name, about, .. } in cases.extract_if(.., is_of_group) {
            let expected: Vec<String> = entries(&format!("{FOLDER}/{name}/expected"))
                .iter()
                .map(|path| path.file_name().unwrap_or_default().to_string_lossy().into_owned())
                .map(|file| format!("[{file}]({name}/expected/{file})"))
                .collect();
            let expected = expected.join(", ");
            let _ = writeln!(page, "- **[{name}]({name}/resource.yaml)**: {about} → {expected}");
        }
    }
    page
}
