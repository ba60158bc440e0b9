//! `llsd diff`: what the operator would change in a cluster if a resource were applied as it is in a
//! file. Nothing is written: the API server is asked with dry runs.

mod readable;

use std::collections::HashSet;
use std::fmt::Write as _;
use std::path::PathBuf;

use clap::{ArgGroup, Args};
use llsd_api::conversion::{Version, convert};
use llsd_offline::{Examined, Input, Source};
use llsd_plan::facts::Facts;
use llsd_plan::objects::start_program;
use llsd_plan::resource::Resource;
use llsd_yaml::document;
use serde_json::Value;
use similar::TextDiff;

use super::cluster::{self, Cluster, ClusterFlags};
use super::cluster_error::ClusterError;
use super::colours::{self, Colour};
use super::files::{FileFlags, name_of_a_resource};
use super::{Exit, Printout, live};
use crate::operator::controller::preview::{Change, Previewer, key_of};
use llsd_install::names;
use readable::{readable, redact};

/// Show what the operator would change in a cluster
///
/// Asks the cluster with dry runs, as yourself: you need to be allowed what the operator does with the
/// resource's objects. Values of Secrets are never shown.
#[derive(Debug, Args)]
#[command(group = ArgGroup::new("resources").args(["name", "files"]).required(true))]
pub(super) struct Arguments {
    /// A resource as it is in the cluster, in place of files: what its operator has still to change
    #[arg(value_parser = name_of_a_resource)]
    name: Option<String>,

    #[command(flatten)]
    files: FileFlags,

    #[command(flatten)]
    place: ClusterFlags,

    /// The operator's namespace
    #[arg(long, env = "OPERATOR_NAMESPACE", default_value = names::NAMESPACE, value_name = "NAMESPACE")]
    operator_namespace: String,

    /// Write the facts that were gathered to a file, for `llsd render --facts`; for one resource
    #[arg(long, value_name = "FILE")]
    export_facts: Option<PathBuf>,
}

/// What would change, what the cluster would refuse, and the facts behind it.
#[derive(Debug, Default)]
struct Comparison {
    text: String,
    refusals: String,
    /// What changes wait for, and what could not be compared.
    remarks: String,
    facts: Vec<Facts>,
}

pub(super) fn run(arguments: &Arguments) -> Result<Printout, Printout> {
    let sources = match &arguments.name {
        Some(name) => vec![live_source(arguments, name)?],
        None => arguments.files.open_all(std::iter::empty())?,
    };
    let mut input = Input::default();
    input.add_all(&sources);
    if let Some(namespace) = &arguments.place.namespace {
        input.place_in(namespace);
    }
    let mut examined = input.examine();
    if arguments.export_facts.is_some() && examined.len() != 1 {
        return Err(Printout::usage("--export-facts is for one resource"));
    }
    let mut comparison = Comparison::default();
    if !input.is_refused(&examined) {
        comparison = cluster::run(&arguments.place, async |cluster| {
            compare(&cluster, &arguments.operator_namespace, &mut examined).await
        })?;
    }
    let findings = input.report(&examined).findings();
    let stderr = findings + &comparison.remarks + &comparison.refusals;
    let is_refused = input.is_refused(&examined) || !comparison.refusals.is_empty();
    let is_unknown = examined.iter().any(|examined| examined.planned.is_none());
    let exit = exit(is_refused, is_unknown, !comparison.text.is_empty());
    if let (Some(path), [facts]) = (&arguments.export_facts, &comparison.facts[..])
        && let Err(error) = std::fs::write(path, facts_file(facts))
    {
        return Err(Printout::usage(&format!("{}: {error}", path.display())));
    }
    let stdout = colours::for_stdout(comparison.text, colour);
    Ok(Printout { stdout, stderr, exit })
}

fn live_source(arguments: &Arguments, name: &str) -> Result<Source, Printout> {
    cluster::run(&arguments.place, async |cluster| live::source(&cluster, name).await)
}

/// As kubectl's: 0 without a difference, 1 with one, and more where that is not known.
fn exit(is_refused: bool, is_unknown: bool, differs: bool) -> Exit {
    match (is_refused, is_unknown, differs) {
        (true, ..) => Exit::Usage,
        (_, true, _) => Exit::Unavailable,
        (_, _, true) => Exit::Problems,
        _ => Exit::Fine,
    }
}

fn colour(line: &str) -> Option<Colour> {
    match line.as_bytes().first() {
        Some(b'+') => Some(Colour::Green),
        Some(b'-') => Some(Colour::Red),
        _ => None,
    }
}

/// Asks the cluster about every resource; the error says why it cannot be asked.
async fn compare(
    cluster: &Cluster,
    operator_namespace: &str,
    examined: &mut [Examined],
) -> Result<Comparison, ClusterError> {
    let previewer = Box::pin(Previewer::new(cluster.api_server(), operator_namespace)).await?;
    let mut comparison = Comparison::default();
    let mut shared = HashSet::new();
    for examined in examined {
        let mut object = convert(examined.resource.to_json(), Version::V1Alpha2);
        let key = key_of(&object, &cluster.namespace);
        object["metadata"]["namespace"] = Value::from(&*key.namespace);
        let stored = match previewer.stored(&key, &object).await {
            Ok(stored) => stored,
            Err(kube::Error::Api(status)) if matches!(status.code, 400 | 422) => {
                let _ = writeln!(comparison.refusals, "{key}: {}", status.message);
                continue;
            }
            Err(error) => return Err(error.into()),
        };
        let resource = Resource::parse(&stored).known_as(&key);
        let preview = Box::pin(previewer.preview(&resource)).await?;
        // What resources of a namespace share changes once.
        let is_new = |change: &&Change| {
            let of = (key.namespace.clone(), change.kind, change.name.clone());
            !start_program::is_copy(&change.name) || shared.insert(of)
        };
        for change in preview.changes.iter().filter(is_new) {
            comparison.text.push_str(&difference(change));
        }
        for refusal in &preview.refusals {
            let _ = writeln!(comparison.refusals, "{key}: {refusal}");
        }
        for waiting in &preview.waiting {
            let _ = writeln!(comparison.remarks, "{key}: {waiting}");
        }
        examined.planned_as(preview.planning, stored, &preview.facts.image);
        comparison.facts.push(preview.facts);
    }
    let reads_secrets = comparison.facts.iter().any(|facts| !facts.secrets.is_empty());
    if reads_secrets && !previewer.knows_hashes() {
        let key = format!("{operator_namespace}/{}", names::KEY_SECRET);
        let _ = writeln!(
            comparison.remarks,
            "the operator's key, Secret {key}, cannot be read: whether values of Secrets changed is not \
             known, and they are shown as unchanged"
        );
    }
    Ok(comparison)
}

/// One object as a unified difference; values of Secrets are words.
fn difference(change: &Change) -> String {
    let mut before = change.before.as_ref().map(readable);
    let mut after = change.after.as_ref().map(readable);
    if change.kind == "Secret" {
        redact(before.as_mut(), after.as_mut());
    }
    let text = |object: Option<Value>| object.map(|object| document::manifest(&sorted(object)));
    let (before, after) = (text(before), text(after));
    let name = format!("{}/{}", change.kind, change.name);
    let label = |side: &str, text: &Option<String>| match text {
        Some(_) => format!("{side}/{name}"),
        None => "/dev/null".to_owned(),
    };
    let labels = (label("live", &before), label("planned", &after));
    let (before, after) = (before.unwrap_or_default(), after.unwrap_or_default());
    TextDiff::from_lines(&before, &after)
        .unified_diff()
        .context_radius(3)
        .header(&labels.0, &labels.1)
        .to_string()
}

/// The API server sends the keys of one object in another order than those of another version.
fn sorted(value: Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut entries: Vec<(String, Value)> = map.into_iter().collect();
            entries.sort_by(|one, other| one.0.cmp(&other.0));
            entries.into_iter().map(|(key, value)| (key, sorted(value))).collect()
        }
        Value::Array(items) => items.into_iter().map(sorted).collect(),
        other => other,
    }
}

fn facts_file(facts: &Facts) -> String {
    let facts = serde_json::to_value(facts).expect("facts have string keys only");
    document::manifest(&facts)
}
