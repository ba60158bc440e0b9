//! `llsd up`: a resource's server on this machine, without a cluster. What is run is decided in `llsd_offline::laptop`.

mod arguments;
mod environment;
mod folders;
mod listener;
mod lock;
mod programs;
mod running;
mod say;
mod server;
mod session;
mod stack;
mod stop;
mod tokenizer;
mod tools;

use std::time::Instant;

pub(super) use arguments::Arguments;

use super::Printout;
use super::runtime::runtime;
use running::Running;
use session::Session;
use stack::StackFiles;
use stop::Stop;

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    if arguments.watch && arguments.is_stdin_named() {
        return Err(Printout::usage("--watch needs files: stdin is read once"));
    }
    let runtime = runtime().map_err(|message| Printout::usage(&message))?;
    runtime.block_on(up(arguments))
}

async fn up(arguments: &Arguments) -> Result<Printout, Printout> {
    let begun = Instant::now();
    // Before the signals are waited for: reading stdin blocks, and Ctrl-C must end that, too.
    let files = StackFiles::read(arguments)?;
    let mut stop = Stop::new()
        .map_err(|error| Printout::usage(&format!("cannot wait for signals: {error}")))?;
    let session = Session::new(arguments)?;
    let launch = tokio::select! {
        launch = session.prepare(&files, None) => launch?,
        () = stop.asked() => return Ok(Printout::fine(String::new())),
    };
    let running = Running::new(&session, launch, files, stop, arguments.watch);
    running.serve(begun).await
}
