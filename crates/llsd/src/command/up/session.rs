//! From files to a running server, and on to the next one when a file changes.

use std::path::{Path, PathBuf};
use std::time::Duration;

use llsd_offline::laptop::{LeftOut, PackageChoice, Without, choose};
use tokio::sync::OnceCell;
use tokio::time::sleep;

use super::arguments::Arguments;
use super::environment::{Environment, Environments};
use super::folders;
use super::programs::Programs;
use super::say::{raw, say, with_remedy};
use super::server::{Launch, LocalServer, is_taken};
use super::stack::{Stack, StackFiles, problems};
use super::tokenizer;
use super::tools::Python;
use crate::command::{Exit, Printout};

/// The server's own default.
const PORT: u16 = 8321;
/// How often the files are read for changes.
const LOOK: Duration = Duration::from_millis(500);

/// What does not change while the command runs.
#[derive(Debug)]
pub(super) struct Session<'a> {
    arguments: &'a Arguments,
    cache: PathBuf,
    programs: Programs,
    /// The user's own environment, which is asked once.
    own: OnceCell<Environment>,
    /// The Python that the user names, which is asked once.
    python: OnceCell<Python>,
}

impl<'a> Session<'a> {
    pub(super) fn new(arguments: &'a Arguments) -> Result<Self, Printout> {
        let cache = folders::cache().map_err(|message| Printout::usage(&message))?;
        let programs = Programs::write(&cache)
            .map_err(|error| Printout::usage(&format!("{}: {error}", cache.display())))?;
        let (own, python) = (OnceCell::new(), OnceCell::new());
        Ok(Self { arguments, cache, programs, own, python })
    }

    /// All that is needed to start the server of the files, installed and checked. `serving` is the port that a server
    /// of this command has.
    pub(super) async fn prepare(
        &self,
        files: &StackFiles,
        serving: Option<u16>,
    ) -> Result<Launch, Printout> {
        let first = files.plan(Without::default())?;
        let port = self.arguments.port.or(first.here.port).unwrap_or(PORT);
        if serving != Some(port) && is_taken(port) {
            return Err(unavailable(
                &format!("the port {port} is in use on this machine"),
                "end what listens there, or choose another one with --port",
            ));
        }
        let environment = self.environment(&first).await?;
        let without = self.choice(&first, &environment.types).without;
        let stack = files.plan(without.clone())?;
        raw(&stack.warnings);
        say_what_is_left_out(&without.providers);
        let launch = self.launch(stack, environment, port)?;
        let answer = launch.preflight(&self.programs).await;
        let answer = answer.map_err(|message| problems(format!("error: {message}\n")))?;
        if let Some(lines) = answer.refusal() {
            let lines: Vec<String> = lines.iter().map(|line| format!("    {line}\n")).collect();
            return Err(problems(format!(
                "error: the server would not start with this configuration:\n{}",
                lines.concat()
            )));
        }
        if let Some(why) = answer.unchecked() {
            say(&format!("warning: the configuration is not checked: {why}"));
        }
        Ok(launch)
    }

    fn choice(
        &self,
        stack: &Stack,
        types: &[llsd_offline::laptop::InstalledType],
    ) -> PackageChoice {
        let here = &stack.here;
        choose(&here.providers, types, |it| self.arguments.all_providers || here.is_meant(it))
    }

    async fn environment(&self, stack: &Stack) -> Result<Environment, Printout> {
        let failed = |message: String| Printout::unavailable(&message);
        if let Some(root) = &self.arguments.environment {
            let ask = || Environment::of_user(root, &self.programs);
            return self.own.get_or_try_init(ask).await.cloned().map_err(failed);
        }
        let Some(release) = &stack.here.release else {
            return Err(unavailable(
                "the image does not say which release of the server it has",
                "name it, for example --release 0.7.3",
            ));
        };
        if release.is_guessed {
            let title = &release.title;
            say(&format!(
                "warning: the image does not say its release; {title} fits its configuration"
            ));
        }
        let python = match &self.arguments.python {
            Some(program) => {
                let ask = || Python::asked(program);
                Some(self.python.get_or_try_init(ask).await.map_err(failed)?)
            }
            None => None,
        };
        let (cache, programs) = (self.cache.as_path(), &self.programs);
        let environments = Environments { cache, python, programs, release };
        let demand = |types: &[_]| self.choice(stack, types).demand;
        environments.find_or_make(demand).await.map_err(failed)
    }

    fn launch(
        &self,
        stack: Stack,
        environment: Environment,
        port: u16,
    ) -> Result<Launch, Printout> {
        let Stack { here, variables, .. } = stack;
        let file = self.arguments.files.paths().first().map_or(Path::new("-"), PathBuf::as_path);
        let data = folders::data(self.arguments.data.as_deref(), file, &here.name);
        let data = data.map_err(|error| {
            Printout::usage(&format!("the folder of the server's state cannot be made: {error}"))
        })?;
        let tokenizers = tokenizer::folder(&self.cache);
        let (name, config, arguments) = (here.name, here.config, here.arguments);
        let variables = variables.set;
        Ok(Launch { name, environment, config, data, tokenizers, port, arguments, variables })
    }

    /// Starts it, without waiting until it answers. The error says why that is impossible.
    pub(super) async fn start(&self, launch: &Launch) -> Result<LocalServer, String> {
        launch.start(&self.programs).await
    }

    /// The files, once they are others than these. What cannot be read is said, once, and what that means.
    pub(super) async fn changed(&self, files: &StackFiles, meaning: &str) -> StackFiles {
        let mut said = String::new();
        loop {
            sleep(LOOK).await;
            match StackFiles::read(self.arguments) {
                Ok(new) if new.is_same(files) => said.clear(),
                Ok(new) => return new,
                Err(wrong) if wrong.stderr == said => {}
                Err(wrong) => {
                    raw(&wrong.stderr);
                    say(meaning);
                    said = wrong.stderr;
                }
            }
        }
    }
}

fn unavailable(message: &str, remedy: &str) -> Printout {
    let stderr = format!("error: {}\n", with_remedy(message, remedy));
    Printout { stdout: String::new(), stderr, exit: Exit::Unavailable }
}

/// Grouped by reason, because a base has many.
fn say_what_is_left_out(providers: &[LeftOut]) {
    let mut reasons: Vec<&str> = providers.iter().map(|left| left.why.as_str()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for why in reasons {
        let of_it = providers.iter().filter(|left| left.why == why);
        let ids: Vec<&str> = of_it.map(|left| left.id.as_str()).collect();
        say(&format!("left out of the base: {}: {why}; --all-providers keeps it", ids.join(", ")));
    }
}
