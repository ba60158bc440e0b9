//! `llsd-release`: what `make image` and `make release` call once the programs are built.

mod command;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    let arguments = command::Arguments::parse();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let done = runtime
        .map_err(|error| error.to_string())
        .and_then(|runtime| runtime.block_on(Box::pin(arguments.run())));
    match done {
        Ok(printed) => {
            print!("{printed}");
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
