//! Turns variables into fields: providers, models and shields where the choice says so.

use std::collections::BTreeMap;

use llsd_yaml::rewrite::Move;
use serde_json::{Map, Value, json};

use super::choice::{Choice, real_name};
use super::migrated::{DecisionKind, Migrated, field_path};
use super::providers::{self, Entry, Field};
use super::resources::{self, Custom};
use super::uses::{BaseConfiguration, VariableUse};
use super::variables::{self, EnvEntry, Given, OTHER_CONFIGURATION};
use crate::facts::{BaseFacts, Facts};
use crate::problems::{FieldPath, Segment};
use crate::releases::api_name;
use crate::releases::release_of;
use llsd_yaml::document;

const ENV: &str = "/spec/workload/overrides/env";
const SOURCE_ENV: &str = "/spec/server/containerSpec/env";

/// Turns what can be turned, and says of every variable what became of it.
pub(super) fn turn(migrated: &mut Migrated, facts: &Facts) {
    let object = migrated.object.clone();
    let Some(env) = object.pointer(ENV).and_then(Value::as_array).filter(|env| !env.is_empty())
    else {
        return;
    };
    let variables = variables::parse(env);
    let given = facts.image.base.as_ref();
    let document = given.and_then(|base| document::read(&base.text).ok());
    let given = given.zip(document.as_ref());
    match base(&object, &variables, given, facts) {
        Err(why) => stay(migrated, &why),
        Ok(base) => {
            let choice = Choice::new(&base, &variables);
            choice.carry_out(migrated);
        }
    }
}

/// All variables stay, because the result would be refused.
pub(super) fn leave_all(migrated: &mut Migrated, refusal: &str) {
    stay(migrated, &format!("as fields they would be refused: {refusal}"));
}

fn stay(migrated: &mut Migrated, why: &str) {
    let message = format!("all variables stay, in spec.workload.overrides.env: {why}");
    migrated.decide(field_path(SOURCE_ENV), DecisionKind::Left, message);
}

/// The configuration that the variables are for, or why nobody can know it.
fn base<'d>(
    object: &Value,
    variables: &[EnvEntry<'_>],
    own: Option<(&BaseFacts, &'d Value)>,
    facts: &Facts,
) -> Result<BaseConfiguration<'d>, String> {
    let given = |path: &str| object.pointer(path).is_some_and(|value| !value.is_null());
    if given("/spec/overrideConfig") {
        return Err("they are for the configuration in the ConfigMap of overrideConfig".to_owned());
    }
    if ["command", "args"].iter().any(|key| given(&format!("/spec/workload/overrides/{key}"))) {
        return Err("a command of the resource's own may read them".to_owned());
    }
    if let Some(own) = variables.iter().find(|own| OTHER_CONFIGURATION.contains(&own.name)) {
        return Err(format!("{} names another configuration than the distribution's", own.name));
    }
    if ["providers", "resources", "storage", "disabled", "externalProviders"]
        .iter()
        .any(|key| given(&format!("/spec/{key}")))
    {
        return Err("the resource declares its configuration already".to_owned());
    }
    let named = |field: &str| object.pointer(&format!("/spec/distribution/{field}"))?.as_str();
    if let Some((own, document)) = own {
        let title = own.found_in.as_deref().unwrap_or("the base configuration");
        let release =
            release_of(named("image").unwrap_or_default(), facts.image.release.as_deref());
        return BaseConfiguration::given(title, document, release.as_deref())
            .ok_or_else(|| format!("{title} is no configuration of the image's release"));
    }
    let Some(name) = named("name") else {
        return Err("what an image reads is in the image; with `--base`, the configuration \
                    inside it, they can be turned"
            .to_owned());
    };
    BaseConfiguration::of_distribution(name)
        .ok_or_else(|| format!("no distribution {name} is known"))
}

impl Choice<'_> {
    fn carry_out(self, migrated: &mut Migrated) {
        let mut turning = Turning { migrated, reached: BTreeMap::new() };
        if !self.turned.is_empty() {
            self.providers(&mut turning);
            self.models(&mut turning);
            self.shields(&mut turning);
        }
        self.report(turning);
    }

    fn providers(&self, turning: &mut Turning<'_>) {
        let declared = self.declared();
        let mut apis: Map<String, Value> = Map::new();
        for index in &declared {
            let provider = &self.base.providers[*index];
            let among =
                declared.iter().filter(|other| self.base.providers[**other].api == provider.api);
            let several = among.count() > 1;
            let api = api_name::in_resource(&provider.api);
            let mut path = FieldPath::spec().key("providers").key(&api);
            let list = apis.entry(&api).or_insert_with(|| json!([]));
            if several {
                path = path.index(list.as_array().map_or(0, Vec::len));
            }
            let mut entry = Entry::new(self.base, provider, several);
            for variable in self.variables {
                let Some(given) = self.turned.get(variable.name) else { continue };
                for place in self.places.get(variable.name).into_iter().flatten() {
                    match place {
                        VariableUse::Config(own, key) if own == index => {
                            let name = real_name(variable.name);
                            let Ok(field) = providers::field(self.base, provider, key, *given)
                            else {
                                continue;
                            };
                            let below = entry.set(self.base, provider, &field, (name, *given));
                            let to = below.iter().fold(path.clone(), |path, key| path.key(key));
                            let same = !matches!(field, Field::Setting(_));
                            turning.reach(variable, to, same);
                        }
                        VariableUse::Switch(own)
                            if own == index && !self.configures(variable, *index) =>
                        {
                            turning.reach(variable, path.key("provider"), false);
                        }
                        _ => {}
                    }
                }
            }
            if let Value::Array(list) = list {
                list.push(entry.finish());
            }
        }
        for entries in apis.values_mut() {
            if let Value::Array(list) = entries
                && list.len() == 1
            {
                *entries = list.remove(0);
            }
        }
        if !apis.is_empty() {
            turning.migrated.object["spec"]["providers"] = Value::Object(apis);
        }
    }

    /// Whether the variable is also in the config of the provider that it switches on.
    fn configures(&self, variable: &EnvEntry<'_>, provider: usize) -> bool {
        let places = self.places.get(variable.name).into_iter().flatten();
        places
            .into_iter()
            .any(|place| matches!(place, VariableUse::Config(own, _) if *own == provider))
    }

    fn models(&self, turning: &mut Turning<'_>) {
        let inference = self.inference();
        let mut models = Vec::new();
        for variable in self.variables {
            let Some(Given::Text(name)) = self.turned.get(variable.name) else { continue };
            let read = self.places.get(variable.name).into_iter().flatten();
            let mut providers: Vec<String> = read
                .filter_map(|place| match place {
                    VariableUse::Model(index) => {
                        resources::provider_of_model(self.base, *index).ok()
                    }
                    _ => None,
                })
                .collect();
            if !self.places.contains_key(variable.name) {
                providers.extend(match resources::custom(variable.name, self.base) {
                    Some(Custom::ModelOf(id)) => Some(id),
                    Some(Custom::Model) => inference.first().map(|id| (*id).to_owned()),
                    None => None,
                });
            }
            for id in providers {
                let only = inference.as_slice() == [id.as_str()];
                let entry = resources::model(name, (!only).then_some(id.as_str()));
                let path = FieldPath::spec().key("resources").key("models");
                let index = models.iter().position(|other| *other == entry);
                let path = path.index(index.unwrap_or(models.len()));
                turning.reach(variable, path.key("name"), index.is_none());
                if index.is_none() {
                    models.push(entry);
                }
            }
        }
        turning.register("models", models);
    }

    fn shields(&self, turning: &mut Turning<'_>) {
        let mut found: Vec<(bool, &EnvEntry<'_>, Value)> = Vec::new();
        for variable in self.variables {
            let Some(Given::Text(model)) = self.turned.get(variable.name) else { continue };
            let Some(places) = self.places.get(variable.name) else { continue };
            let shield = resources::shield_index(places)
                .and_then(|index| resources::shield(self.base, index, model).ok());
            if let Some(shield) = shield {
                found.push((!places.contains(&VariableUse::DefaultShield), variable, shield));
            }
        }
        // The default one comes first, and so stays the default one.
        found.sort_by_key(|(other, ..)| *other);
        let mut shields = Vec::new();
        for (_, variable, shield) in found {
            let path = FieldPath::spec().key("resources").key("shields").index(shields.len());
            turning.reach(variable, path.key("model"), true);
            shields.push(shield);
        }
        turning.register("shields", shields);
    }

    /// Takes the turned variables out of the list, and says what happened to each.
    fn report(&self, turning: Turning<'_>) {
        let Turning { migrated, reached } = turning;
        let source = field_path(SOURCE_ENV);
        migrated.moves.retain(|step| !is_variable(step));
        let mut kept = 0;
        for variable in self.variables {
            let from = source.index(variable.index);
            if let Some(places) = reached.get(&variable.index) {
                for (to, same) in places {
                    for part in ["value", "name"] {
                        migrated.moved(from.key(part), to.clone());
                    }
                    if *same {
                        let secret = from.key("valueFrom").key("secretKeyRef");
                        migrated.moved(secret, to.clone());
                    }
                    migrated.moved(from.clone(), to.clone());
                }
                let message = self.turned_message(variable, places);
                migrated.decide(from, DecisionKind::Turned, message);
            } else {
                migrated.moved(from.clone(), field_path(ENV).index(kept));
                kept += 1;
                let why = self.stays.get(&variable.index).map_or("", String::as_str);
                let message =
                    format!("{} stays in spec.workload.overrides.env: {why}", variable.name);
                migrated.decide(from, DecisionKind::Left, message);
            }
        }
        if !reached.is_empty() {
            let message = format!(
                "the operator now generates config.yaml, from that of {}, where the image's own was \
                 used: the pods are replaced once",
                self.base.title
            );
            migrated.decide(source, DecisionKind::Turned, message);
            remove_variables(&mut migrated.object, |index| reached.contains_key(&index));
        }
    }

    fn turned_message(&self, variable: &EnvEntry<'_>, places: &[(FieldPath, bool)]) -> String {
        let to: Vec<String> = places.iter().map(|(path, _)| path.to_string()).collect();
        let title = &self.base.title;
        let effect = if real_name(variable.name) != variable.name {
            format!("; {title} does not read the variable, so the key takes effect now")
        } else if self.places.contains_key(variable.name) {
            String::new()
        } else {
            format!(
                "; {title} does not read the variable, so the model is registered now, and its \
                 provider must serve it"
            )
        };
        format!("{} → {}{effect}", variable.name, to.join(", "))
    }
}

fn is_variable(step: &Move) -> bool {
    let env = field_path(SOURCE_ENV);
    let length = env.segments().len();
    let segments = step.from.segments();
    segments.len() == length + 1
        && segments.starts_with(env.segments())
        && matches!(segments[length], Segment::Index(_))
}

fn remove_variables(object: &mut Value, gone: impl Fn(usize) -> bool) {
    if let Some(Value::Array(env)) = object.pointer_mut(ENV) {
        let mut index = 0;
        env.retain(|_| {
            index += 1;
            !gone(index - 1)
        });
    }
    for (holder, key) in [
        ("/spec/workload/overrides", "env"),
        ("/spec/workload", "overrides"),
        ("/spec", "workload"),
    ] {
        if let Some(Value::Object(holder)) = object.pointer_mut(holder)
            && matches!(holder.get(key), Some(Value::Array(list)) if list.is_empty())
                | matches!(holder.get(key), Some(Value::Object(map)) if map.is_empty())
        {
            holder.shift_remove(key);
        }
    }
}

/// The result in the making: where each variable has arrived.
struct Turning<'m> {
    migrated: &'m mut Migrated,
    /// By the variable's index: the new places, and whether the value is there as it was.
    reached: BTreeMap<usize, Vec<(FieldPath, bool)>>,
}

impl Turning<'_> {
    fn reach(&mut self, variable: &EnvEntry<'_>, to: FieldPath, same: bool) {
        self.reached.entry(variable.index).or_default().push((to, same));
    }

    fn register(&mut self, kind: &str, entries: Vec<Value>) {
        if !entries.is_empty() {
            let spec = &mut self.migrated.object["spec"];
            if !spec["resources"].is_object() {
                spec["resources"] = json!({});
            }
            spec["resources"][kind] = Value::Array(entries);
        }
    }
}
