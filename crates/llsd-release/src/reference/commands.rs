//! Every command and flag, out of what `--help` is made from.

use std::fmt::Write;

use clap::{Arg, Command};

use super::page::{GENERATED, cell};

pub fn commands(mut program: Command) -> String {
    program.build();
    let mut page = format!(
        "# Commands\n\n{GENERATED}\n\nOne program, `llsd`; as `kubectl-llsd` on the path it is `kubectl llsd`. Every command has \
         `--help`, with examples.\n"
    );
    for command in program.get_subcommands().filter(|command| is_shown(command)) {
        add(command, &mut page);
    }
    page
}

fn add(command: &Command, page: &mut String) {
    let name = command.get_bin_name().unwrap_or_else(|| command.get_name());
    let about = command.get_about().map(ToString::to_string).unwrap_or_default();
    let _ = write!(page, "\n## `{name}`\n\n{about}.\n");
    let arguments: Vec<&Arg> = command
        .get_arguments()
        .filter(|one| !one.is_hide_set() && !["help", "version"].contains(&one.get_id().as_str()))
        .collect();
    if !arguments.is_empty() {
        let _ = write!(page, "\n| argument | meaning |\n|---|---|\n");
        for argument in arguments {
            let _ = writeln!(page, "| {} | {} |", spelling(argument), meaning(argument));
        }
    }
    for below in command.get_subcommands().filter(|command| is_shown(command)) {
        add(below, page);
    }
}

fn is_shown(command: &Command) -> bool {
    !command.is_hide_set() && command.get_name() != "help"
}

fn spelling(argument: &Arg) -> String {
    let values: Vec<&str> = argument
        .get_value_names()
        .unwrap_or_default()
        .iter()
        .map(clap::builder::Str::as_str)
        .collect();
    let mut names = Vec::new();
    names.extend(argument.get_short().map(|short| format!("-{short}")));
    names.extend(argument.get_long().map(|long| format!("--{long}")));
    let takes = argument.get_action().takes_values();
    let value = if takes { values.join(" ") } else { String::new() };
    let spelled = if names.is_empty() { value } else { format!("{} {value}", names.join(", ")) };
    format!("`{}`", cell(spelled.trim()))
}

fn meaning(argument: &Arg) -> String {
    let mut text = cell(&argument.get_help().map(ToString::to_string).unwrap_or_default());
    let defaults: Vec<String> = argument
        .get_default_values()
        .iter()
        .map(|one| format!("`{}`", one.to_string_lossy()))
        .collect();
    if !defaults.is_empty() && argument.get_action().takes_values() {
        let _ = write!(text, ". Default: {}", defaults.join(", "));
    }
    if let Some(variable) = argument.get_env() {
        let _ = write!(text, ". Variable: `{}`", variable.to_string_lossy());
    }
    text
}
