//! A small part of `make fuzz-servers`: random resources, of which the operator and real servers think the same.

use llsd_server_fuzzer::golden::golden_case;
use llsd_server_fuzzer::run::{Range, run};
use llsd_testkit::Release;

/// So many of each release, from a seed that `make fuzz-servers` does not begin with.
const RANGE: Range = Range { first: 1_000_000, count: 100, time: None };

#[test]
fn servers_take_what_is_generated_for_random_resources() {
    for release in Release::under_test().unwrap() {
        if !release.install_or_skip() {
            return;
        }
        let report = run(release, RANGE).unwrap();
        let mistakes: Vec<String> = report
            .mistakes()
            .map(|(count, finding)| format!("{count} times\n{}", golden_case(finding)))
            .collect();
        assert!(mistakes.is_empty(), "{release}:\n{}", mistakes.join("\n"));
        assert_eq!(report.tried, RANGE.count);
        eprintln!("{release}: {} random resources", report.tried);
    }
}
