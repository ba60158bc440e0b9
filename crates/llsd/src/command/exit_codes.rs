//! The exit codes of every command, at the end of its `--help`. Scripts rely on these numbers.

use std::fmt::Write as _;

use clap::Command;

type Meanings = &'static [(u8, &'static str)];

const USAGE: (u8, &str) = (2, "wrong usage, also a file that is not there");
const NO_CLUSTER: (u8, &str) =
    (3, "the cluster does not answer, or refuses, or does not have the resource");
const NO_REGISTRY: (u8, &str) =
    (3, "the registry cannot be reached, refuses the login, or does not have the image");

/// Of commands that are not listed.
const DONE: Meanings = &[(0, "done"), USAGE];
const ASKED: Meanings = &[(0, "done"), USAGE, NO_CLUSTER];
const PROBLEMS: (u8, &str) =
    (1, "problems, also text that is no resource; with --strict also warnings");
const PLANNED: Meanings = &[
    (0, "done, perhaps with warnings"),
    PROBLEMS,
    USAGE,
    (3, "something is missing that only a cluster or a registry has"),
];
const OF_IMAGES: Meanings = &[
    (0, "done"),
    (1, "something about the image or the configuration is wrong"),
    USAGE,
    NO_REGISTRY,
];

/// By command.
const CODES: &[(&str, Meanings)] = &[
    (
        "",
        &[
            (0, "done"),
            (1, "the answer is no: a resource has problems, a server is not ready, objects differ"),
            USAGE,
            (3, "a cluster, a registry or a service does not answer, or refuses"),
        ],
    ),
    (
        "up",
        &[
            (0, "it was asked to stop"),
            (
                1,
                "problems of the file, the .env file or the configuration; or the server ended by itself",
            ),
            USAGE,
            (
                3,
                "Python, a package or the port cannot be had, or something that only a cluster has is missing",
            ),
        ],
    ),
    ("render", RENDERED),
    ("explain", PLANNED),
    ("validate", &[(0, "no problem"), PROBLEMS, USAGE, NO_CLUSTER]),
    (
        "diff",
        &[
            (0, "no difference"),
            (1, "differences"),
            (2, "problems, also what the cluster would refuse; wrong usage"),
            NO_CLUSTER,
        ],
    ),
    ("migrate", &[(0, "done"), NOT_MIGRATED, USAGE, NO_CLUSTER]),
    ("access", ACCESS),
    ("access test", ACCESS),
    ("report", ASKED),
    ("doctor", &[(0, "no problem"), (1, "problems"), USAGE, NO_CLUSTER]),
    ("image", OF_IMAGES),
    ("image inspect", OF_IMAGES),
    ("image label", OF_IMAGES),
    ("provider", OF_PROVIDERS),
    ("provider check", OF_PROVIDERS),
    ("provider package", OF_PROVIDERS),
    ("provider install", &[(0, "installed"), (1, "the package is refused"), USAGE]),
    ("status", &[(0, "the server is ready"), (1, "it is not"), USAGE, NO_CLUSTER]),
    ("top", ASKED),
    ("history", ASKED),
    ("rollback", &[(0, "done"), (1, "no such state is kept"), USAGE, NO_CLUSTER]),
    ("rollout", APPROVED),
    ("rollout approve", APPROVED),
    ("rollout retry", ASKED),
    (
        "rollout status",
        &[(0, "done"), (1, "a server failed with a change of shared inputs"), USAGE, NO_CLUSTER],
    ),
    ("logs", ASKED),
    ("restart", ASKED),
    ("refresh", ASKED),
    (
        "run",
        &[
            (0, "it was asked to stop"),
            USAGE,
            (3, "it cannot start: no cluster, or an address is taken"),
        ],
    ),
];

const RENDERED: Meanings = &[
    (0, "done, perhaps with warnings"),
    (
        1,
        "problems, also text that is no resource, and files of somebody else in the folder; with --strict also \
         warnings",
    ),
    USAGE,
    (3, "something is missing that only a cluster or a registry has"),
];
const NOT_MIGRATED: (u8, &str) = (
    1,
    "files: problems, with --strict also warnings, and nothing is printed or written; --in-cluster: objects that the \
     API server refuses, and all others are written",
);
const ACCESS: Meanings = &[
    (0, "the request is allowed"),
    (1, "it is denied, or the resource is wrong"),
    USAGE,
    (3, "only the server could tell, or the cluster does not answer"),
];
const OF_PROVIDERS: Meanings =
    &[(0, "written, checked or pushed"), (1, "the package is refused"), USAGE, NO_REGISTRY];
const APPROVED: Meanings = &[(0, "done"), (1, "a server did not come back"), USAGE, NO_CLUSTER];

/// Adds them to the program's commands, behind the examples.
pub(super) fn added(program: Command) -> Command {
    with_codes(program, "")
}

fn with_codes(command: Command, path: &str) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let examples = command.get_after_help().map(ToString::to_string).unwrap_or_default();
    let command = command.after_long_help(format!("{examples}\n\n{}", lines(path)));
    names.iter().fold(command, |command, name| {
        let below = format!("{path} {name}");
        command.mut_subcommand(name, |command| with_codes(command, below.trim_start()))
    })
}

fn lines(path: &str) -> String {
    let listed = CODES.iter().find(|(command, _)| *command == path);
    let mut text = "Exit codes:".to_owned();
    for (code, meaning) in listed.map_or(DONE, |(_, meanings)| *meanings) {
        let _ = write!(text, "\n  {code}  {meaning}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_that_is_listed_is_there() {
        let program = crate::command::definition();
        for (path, _) in CODES {
            let found = path
                .split_whitespace()
                .try_fold(&program, |command, name| command.find_subcommand(name));
            assert!(found.is_some(), "{path}");
        }
    }
}
