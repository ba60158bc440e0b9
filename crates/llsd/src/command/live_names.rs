//! Names that a cluster knows, for completion: asked with the user's own rights, and given up on before
//! anybody who pressed TAB wonders.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::Command;
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use serde_json::Value;

use super::cluster::{self, Cluster, ClusterFlags};
use super::cluster_error::ClusterError;
use super::kubeconfig::KubeconfigFlags;

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
        let place = place_of(words);
        let candidates = ArgValueCandidates::new(move || resources(&place));
        command = command.mut_arg("name", |argument| argument.add(candidates));
    }
    if has_namespace {
        let place = place_of(words);
        let candidates = ArgValueCandidates::new(move || namespaces(&place));
        command = command.mut_arg("namespace", |argument| argument.add(candidates));
    }
    names.iter().fold(command, |command, name| {
        command.mut_subcommand(name, |below| with_live_names(below, words))
    })
}

/// The cluster and the namespace that the command line names.
fn place_of(words: &[OsString]) -> ClusterFlags {
    let of = |long, short| value_of(words, long, short);
    ClusterFlags {
        namespace: of("--namespace", Some("-n")),
        kubeconfig: KubeconfigFlags {
            context: of("--context", None),
            kubeconfig: of("--kubeconfig", None).map(PathBuf::from),
        },
    }
}

/// The last value of a flag.
fn value_of(words: &[OsString], long: &str, short: Option<&str>) -> Option<String> {
    let words: Vec<&str> = words.iter().filter_map(|word| word.to_str()).collect();
    words.iter().enumerate().rev().find_map(|(place, word)| {
        if *word == long || Some(*word) == short {
            return words.get(place + 1).map(|next| (*next).to_owned());
        }
        let joined = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('='));
        let attached = || {
            let rest = short.and_then(|short| word.strip_prefix(short));
            rest.filter(|_| !word.starts_with("--"))
        };
        joined.or_else(attached).map(str::to_owned)
    })
}

fn resources(place: &ClusterFlags) -> Vec<CompletionCandidate> {
    listed(place, async |cluster| {
        let found = cluster.first(MOST).await?;
        let word = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let rows = found.iter().map(|resource| {
            (word(&resource["metadata"]["name"]), word(&resource["status"]["phase"]))
        });
        Ok(rows.collect())
    })
}

fn namespaces(place: &ClusterFlags) -> Vec<CompletionCandidate> {
    listed(place, async |cluster| {
        let api: Api<Namespace> = Api::all(cluster.client.clone());
        let found = api.list_metadata(&ListParams::default().limit(MOST)).await?;
        Ok(found.items.iter().map(|namespace| (namespace.name_any(), String::new())).collect())
    })
}

/// Names with a word about each. Who may not list, or waits too long, gets none: a shell has no place
/// for an error.
fn listed(
    place: &ClusterFlags,
    ask: impl AsyncFnOnce(Cluster) -> Result<Vec<(String, String)>, ClusterError>,
) -> Vec<CompletionCandidate> {
    let found = cluster::run_within(place, PATIENCE, ask).unwrap_or_default().into_iter();
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
    fn the_place_is_read_from_the_command_line_in_every_spelling() {
        let of = |line: &str| {
            let words: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            place_of(&words)
        };
        for line in
            ["status -n team", "-n team status", "status --namespace=team", "status -nteam x"]
        {
            assert_eq!(of(line).namespace.as_deref(), Some("team"), "{line}");
        }
        let none = of("status x");
        assert!(none.namespace.is_none() && !none.kubeconfig.is_given());
        let both = of("status --context dev --kubeconfig=/k x").kubeconfig;
        assert_eq!(both.context.as_deref(), Some("dev"));
        assert_eq!(both.kubeconfig.as_deref(), Some(std::path::Path::new("/k")));
    }
}
