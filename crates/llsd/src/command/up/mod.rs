//! `llsd up`: a resource's server on this machine, without a cluster. What is run is decided in `llsd_offline::laptop`.

mod arguments;
mod environment;
mod folders;
mod lock;
mod programs;
mod say;
mod server;
mod session;
mod stack;
mod stop;
mod tokenizer;
mod tools;

use std::time::Instant;

pub(super) use arguments::Arguments;

use super::runtime::runtime;
use super::{Exit, Printout};
use say::{raw, say};
use server::{Launch, LocalServer};
use session::Session;
use stack::StackFiles;
use stop::Stop;

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    if arguments.watch && arguments.files.is_stdin_named() {
        return Err(Printout::usage("--watch needs files: stdin is read once"));
    }
    let runtime = runtime().map_err(|message| Printout::usage(&message))?;
    runtime.block_on(up(arguments))
}

async fn up(arguments: &Arguments) -> Result<Printout, Printout> {
    let begun = Instant::now();
    let mut stop = Stop::new()
        .map_err(|error| Printout::usage(&format!("cannot wait for signals: {error}")))?;
    let files = StackFiles::read(arguments)?;
    let session = Session::new(arguments)?;
    let launch = tokio::select! {
        launch = session.prepare(&files, None) => launch?,
        () = stop.asked() => return Ok(ended()),
    };
    let server = tokio::select! {
        server = session.start(&launch) => server,
        () = stop.asked() => return Ok(ended()),
    };
    let server = server.map_err(|why| failed(&format!("the server does not start: {why}")))?;
    announce(&launch, begun);
    let running = Running { server: Some(server), launch, files };
    serve(&session, running, arguments.watch, &mut stop).await
}

/// What runs, and what it was made from.
struct Running {
    /// Nothing after it ended by itself, until a file changes.
    server: Option<LocalServer>,
    launch: Launch,
    files: StackFiles,
}

async fn serve(
    session: &Session<'_>,
    mut running: Running,
    watch: bool,
    stop: &mut Stop,
) -> Result<Printout, Printout> {
    loop {
        tokio::select! {
            () = stop.asked() => {
                if let Some(server) = running.server {
                    say("ending the server");
                    server.stop().await;
                }
                return Ok(ended());
            }
            status = until_it_ends(&mut running.server) => {
                running.server = None;
                if !watch {
                    return Err(failed(&format!("the server ended with {status}")));
                }
                say(&format!("the server ended with {status}; waiting for a change of the files"));
            }
            files = session.changed(&running.files), if watch => {
                tokio::select! {
                    () = change(session, &mut running, files) => {}
                    () = stop.asked() => return Ok(ended()),
                }
            }
        }
    }
}

async fn until_it_ends(server: &mut Option<LocalServer>) -> String {
    match server {
        Some(server) => match server.ended().await {
            Ok(status) => status.to_string(),
            Err(error) => error.to_string(),
        },
        None => std::future::pending().await,
    }
}

/// Takes the changed files over, if they make a server that starts.
async fn change(session: &Session<'_>, running: &mut Running, files: StackFiles) {
    let begun = Instant::now();
    say("a file changed");
    let serving = running.server.is_some().then_some(running.launch.port);
    let prepared = session.prepare(&files, serving).await;
    // What is refused is not tried again until the next change.
    running.files = files;
    let launch = match prepared {
        Ok(launch) => launch,
        Err(refused) => {
            raw(&refused.stderr);
            say("the change is refused; the running server is unaffected");
            return;
        }
    };
    if running.server.is_some() && launch.is_same(&running.launch) {
        say("the change does not concern the server");
        return;
    }
    if let Some(server) = running.server.take() {
        server.stop().await;
    }
    match session.start(&launch).await {
        Ok(server) => {
            announce(&launch, begun);
            (running.server, running.launch) = (Some(server), launch);
        }
        Err(why) => {
            say(&format!("the changed server does not start: {why}; starting the previous one"));
            running.server = session.start(&running.launch).await.ok();
            match &running.server {
                Some(_) => announce(&running.launch, begun),
                None => say("the previous one does not start either; waiting for a change"),
            }
        }
    }
}

fn announce(launch: &Launch, begun: Instant) {
    let Launch { name, port, data, .. } = launch;
    let seconds = begun.elapsed().as_secs_f32();
    say(&format!(
        "{name} answers on http://127.0.0.1:{port} after {seconds:.0} s; its state is in {}",
        data.display()
    ));
    say("Ctrl-C ends it");
}

fn ended() -> Printout {
    Printout::fine(String::new())
}

fn failed(message: &str) -> Printout {
    let stderr = format!("error: {message}\n");
    Printout { stdout: String::new(), stderr, exit: Exit::Problems }
}
