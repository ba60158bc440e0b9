//! Lays the functions that a running operator uses side by side in the released program. Linux maps
//! 64 KB around every page of code that is touched: scattered, a third of the functions brought nearly
//! the whole program into memory. `scripts/used-functions` writes the list of them.

use std::env::var;

/// The linker that Rust takes for this target is LLD, which is the one that knows such lists.
const TARGET: &str = "x86_64-unknown-linux-gnu";

fn main() {
    println!("cargo::rerun-if-changed=used-functions.txt");
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    if is("PROFILE", "release") && is("TARGET", TARGET) {
        let folder = var("CARGO_MANIFEST_DIR").expect("cargo says where the crate is");
        let list = format!("--symbol-ordering-file={folder}/used-functions.txt");
        // Names change with the compiler and with dependencies; what is not found lies where it lay.
        for argument in [&list, "--no-warn-symbol-ordering"] {
            println!("cargo::rustc-link-arg-bin=llsd=-Wl,{argument}");
        }
    }
}
