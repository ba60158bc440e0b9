//! Any keys and any image: lines of text, the first of them the image.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llsd_registry::credentials::keyring::Pattern;
use llsd_registry::credentials::{Credential, Keyring};

fuzz_target!(|text: &str| {
    let mut lines = text.split('\n');
    let image = lines.next().unwrap_or_default();
    let mut keyring = Keyring::new();
    let mut keys = Vec::new();
    for key in lines.take(50) {
        if keyring.add(key, Credential::IdentityToken(key.to_owned())) {
            assert!(Keyring::accepts(key));
            keys.push(key);
        }
    }
    let found = keyring.candidates(image);
    for (position, credential) in found.iter().enumerate() {
        let Credential::IdentityToken(key) = credential else { unreachable!() };
        assert!(keys.contains(&key.as_str()), "a credential nobody added");
        assert!(!found[..position].contains(credential), "the same credential twice");
    }
    // What is not a pattern of its own is nobody's image either.
    if Pattern::parse(image).is_none() {
        assert!(found.is_empty());
    } else if let Some(pattern) = Pattern::parse(image) {
        assert!(pattern.matches(&pattern), "a name that does not match itself");
    }
});
