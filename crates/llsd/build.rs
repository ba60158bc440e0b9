//! Lays the functions that a running operator uses side by side in the released program, where
//! `LLSD_FUNCTION_ORDER` names a list of them, which `make used-functions` writes. Linux maps 64 KB
//! around every page of code that is touched: scattered, a third of the functions bring nearly the
//! whole program into memory. Without a list the program works the same.

use std::env::var;
use std::path::Path;

const LIST: &str = "LLSD_FUNCTION_ORDER";
/// The linker that Rust takes for this target is LLD, which is the one that knows such lists.
const TARGET: &str = "x86_64-unknown-linux-gnu";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed={LIST}");
    let list = var(LIST).unwrap_or_default();
    let is = |name: &str, value: &str| var(name).is_ok_and(|found| found == value);
    if list.is_empty() || !is("PROFILE", "release") {
        return;
    }
    if !is("TARGET", TARGET) {
        println!("cargo::warning={LIST} is for {TARGET} only, and left unused");
        return;
    }
    // The linker runs in another folder than whoever set the variable.
    assert!(Path::new(&list).is_absolute(), "{LIST} must be an absolute path: {list}");
    assert!(Path::new(&list).is_file(), "{LIST} names no file: {list}");
    println!("cargo::rerun-if-changed={list}");
    // Names change with the compiler and with dependencies; what is not found lies where it lay.
    for argument in [&format!("--symbol-ordering-file={list}"), "--no-warn-symbol-ordering"] {
        println!("cargo::rustc-link-arg-bin=llsd=-Wl,{argument}");
    }
}
