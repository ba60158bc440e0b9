//! `llsd render`: everything that the operator would apply, without a cluster.

mod folder;
mod output;

use std::fmt::Write;

use clap::Args;
use llsd_plan::document;
use llsd_plan::problem::Problem;
use serde_json::Value;

use super::configuration::Configuration;
use super::examine::{Examined, Planned};
use super::inputs::Inputs;
use super::offline::Offline;
use super::{Exit, Printout};
use folder::Folder;
use output::Output;

/// Print everything that the operator would apply, without a cluster
#[derive(Debug, Args)]
pub(super) struct Arguments {
    /// `yaml`: all objects; `config`: config.yaml alone; `dir=DIR`: config.yaml, env.yaml and one
    /// file per object
    #[arg(short, long, default_value = "yaml", value_name = "yaml|config|dir=DIR")]
    output: Output,

    #[command(flatten)]
    inputs: Inputs,
}

pub(super) fn run(arguments: &Arguments) -> Printout {
    let given = match arguments.inputs.read() {
        Ok(given) => given,
        Err(message) => return Printout::usage(&message),
    };
    if arguments.output == Output::Config && given.resources.len() > 1 {
        let count = given.resources.len();
        return Printout::usage(&format!(
            "-o config prints one config.yaml, and there are {count} resources; use -o dir=DIR"
        ));
    }
    let offline = match Offline::new(given) {
        Ok(offline) => offline,
        Err(printout) => return printout,
    };
    match &arguments.output {
        Output::Yaml => offline.fine(stream(&offline)),
        Output::Config => {
            let configurations = offline.configurations();
            offline.unless_missing(&configurations, || {
                configurations.iter().flatten().map(Configuration::text).collect()
            })
        }
        Output::Folder(path) => {
            let configurations = offline.configurations();
            let folders = folders(&offline, &configurations);
            match folder::write(path, &folders) {
                Err(message) => Printout::usage(&message),
                Ok(written) => written_outcome(&offline, &configurations, &written),
            }
        }
    }
}

fn stream(offline: &Offline) -> String {
    let objects = offline.planned().flat_map(|(_, planned)| planned.plan.objects.manifests());
    let texts: Vec<String> = objects.map(|object| document::manifest(&object)).collect();
    texts.join("---\n")
}

/// A configuration that only a cluster has is left out of its folder, and the exit code says so.
fn written_outcome(
    offline: &Offline,
    configurations: &[Result<Configuration<'_>, Problem>],
    written: &[String],
) -> Printout {
    let mut outcome = offline.unless_missing(configurations, String::new);
    if outcome.exit == Exit::Unavailable {
        outcome.stderr.push_str("config.yaml was left out; everything else was written\n");
    }
    for file in written {
        let _ = writeln!(outcome.stderr, "wrote {file}");
    }
    outcome
}

/// One folder for each resource; a single one needs no name of its own.
fn folders(
    offline: &Offline,
    configurations: &[Result<Configuration<'_>, Problem>],
) -> Vec<Folder> {
    let several = configurations.len() > 1;
    offline
        .planned()
        .zip(configurations)
        .map(|((examined, planned), configuration)| Folder {
            name: several.then(|| folder_name(examined)),
            files: files(planned, configuration.as_ref().ok()),
        })
        .collect()
}

fn folder_name(examined: &Examined) -> String {
    let namespace = examined.resource.namespace.as_deref().filter(|name| !name.is_empty());
    let namespace = namespace.unwrap_or("default");
    format!("{namespace}.{}", examined.resource.name.as_deref().unwrap_or_default())
}

fn files(planned: &Planned, configuration: Option<&Configuration<'_>>) -> Vec<(String, String)> {
    let objects = &planned.plan.objects;
    let pod = objects.deployment.spec.as_ref().and_then(|spec| spec.template.spec.as_ref());
    let server = pod.and_then(|pod| pod.containers.first());
    let env = server.and_then(|server| server.env.clone()).unwrap_or_default();
    let env = serde_json::to_value(env).expect("variables have string keys only");
    let mut files = Vec::new();
    if let Some(configuration) = configuration {
        files.push(("config.yaml".to_owned(), configuration.text().to_owned()));
    }
    files.push(("env.yaml".to_owned(), document::manifest(&env)));
    for object in objects.manifests() {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let name = format!("{}-{}.yaml", text("/kind").to_lowercase(), text("/metadata/name"));
        files.push((name, document::manifest(&object)));
    }
    files
}
