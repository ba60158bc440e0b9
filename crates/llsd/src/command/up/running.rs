//! The server while the command runs: started, replaced when a file changes, and ended however the command ends.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use super::say::{raw, say};
use super::server::{Launch, LocalServer, START_PATIENCE};
use super::session::Session;
use super::stack::{StackFiles, problems};
use super::stop::Stop;
use crate::command::Printout;

/// What runs, and what it was made from.
#[derive(Debug)]
pub(super) struct Running<'a> {
    session: &'a Session<'a>,
    stop: Stop,
    is_watching: bool,
    /// Nothing after it ended by itself, until a file changes.
    server: Option<LocalServer>,
    /// Of the server that answered last; at first, of the first one.
    launch: Launch,
    /// As they were read last.
    files: StackFiles,
}

/// How a start ends. Unless the server answers, it has ended, too.
#[derive(Debug)]
enum Started {
    Answers,
    Failed(String),
    /// A file changed before it answered.
    Overtaken(StackFiles),
    /// The command is asked to end.
    Stopped,
}

impl<'a> Running<'a> {
    pub(super) fn new(
        session: &'a Session<'a>,
        launch: Launch,
        files: StackFiles,
        stop: Stop,
        is_watching: bool,
    ) -> Self {
        Self { session, stop, is_watching, server: None, launch, files }
    }

    /// Starts the first server, and keeps one running until the command is asked to end.
    pub(super) async fn serve(mut self, begun: Instant) -> Result<Printout, Printout> {
        let launch = self.launch.clone();
        // There is no other server to go back to, and Ctrl-C ends the wait.
        match self.start(&launch, None).await {
            Started::Answers => announce(&launch, begun),
            Started::Failed(why) => {
                return Err(failed(&format!("the server does not start: {why}")));
            }
            Started::Overtaken(files) => {
                if self.change(files, true).await.is_break() {
                    return Ok(self.end().await);
                }
            }
            Started::Stopped => return Ok(self.end().await),
        }
        loop {
            let meaning = self.unaffected();
            let files = tokio::select! {
                () = self.stop.asked() => return Ok(self.end().await),
                status = until_it_ends(&mut self.server) => {
                    self.server = None;
                    if !self.is_watching {
                        return Err(failed(&format!("the server ended with {status}")));
                    }
                    say(&format!("the server ended with {status}; waiting for a change of the files"));
                    continue;
                }
                files = self.session.changed(&self.files, meaning), if self.is_watching => files,
            };
            if self.change(files, false).await.is_break() {
                return Ok(self.end().await);
            }
        }
    }

    /// What a change that is refused means for the server.
    fn unaffected(&self) -> &'static str {
        match self.server {
            Some(_) => "the running server is unaffected",
            None => "no server runs; waiting for the next change",
        }
    }

    /// Takes the changed files over, and those that change meanwhile, if they make a server that starts. Breaks where the
    /// command is asked to end. `is_due`: a server was ended for a change that was not taken over yet.
    async fn change(&mut self, files: StackFiles, mut is_due: bool) -> ControlFlow<()> {
        let begun = Instant::now();
        let mut newest = files;
        loop {
            say("a file changed");
            let started = match self.prepare(newest, is_due).await? {
                Some(launch) => self.replace(launch, begun).await,
                None if is_due => self.start_previous(begun).await,
                None => return ControlFlow::Continue(()),
            };
            newest = match started {
                Started::Overtaken(files) => files,
                Started::Stopped => return ControlFlow::Break(()),
                Started::Answers | Started::Failed(_) => return ControlFlow::Continue(()),
            };
            is_due = true;
        }
    }

    /// The server of the changed files, unless they are refused, or make the one that runs.
    async fn prepare(
        &mut self,
        files: StackFiles,
        is_due: bool,
    ) -> ControlFlow<(), Option<Launch>> {
        let serving = self.server.is_some().then_some(self.launch.port);
        let prepared = tokio::select! {
            prepared = self.session.prepare(&files, serving) => prepared,
            () = self.stop.asked() => return ControlFlow::Break(()),
        };
        // What is refused is not tried again until the next change.
        self.files = files;
        let launch = match prepared {
            Ok(launch) if self.server.is_some() && launch.is_same(&self.launch) => {
                say("the change does not concern the server");
                None
            }
            Ok(launch) => Some(launch),
            Err(refused) => {
                raw(&refused.stderr);
                let meaning =
                    if is_due { "starting the previous server" } else { self.unaffected() };
                say(&format!("the change is refused; {meaning}"));
                None
            }
        };
        ControlFlow::Continue(launch)
    }

    /// Starts a server in the place of the previous one, or else that one again.
    async fn replace(&mut self, launch: Launch, begun: Instant) -> Started {
        if let Some(server) = self.server.take() {
            server.stop().await;
        }
        match self.start(&launch, Some(START_PATIENCE)).await {
            Started::Answers => {
                announce(&launch, begun);
                self.launch = launch;
                Started::Answers
            }
            Started::Failed(why) => {
                say(&format!(
                    "the changed server does not start: {why}; starting the previous one"
                ));
                self.start_previous(begun).await
            }
            other => other,
        }
    }

    async fn start_previous(&mut self, begun: Instant) -> Started {
        let launch = self.launch.clone();
        let started = self.start(&launch, Some(START_PATIENCE)).await;
        match &started {
            Started::Answers => announce(&launch, begun),
            Started::Failed(why) => {
                say(&format!(
                    "the previous one does not start either: {why}; waiting for a change"
                ));
            }
            Started::Overtaken(_) | Started::Stopped => {}
        }
        started
    }

    /// Starts a server and waits until it answers. One that does not has ended when this returns.
    async fn start(&mut self, launch: &Launch, patience: Option<Duration>) -> Started {
        let mut server = match self.session.start(launch).await {
            Ok(server) => server,
            Err(why) => return Started::Failed(why),
        };
        let meaning = "the server that starts is unaffected";
        let started = tokio::select! {
            ready = server.ready(patience) => ready.map_or_else(Started::Failed, |()| Started::Answers),
            files = self.session.changed(&self.files, meaning), if self.is_watching => {
                Started::Overtaken(files)
            }
            () = self.stop.asked() => {
                say("ending the server");
                Started::Stopped
            }
        };
        if matches!(started, Started::Answers) {
            self.server = Some(server);
        } else {
            server.stop().await;
        }
        started
    }

    /// Ends the server, if there is one, with all that it started.
    async fn end(self) -> Printout {
        if let Some(server) = self.server {
            say("ending the server");
            server.stop().await;
        }
        Printout::fine(String::new())
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

fn announce(launch: &Launch, begun: Instant) {
    let Launch { name, port, data, .. } = launch;
    let seconds = begun.elapsed().as_secs_f32();
    say(&format!(
        "{name} answers on http://127.0.0.1:{port} after {seconds:.0} s; its state is in {}",
        data.display()
    ));
    say("Ctrl-C ends it");
}

fn failed(message: &str) -> Printout {
    problems(format!("error: {message}\n"))
}
