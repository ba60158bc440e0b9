//! The bill of materials of the program, in CycloneDX: every crate that it is built from, with version,
//! licence, checksum and what it depends on in turn.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Value, json};
use thiserror::Error;

use crate::image::Release;

/// Where the authorities in the image come from; the program itself does not hold them.
const ROOTS: &str = "webpki-root-certs";

#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("cargo metadata lists no {0}")]
pub struct Missing(String);

/// From what `cargo metadata` says for the target, and the checksums of `Cargo.lock`.
pub fn bill_of_materials(
    metadata: &Value,
    lock: &str,
    release: &Release,
) -> Result<Value, Missing> {
    let graph = Graph::parse(metadata);
    let program = graph.package("llsd")?;
    let mut parts = graph.reached_from(program);
    parts.insert(graph.package(ROOTS)?);
    let checksums = checksums(lock);
    let components: Vec<Value> = parts
        .iter()
        .filter(|id| **id != program)
        .map(|id| component(graph.packages[id], &checksums))
        .collect();
    let dependencies: Vec<Value> = parts
        .iter()
        .map(|id| {
            let edges = graph.edges.get(id).into_iter().flatten();
            let on: BTreeSet<String> =
                edges.filter(|on| parts.contains(*on)).map(|on| url(graph.packages[on])).collect();
            json!({"ref": url(graph.packages[id]), "dependsOn": on})
        })
        .collect();
    Ok(json!({
        "bomFormat": "CycloneDX",
        "specVersion": "1.5",
        "version": 1,
        "metadata": {
            "timestamp": release.date(),
            "component": {
                "type": "application",
                "bom-ref": url(graph.packages[program]),
                "name": "llsd",
                "version": release.version,
                "purl": url(graph.packages[program]),
                "licenses": [{"expression": "Apache-2.0"}],
            },
        },
        "components": components,
        "dependencies": dependencies,
    }))
}

struct Graph<'a> {
    packages: BTreeMap<&'a str, &'a Value>,
    edges: BTreeMap<&'a str, Vec<&'a str>>,
}

impl<'a> Graph<'a> {
    fn parse(metadata: &'a Value) -> Self {
        let list = |value: &'a Value| value.as_array().into_iter().flatten();
        let text = |value: &'a Value| value.as_str().unwrap_or_default();
        let packages =
            list(&metadata["packages"]).map(|package| (text(&package["id"]), package)).collect();
        // What tests alone need is no part of the program.
        let is_built_in =
            |edge: &&'a Value| list(&edge["dep_kinds"]).any(|kind| kind["kind"] != "dev");
        let edges = list(&metadata["resolve"]["nodes"])
            .map(|node| {
                let on = list(&node["deps"]).filter(is_built_in).map(|edge| text(&edge["pkg"]));
                (text(&node["id"]), on.collect())
            })
            .collect();
        Self { packages, edges }
    }

    fn package(&self, name: &str) -> Result<&'a str, Missing> {
        let found = self.packages.iter().find(|(_, package)| package["name"] == name);
        found.map(|(id, _)| *id).ok_or_else(|| Missing(name.to_owned()))
    }

    fn reached_from(&self, start: &'a str) -> BTreeSet<&'a str> {
        let mut reached = BTreeSet::from([start]);
        let mut waiting = VecDeque::from([start]);
        while let Some(id) = waiting.pop_front() {
            for &next in self.edges.get(id).into_iter().flatten() {
                if reached.insert(next) {
                    waiting.push_back(next);
                }
            }
        }
        reached
    }
}

fn component(package: &Value, checksums: &BTreeMap<(String, String), String>) -> Value {
    let text = |field: &str| package[field].as_str().unwrap_or_default().to_owned();
    let (name, version) = (text("name"), text("version"));
    let mut component = json!({
        "type": "library",
        "bom-ref": url(package),
        "name": name,
        "version": version,
        "purl": url(package),
    });
    if let Some(licence) = package["license"].as_str() {
        // An older way to write `OR`, which is no expression of SPDX.
        component["licenses"] = json!([{"expression": licence.replace('/', " OR ")}]);
    }
    if let Some(checksum) = checksums.get(&(name, version)) {
        component["hashes"] = json!([{"alg": "SHA-256", "content": checksum}]);
    }
    component
}

fn url(package: &Value) -> String {
    let text = |field: &str| package[field].as_str().unwrap_or_default();
    format!("pkg:cargo/{}@{}", text("name"), text("version"))
}

/// By name and version.
fn checksums(lock: &str) -> BTreeMap<(String, String), String> {
    let mut found = BTreeMap::new();
    for package in lock.split("[[package]]").skip(1) {
        let field = |name: &str| {
            let line =
                package.lines().find_map(|line| line.strip_prefix(&format!("{name} = \"")))?;
            line.strip_suffix('"').map(str::to_owned)
        };
        if let (Some(name), Some(version), Some(checksum)) =
            (field("name"), field("version"), field("checksum"))
        {
            found.insert((name, version), checksum);
        }
    }
    found
}
