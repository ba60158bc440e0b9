//! Any bytes as a layer: no panic, and never more than the limits allow.
#![no_main]

use libfuzzer_sys::fuzz_target;
use llsd_registry::{Limits, layer::file_in};

fuzz_target!(|layer: &[u8]| {
    let limits = Limits { unpacked_layer: 1 << 20, file: 1 << 10, ..Limits::default() };
    if let Ok(content) = file_in(layer, "a/b", &limits) {
        assert!(content.len() <= 1 << 10);
    }
});
