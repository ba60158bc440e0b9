//! Names that a cluster knows, for completion: asked with the user's own rights, and given up on before
//! anybody who pressed TAB wonders.

use std::ffi::OsString;
use std::time::Duration;

use clap::Command;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde_json::Value;

use super::cluster::{self, Cluster, NamespaceFlag, text};

const PATIENCE: Duration = Duration::from_millis(900);
/// More than anybody chooses from.
const MOST: u32 = 500;

/// The command, whose arguments for resources and namespaces are completed from the cluster.
/// `words` is what stands on the command line so far.
pub(super) fn with_live_names(command: Command, words: &[OsString]) -> Command {
    let names: Vec<String> =
        command.get_subcommands().map(|below| below.get_name().to_owned()).collect();
    let has = |id: &str| command.get_arguments().any(|argument| argument.get_id() == id);
    let (has_name, has_namespace) = (has("name"), has("namespace"));
    let mut command = command;
    if has_name && has_namespace {
        let place = NamespaceFlag { namespace: namespace_of(words) };
        let candidates = ArgValueCandidates::new(move || resources(&place));
        command = command.mut_arg("name", |argument| argument.add(candidates));
    }
    if has_namespace {
        let candidates = ArgValueCandidates::new(namespaces);
        command = command.mut_arg("namespace", |argument| argument.add(candidates));
    }
    names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |below| with_live_names(below, words))
    })
}

/// The namespace that the command line names.
fn namespace_of(words: &[OsString]) -> Option<String> {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    words.iter().enumerate().rev().find_map(|(place, word)| match *word {
        "-n" | "--namespace" => words.get(place + 1).map(|next| (*next).to_owned()),
        word => word
            .strip_prefix("--namespace=")
            .or_else(|| word.strip_prefix("-n").filter(|_| !word.starts_with("--")))
            .map(str::to_owned),
    })
}

fn resources(place: &NamespaceFlag) -> Vec<CompletionCandidate> {
    let place = NamespaceFlag { namespace: place.namespace.clone() };
    listed(async |cluster| {
        let found = cluster.at(&place).first(MOST).await?;
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let rows = found.iter().map(|resource| {
            (word(&resource["metadata"]["name"]), word(&resource["status"]["phase"]))
        });
        Ok(rows.collect())
    })
}

fn namespaces() -> Vec<CompletionCandidate> {
    listed(async |cluster| {
        let api: Api<Namespace> = Api::all(cluster.client.clone());
        let found = api.list_metadata(&ListParams::default().limit(MOST)).await.map_err(text)?;
        Ok(found.items.iter().map(|namespace| (namespace.name_any(), String::new())).collect())
    })
}

/// Names with a word about each. Who may not list, or waits too long, gets none: a shell has no place
/// for an error.
fn listed(
    ask: impl AsyncFnOnce(Cluster) -> Result<Vec<(String, String)>, String>,
) -> Vec<CompletionCandidate> {
    let found = cluster::run_within(PATIENCE, ask).unwrap_or_default().into_iter();
    found
        .map(|(name, word)| {
            let help = Some(word).filter(|word| !word.is_empty()).map(Into::into);
            CompletionCandidate::new(name).help(help)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_namespace_is_read_from_the_command_line_in_every_spelling() {
        let of = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            namespace_of(&words)
        };
        for line in
            ["status -n team", "-n team status", "status --namespace=team", "status -nteam x"]
        {
            assert_eq!(of(line).as_deref(), Some("team"), "{line}");
        }
        assert_eq!(of("status x"), None);
    }
}
