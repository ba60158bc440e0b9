//! A small part of `make fuzz-servers`: random resources, and samples with a mistake, of which the operator and real
//! servers think the same.

use llsd_server_fuzzer::golden::golden_case;
use llsd_server_fuzzer::run::{Range, Report, run, run_mutated_samples};
use llsd_testkit::Release;

/// So many of each release, from a seed that `make fuzz-servers` does not begin with.
const RANGE: Range = Range { first: 1_000_000, count: 100, time: None };

/// As many as files that the API server is asked about.
const MUTATED_SAMPLES: Range = Range { first: 20_261_119, count: 200, time: None };

#[test]
fn servers_take_what_is_generated_for_random_resources() {
    agree(run, RANGE);
}

#[test]
fn servers_take_what_is_generated_for_mutated_samples() {
    agree(run_mutated_samples, MUTATED_SAMPLES);
}

fn agree(run: impl Fn(Release, Range) -> anyhow::Result<Report>, range: Range) {
    for release in Release::under_test().unwrap() {
        if !release.install_or_skip() {
            return;
        }
        let report = run(release, range).unwrap();
        let mistakes: Vec<String> = report
            .mistakes()
            .map(|(count, finding)| format!("{count} times\n{}", golden_case(finding)))
            .collect();
        assert!(mistakes.is_empty(), "{release}:\n{}", mistakes.join("\n"));
        assert_eq!(report.tried, range.count);
        eprintln!("{release}: {} resources", report.tried);
    }
}
