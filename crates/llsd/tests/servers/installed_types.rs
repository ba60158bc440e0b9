//! What is known of provider types is what the installed servers say of them.

use std::collections::BTreeSet;

use llsd_plan::releases::Releases;
use llsd_testkit::Release;

/// Where the code of several types keeps a key; it is no field that one sets.
const INTERNAL: &str = "auth_credential";

#[test]
fn every_type_of_a_server_is_known_with_all_of_its_fields() {
    for release in Release::under_test().unwrap() {
        if !release.install_or_skip() {
            return;
        }
        let catalogue = Releases::shipped().catalogue(release.name()).expect("a known release");
        let mut differing = Vec::new();
        for installed in release.provider_types().unwrap() {
            let name = format!("{} {}", installed.api, installed.name);
            let Some(known) = catalogue.get(&installed.api, &installed.name) else {
                differing.push(format!("{name} is not known"));
                continue;
            };
            let fields = installed.fields.iter().map(|field| field.name.as_str());
            let theirs: BTreeSet<&str> = fields.filter(|field| *field != INTERNAL).collect();
            let ours: BTreeSet<&str> = known.fields().collect();
            if theirs != ours && !known.is_open() {
                let not_known: Vec<&&str> = theirs.difference(&ours).collect();
                let not_there: Vec<&&str> = ours.difference(&theirs).collect();
                differing.push(format!("{name}: not known {not_known:?}, not there {not_there:?}"));
            }
        }
        assert!(differing.is_empty(), "{release}:\n{}", differing.join("\n"));
    }
}
