//! The `llsd` binary; everything it does lives in the library beside it.

use std::process::ExitCode;

/// Keeps half of what the system's allocator keeps after a thousand resources; tuned in
/// `.cargo/config.toml`.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

fn main() -> ExitCode {
    llsd::command::main(std::env::args_os())
}
