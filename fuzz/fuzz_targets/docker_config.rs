//! Any bytes in a pull Secret are read, and everything that was read can be used and shown.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llsd_registry::credentials::{Credential, Keyring, PullSecret};

fuzz_target!(|document: &[u8]| {
    for kind in ["kubernetes.io/dockerconfigjson", "kubernetes.io/dockercfg"] {
        let secret = PullSecret::read("pull", kind, |_| Some(document));
        let mut keyring = Keyring::new();
        for (key, credential) in secret.entries() {
            assert!(keyring.add(key, credential.clone()), "an entry no keyring takes");
            if let Credential::Basic { username, password } = credential {
                assert!(!(username.is_empty() && password.is_empty()), "an empty login");
            }
        }
        assert!(
            keyring.candidates("registry.example.com/team/server").len() <= secret.entries().len()
        );
        let shown = format!("{secret:?}{keyring:?}");
        for note in secret.notes() {
            assert_eq!(note.source, "Secret pull");
            assert!(!note.to_string().is_empty());
        }
        assert!(shown.starts_with("PullSecret"));
    }
});
