//! `llsd completion`: what a shell needs to complete the command line, and the answers to its questions.
//! A shell asks the program itself, so that names of resources and namespaces are those of the cluster.

use std::ffi::{OsStr, OsString};
use std::path::Path;

use clap::{Args, Command};
use clap_complete::engine::complete;
use clap_complete::env::Shells;
use clap_complete::{CompleteEnv, Shell};

use super::live_names::with_live_names;
use super::{Exit, Printout};

/// Set by a shell that asks; its value is the shell's name.
const VARIABLE: &str = "LLSD_COMPLETE";
/// kubectl asks a program of this name about its plugin `llsd`.
const FOR_KUBECTL: &str = "kubectl_complete-llsd";
/// What kubectl reads last: no names of files beside what was answered.
const NO_FILES: &str = ":4";

/// Print what a shell needs to complete commands, flags, and names of resources and namespaces
///
/// The shell then asks this program on every TAB, which asks the cluster of the current kubeconfig as
/// yourself, for less than a second. For `kubectl llsd`, link this program as kubectl_complete-llsd.
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// The shell
    #[arg(value_enum, value_name = "SHELL")]
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> Printout {
    let mut script = Vec::new();
    let shell = arguments.shell.to_string();
    let written = Shells::builtins()
        .completer(&shell)
        .map(|shell| shell.write_registration(VARIABLE, "llsd", "llsd", "llsd", &mut script));
    match written {
        Some(Ok(())) => Printout::fine(String::from_utf8_lossy(&script).into_owned()),
        _ => Printout::usage(&format!("{shell} cannot be served")),
    }
}

/// The answer where a shell, or kubectl, asks what could come next.
pub(super) fn answer(arguments: &[OsString], definition: impl Fn() -> Command) -> Option<Printout> {
    let factory = || with_live_names(definition(), arguments);
    let called_as = arguments.first().map(Path::new).and_then(Path::file_stem);
    if called_as == Some(OsStr::new(FOR_KUBECTL)) {
        return Some(for_kubectl(factory(), &arguments[1..]));
    }
    let folder = std::env::current_dir().ok();
    let environment = CompleteEnv::with_factory(factory).var(VARIABLE);
    match environment.try_complete(arguments, folder.as_deref()) {
        Ok(false) => None,
        Ok(true) => Some(Printout::fine(String::new())),
        Err(error) => Some(Printout::usage(error.to_string().trim())),
    }
}

/// As programs made with Cobra answer: a value and what it means on each line, then a number.
fn for_kubectl(mut command: Command, words: &[OsString]) -> Printout {
    let mut all = vec![OsString::from("llsd")];
    all.extend_from_slice(words);
    let folder = std::env::current_dir().ok();
    let Ok(found) = complete(&mut command, all, words.len(), folder.as_deref()) else {
        return Printout { stdout: String::new(), stderr: String::new(), exit: Exit::Problems };
    };
    let mut lines: Vec<String> = found
        .iter()
        .map(|candidate| {
            let value = candidate.get_value().to_string_lossy().into_owned();
            match candidate.get_help() {
                Some(help) => format!("{value}\t{help}"),
                None => value,
            }
        })
        .collect();
    lines.push(format!("{NO_FILES}\n"));
    Printout::fine(lines.join("\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(words: &[&str]) -> String {
        let words: Vec<OsString> = words.iter().map(OsString::from).collect();
        for_kubectl(super::super::definition(), &words).stdout
    }

    #[test]
    fn kubectl_gets_commands_with_what_they_do_and_no_files() {
        let answer = asked(&["stat"]);
        assert!(answer.starts_with("status\tSay what runs"), "{answer}");
        assert!(answer.ends_with("\n:4\n"), "{answer}");
        assert!(asked(&["rollout", ""]).contains("approve\t"));
        assert!(asked(&["version", "-o", ""]).contains("json"));
    }

    #[test]
    fn every_shell_is_served() {
        for shell in [Shell::Bash, Shell::Elvish, Shell::Fish, Shell::PowerShell, Shell::Zsh] {
            let printout = run(&Arguments { shell });
            assert!(printout.stdout.contains(VARIABLE), "{shell}: {printout:?}");
        }
    }
}
