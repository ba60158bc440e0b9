//! Any `WWW-Authenticate` header: no panic, and no token service without an address.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llsd_registry::challenge::{Challenge, parse};

fuzz_target!(|header: &str| {
    for challenge in parse(header) {
        if let Challenge::Bearer { realm, .. } = challenge {
            assert!(!realm.is_empty());
        }
    }
});
