//! Everything that the operator would apply, as texts.

use std::collections::HashSet;

use llsd_plan::objects::PlannedObject;
use llsd_plan::problems::Problem;
use llsd_yaml::document;
use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::examined::{Examined, Planned};
use crate::plans::Plans;

/// The files of one resource, in a separate folder where it has a name.
#[derive(Debug)]
pub struct Folder {
    pub name: Option<String>,
    /// The names and texts of the objects, one each.
    pub objects: Vec<(String, String)>,
    /// The same of what is no object: `config.yaml` and `env.yaml`.
    pub files: Vec<(String, String)>,
}

/// All objects, as one stream.
pub fn stream(plans: &Plans) -> String {
    let texts: Vec<String> = all(plans).iter().map(document::manifest).collect();
    texts.join("---\n")
}

/// All objects as JSON: one list, as kubectl prints and applies it.
pub fn list(plans: &Plans) -> String {
    format!("{:#}\n", json!({"apiVersion": "v1", "kind": "List", "items": all(plans)}))
}

/// What the resources of a namespace share is there once.
fn all(plans: &Plans) -> Vec<Value> {
    let mut shared = HashSet::new();
    let objects = plans.all().flat_map(|(_, planned)| planned.plan.objects.in_order());
    let is_first = |object: &PlannedObject| {
        let namespace = object.json["metadata"]["namespace"].as_str().unwrap_or_default();
        !object.is_shared() || shared.insert((namespace.to_owned(), object.name.clone()))
    };
    objects.filter(is_first).map(|object| object.json).collect()
}

/// One folder for each resource, which can be applied alone; a single one needs no name of its own. A
/// configuration that is missing is left out.
pub fn folders(
    plans: &Plans,
    configurations: &[Result<Configuration<'_>, Problem>],
) -> Vec<Folder> {
    let several = configurations.len() > 1;
    plans
        .all()
        .zip(configurations)
        .map(|((examined, planned), configuration)| Folder {
            name: several.then(|| folder_name(examined)),
            objects: objects(planned),
            files: files(planned, configuration.as_ref().ok()),
        })
        .collect()
}

fn folder_name(examined: &Examined) -> String {
    let summary = &examined.resource.summary;
    let namespace = summary.namespace.as_deref().filter(|name| !name.is_empty());
    let namespace = namespace.unwrap_or("default");
    format!("{namespace}.{}", summary.name.as_deref().unwrap_or_default())
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
    files
}

fn objects(planned: &Planned) -> Vec<(String, String)> {
    let file = |object: Value| {
        let text = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let name = format!("{}-{}.yaml", text("/kind").to_lowercase(), text("/metadata/name"));
        (name, document::manifest(&object))
    };
    planned.plan.objects.manifests().into_iter().map(file).collect()
}
