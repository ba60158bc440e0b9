//! The table of paths is that of the releases themselves.

use llsd_plan::releases::Releases;
use llsd_testkit::Release;

/// What every application of its framework serves.
const OF_THE_FRAMEWORK: [&str; 4] = ["/docs", "/docs/oauth2-redirect", "/openapi.json", "/redoc"];

#[test]
fn the_operator_knows_the_paths_that_each_release_serves() {
    for release in Release::under_test().unwrap() {
        if release <= Release::V0_4_7 || !release.install_or_skip() {
            continue;
        }
        let releases = Releases::shipped();
        let row = releases.all().iter().find(|row| row.name == release.name()).unwrap();
        let known = releases.routes(row.number).filter(|path| !OF_THE_FRAMEWORK.contains(path));
        let served = release.served_paths().unwrap();
        assert_eq!(known.collect::<Vec<_>>(), served, "{release}");
    }
}
