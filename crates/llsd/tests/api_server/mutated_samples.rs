//! Samples with a mistake: whatever kubectl and the API server refuse, `llsd validate` finds.

use std::fs;
use std::process::Command;

use llsd_server_fuzzer::mutated_sample::mutated_sample;
use llsd_testbed::cluster::installed;

/// So many files. `LLSD_TEST_MUTATIONS` asks for more.
const COUNT: u64 = 200;
const SEED: u64 = 20_261_119;

#[tokio::test]
async fn what_an_api_server_refuses_of_a_mutated_sample_validate_finds() {
    let Some(cluster) = installed().await else { return };
    let asked = std::env::var("LLSD_TEST_MUTATIONS").ok().map(|count| count.parse().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let files: Vec<String> = (SEED..SEED + asked.unwrap_or(COUNT))
        .map(|seed| {
            let mutated = mutated_sample(seed);
            let file = folder.path().join(format!("{seed}-{}", mutated.name));
            fs::write(&file, mutated.text).unwrap();
            file.to_string_lossy().into_owned()
        })
        .collect();
    // kubectl names each file that it cannot read or that the API server refuses.
    let named = files.iter().flat_map(|file| ["-f", file.as_str()]);
    let create: Vec<&str> = ["create", "--dry-run=server"].into_iter().chain(named).collect();
    let refusals = cluster.kubectl(&create, None).await.unwrap().stderr;
    let mut missed = Vec::new();
    let mut refused = 0;
    for file in &files {
        let Some(refusal) = refusals.lines().find(|line| line.contains(file)) else { continue };
        refused += 1;
        let validate = Command::new(assert_cmd::cargo::cargo_bin!("llsd"))
            .args(["validate", "-f", file])
            .output();
        if validate.unwrap().status.success() {
            missed.push(format!("{refusal}\n{}", fs::read_to_string(file).unwrap()));
        }
    }
    assert!(missed.is_empty(), "{} of {} files:\n{}", missed.len(), files.len(), missed.join("\n"));
    assert!(
        (files.len() / 4..files.len()).contains(&refused),
        "{refused} of {} are refused",
        files.len()
    );
}
