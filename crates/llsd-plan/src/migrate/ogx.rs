//! From llama-stack to OGX: what `llsd migrate --to ogx-1.5` does to a resource beyond v1alpha2. What
//! differs between the two is read off the catalogues and the distributions, so it stands here only
//! where they do not say it.

use llsd_api::provider_id::short_name;
use serde_json::{Map, Value};

use super::migrated::{DecisionKind, Migrated};
use super::{finished, migrate_with};
use crate::facts::Facts;
use crate::problems::FieldPath;
use crate::releases::api_name::{in_resource, in_snake_case};
use crate::releases::{
    Catalogue, Distribution, ProviderType, Releases, ServerFamily, release_of, server_of,
};

const PAGE: &str = "docs/from-llama-stack-to-ogx.md";
const STATE: [&str; 2] = ["SQLITE_STORE_DIR", "FILES_STORAGE_DIR"];

/// A release of OGX to which resources can be moved.
#[derive(Clone, Copy, Debug)]
pub struct OgxTarget(Catalogue);

impl OgxTarget {
    /// The release that the named distributions have: `ogx-1.5.0`, or `ogx-1.5`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let newest = newest(ServerFamily::Ogx);
        let name = &newest.release.name;
        let patch = name.strip_prefix(text).filter(|_| text.contains('.'));
        if patch.is_some_and(|patch| patch.is_empty() || patch.starts_with('.')) {
            Ok(Self(newest))
        } else {
            Err(format!("`{text}` is not a release to move to; use {name}"))
        }
    }

    /// As `--release` takes it.
    pub fn release(self) -> &'static str {
        &self.0.release.name
    }
}

fn newest(server: ServerFamily) -> Catalogue {
    let releases = Releases::shipped();
    releases.catalogue_of(releases.newest(server))
}

/// Migrates a resource that validation accepts to v1alpha2, and to OGX.
pub fn migrate_to(source: &Value, facts: &Facts, target: OgxTarget) -> Migrated {
    let migrated = migrate_with(source, facts);
    let is_same_version = migrated.object["apiVersion"] == source["apiVersion"];
    let before = newest(ServerFamily::LlamaStack);
    let mut moving = MoveToOgx { migrated, is_same_version, before, after: target.0 };
    if moving.distribution() {
        moving.gone();
        moving.providers();
        moving.aliases();
    }
    finished(moving.migrated)
}

struct MoveToOgx {
    migrated: Migrated,
    is_same_version: bool,
    /// The last release of llama-stack, for which resources are written.
    before: Catalogue,
    after: Catalogue,
}

impl MoveToOgx {
    /// Whether the rest of the resource is to be moved, too.
    fn distribution(&mut self) -> bool {
        let path = FieldPath::spec().key("distribution");
        let asked = &self.migrated.object["spec"]["distribution"];
        if let Some(image) = asked["image"].as_str() {
            let release = release_of(image, None);
            if release.as_deref().and_then(server_of) != Some(ServerFamily::Ogx) {
                let message = format!(
                    "an image is yours to choose: put one of {} in its place, and use `--release \
                     {}` where its name does not say it; all else is for OGX now",
                    self.after.release.title, self.after.release.name
                );
                self.decide(&path.key("image"), DecisionKind::Left, message);
                self.state(None);
            }
            return true;
        }
        let Some(name) = asked["name"].as_str().map(str::to_owned) else { return false };
        let Some(old) = Distribution::all().get(&name) else { return false };
        if server_of(&old.release) == Some(ServerFamily::Ogx) {
            return true;
        }
        let succeeds = |new: &&Distribution| new.succeeds.as_ref() == Some(&name);
        let mut distributions = Distribution::all().iter();
        let Some((new_name, new)) = distributions.find(|(_, new)| succeeds(new)) else {
            let message = format!(
                "no distribution of OGX stands for {name}: name an image of {}; nothing of the \
                 resource was moved",
                self.after.release.title
            );
            self.decide(&path.key("name"), DecisionKind::Left, message);
            return false;
        };
        self.migrated.object["spec"]["distribution"]["name"] = Value::from(new_name.as_str());
        let message = format!("{name} → {new_name}, {}", self.after.release.title);
        self.decide(&path.key("name"), DecisionKind::Changed, message);
        self.state(Some((old, new, new_name)));
        true
    }

    /// What is stored, and the variables that say where or configure what is gone.
    fn state(&mut self, distributions: Option<(&Distribution, &Distribution, &str)>) {
        let spec = &self.migrated.object["spec"];
        let in_postgres = spec["storage"]["sql"]["type"] == "postgres";
        let in_redis = spec["storage"]["kv"]["type"] == "redis";
        let volume = &spec["workload"]["storage"];
        let is_on_volume = !in_postgres && !in_redis && !volume.is_null();
        let storage = FieldPath::spec().key("storage");
        if in_postgres {
            let message = format!("OGX changes the tables in Postgres: save it first; see {PAGE}");
            self.decide(&storage.key("sql"), DecisionKind::Left, message);
        } else if in_redis {
            let message = format!("of what llama-stack stored, OGX sees vector stores; see {PAGE}");
            self.decide(&storage.key("kv"), DecisionKind::Left, message);
        } else if is_on_volume {
            let message = format!("what llama-stack stored stays there, unseen by OGX; see {PAGE}");
            let path = FieldPath::spec().key("workload").key("storage");
            self.decide(&path, DecisionKind::Left, message);
        }
        let env = FieldPath::spec().key("workload").key("overrides").key("env");
        let variables = self.migrated.object.pointer("/spec/workload/overrides/env").cloned();
        for (index, variable) in variables.iter().flat_map(items).enumerate() {
            let (path, name) = (env.index(index), variable["name"].as_str().unwrap_or_default());
            let reads = |known: &Distribution, name: &str| {
                known.base().contains(&format!("${{env.{name}:"))
            };
            if STATE.contains(&name) {
                let message =
                    format!("{name} stays: OGX would change what it finds there; see {PAGE}");
                self.decide(&path, DecisionKind::Left, message);
                continue;
            }
            let Some((old, new, new_name)) = distributions else { continue };
            if !reads(old, name) || reads(new, name) {
                continue;
            }
            let renamed = new.renamed.get(name).filter(|new| {
                !variables.iter().flat_map(items).any(|other| other["name"] == **new)
            });
            if let Some(renamed) = renamed {
                self.migrated.object["spec"]["workload"]["overrides"]["env"][index]["name"] =
                    Value::from(renamed.as_str());
                self.decide(&path, DecisionKind::Changed, format!("{name} → {renamed}"));
            } else {
                let message = format!("{name} stays, but {new_name} does not read it");
                self.decide(&path, DecisionKind::Left, message);
            }
        }
    }

    /// The APIs that ended with llama-stack, and what was registered with them.
    fn gone(&mut self) {
        let apis = self.before.apis().filter(|api| !self.after.has_api(api));
        let apis: Vec<&str> = apis.collect();
        for section in ["providers", "externalProviders"] {
            for api in &apis {
                let why = format!("{} has no API `{api}`", self.after.release.title);
                self.drop(section, &in_resource(api), &why);
            }
        }
        let why = format!("{} has no shields", self.after.release.title);
        self.drop("resources", "shields", &why);
    }

    fn drop(&mut self, section: &str, field: &str, why: &str) {
        let path = FieldPath::spec().key(section).key(field);
        let source = self.source(&path);
        let spec = &mut self.migrated.object["spec"];
        let Some(Value::Object(fields)) = spec.get_mut(section) else { return };
        if fields.shift_remove(field).is_none() {
            return;
        }
        if fields.is_empty()
            && let Value::Object(spec) = spec
        {
            spec.shift_remove(section);
        }
        self.migrated.decide(source, DecisionKind::Dropped, why);
    }

    /// Types and keys that have another name in OGX.
    fn providers(&mut self) {
        let Some(Value::Object(apis)) = self.migrated.object.pointer("/spec/providers").cloned()
        else {
            return;
        };
        for (field, mut entries) in apis {
            let at = FieldPath::spec().key("providers").key(&field);
            let api = in_snake_case(&field);
            match &mut entries {
                Value::Array(list) => {
                    for (index, entry) in list.iter_mut().enumerate() {
                        self.provider(&api, &at.index(index), entry);
                    }
                }
                entry => self.provider(&api, &at, entry),
            }
            self.migrated.object["spec"]["providers"][&field] = entries;
        }
    }

    fn provider(&mut self, api: &str, path: &FieldPath, entry: &mut Value) {
        let Some(entry) = entry.as_object_mut() else { return };
        let Some(written) = entry.get("provider").and_then(Value::as_str).map(str::to_owned) else {
            return;
        };
        let (before, after) = (self.before, self.after);
        let Some(full) = before.full_type(api, &written) else { return };
        let Some(old) = before.get(api, full) else { return };
        let mut new_type = full;
        if after.get(api, full).is_none() {
            let successor = old.successor().filter(|new| after.get(api, new).is_some());
            let Some(successor) = successor else { return }; // validation says what OGX has
            new_type = successor;
            let new = if written.contains("::") { new_type } else { short_name(new_type) };
            self.decide(&path.key("provider"), DecisionKind::Changed, format!("{written} → {new}"));
            // Whatever names the provider goes on doing so.
            if !entry.contains_key("id") {
                entry.shift_insert(0, "id".to_owned(), Value::from(short_name(&written)));
            }
            entry.insert("provider".to_owned(), Value::from(new));
        }
        if let Some(new) = after.get(api, new_type) {
            for holder in ["settings", "config", "secretRefs"] {
                if let Some(Value::Object(fields)) = entry.get_mut(holder) {
                    self.keys(&path.key(holder), fields, (old, new));
                }
            }
        }
    }

    /// Keys of a provider's configuration: the one of its API key, and stores that moved.
    fn keys(
        &mut self,
        path: &FieldPath,
        fields: &mut Map<String, Value>,
        (old, new): (ProviderType, ProviderType),
    ) {
        let gone: Vec<String> =
            fields.keys().filter(|key| old.knows(key) && !new.knows(key)).cloned().collect();
        for key in gone {
            let source = self.source(&path.key(&key));
            let renamed = new.key().filter(|_| old.key() == Some(&key));
            if let Some(renamed) = renamed.filter(|renamed| !fields.contains_key(*renamed)) {
                self.migrated.decide(source.clone(), DecisionKind::Changed, format!("→ {renamed}"));
                self.migrated.moved(source, path.key(renamed));
                *fields = renamed_key(fields, &key, renamed);
            } else {
                let why = format!("{} does not know it", self.after.release.title);
                self.migrated.decide(source, DecisionKind::Dropped, why);
                fields.shift_remove(&key);
            }
        }
    }

    /// Models that clients ask for under another id now.
    fn aliases(&mut self) {
        let models = self.migrated.object.pointer("/spec/resources/models").cloned();
        for (index, model) in models.iter().flat_map(items).enumerate() {
            let (name, id) = (model["name"].as_str(), model["providerModelId"].as_str());
            let (Some(name), Some(id)) = (name, id) else { continue };
            if name != id {
                let provider = model["provider"].as_str().unwrap_or("PROVIDER");
                let message = format!(
                    "clients ask OGX for {provider}/{name}, where llama-stack had {provider}/{id}"
                );
                let path = FieldPath::spec().key("resources").key("models").index(index);
                self.decide(&path, DecisionKind::Left, message);
            }
        }
    }

    fn decide(&mut self, path: &FieldPath, kind: DecisionKind, message: String) {
        let source = self.source(path);
        self.migrated.decide(source, kind, message);
    }

    /// The field of the source that stands behind one of v1alpha2.
    fn source(&self, path: &FieldPath) -> FieldPath {
        if self.is_same_version { path.clone() } else { self.migrated.source_of(path) }
    }
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

/// The same fields in the same order, one under another name.
fn renamed_key(fields: &Map<String, Value>, old: &str, new: &str) -> Map<String, Value> {
    let rename = |key: &String| if key == old { new.to_owned() } else { key.clone() };
    fields.iter().map(|(key, value)| (rename(key), value.clone())).collect()
}
