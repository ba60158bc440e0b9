//! The `llsd` binary; everything it does lives in the library beside it.

use std::process::ExitCode;

fn main() -> ExitCode {
    llsd::command::main(std::env::args_os())
}
