//! The choice: which variables of a resource become fields.
//!
//! A variable is turned only as a whole: every place of the distribution's configuration that reads
//! it must have a field that says the same. One that stays may keep others from being turned, so
//! the choice is narrowed down until it stands.

use std::collections::BTreeMap;

use super::providers;
use super::resources::{self, Custom};
use super::uses::{BaseConfiguration, VariableUse};
use super::variables::{EnvEntry, Given};
use crate::server::substitution::references;

/// Variables that are taken for others, which the configuration reads.
const ALIASES: [(&str, &str); 1] = [("VLLM_API_KEY", "VLLM_API_TOKEN")];

/// The name by which the configuration reads a variable.
pub(super) fn real_name(name: &str) -> &str {
    ALIASES.iter().find(|(alias, _)| *alias == name).map_or(name, |(_, real)| real)
}

/// What becomes of each variable.
pub(super) struct Choice<'a> {
    pub(super) base: &'a BaseConfiguration<'a>,
    pub(super) variables: &'a [EnvEntry<'a>],
    pub(super) places: BTreeMap<&'a str, Vec<VariableUse>>,
    /// Those that are turned, by name.
    pub(super) turned: BTreeMap<&'a str, Given<'a>>,
    /// Why the others stay, by index.
    pub(super) stays: BTreeMap<usize, String>,
}

impl<'a> Choice<'a> {
    pub(super) fn new(base: &'a BaseConfiguration<'a>, variables: &'a [EnvEntry<'a>]) -> Self {
        let mut places = base.places();
        for (alias, real) in ALIASES {
            if !places.contains_key(alias)
                && !variables.iter().any(|variable| variable.name == real)
                && let Some(of_real) = places.get(real).cloned()
            {
                places.insert(alias, of_real);
            }
        }
        let mut choice =
            Self { base, variables, places, turned: BTreeMap::new(), stays: BTreeMap::new() };
        for variable in variables {
            match variable.given {
                Err(why) => choice.stay(variable, why),
                Ok(_) if !choice.places.contains_key(variable.name) => {
                    let why = format!("the configuration of {} does not read it", base.title);
                    choice.stay(variable, why);
                }
                Ok(given) => {
                    choice.turned.insert(variable.name, given);
                }
            }
        }
        choice.narrow();
        choice.customs();
        choice
    }

    fn stay(&mut self, variable: &EnvEntry<'a>, why: impl Into<String>) {
        self.turned.remove(variable.name);
        self.stays.insert(variable.index, why.into());
    }

    /// Takes out variables until all that remain can be said in fields.
    fn narrow(&mut self) {
        loop {
            let refused = self.variables.iter().find_map(|variable| {
                let given = *self.turned.get(variable.name)?;
                let places = self.places.get(variable.name)?;
                let why =
                    places.iter().find_map(|place| self.expressed(places, place, given).err());
                why.map(|why| (variable, why))
            });
            let Some((variable, why)) = refused else { return };
            self.stay(variable, why);
        }
    }

    /// Whether a field can say what the variable says at one of its places.
    fn expressed(
        &self,
        all: &[VariableUse],
        place: &VariableUse,
        given: Given<'_>,
    ) -> Result<(), String> {
        let text = |what: &str| match given {
            Given::Text(_) => Ok(()),
            Given::Secret { .. } => Err(format!("{what} cannot be taken from a Secret")),
        };
        match place {
            VariableUse::Switch(provider) => {
                let read = |place: &VariableUse| matches!(place, VariableUse::Config(own, _) if own == provider);
                if all.iter().any(read) { Ok(()) } else { text("what only switches a provider on") }
            }
            VariableUse::Config(provider, key) => {
                let provider = &self.base.providers[*provider];
                self.active(provider.switch.as_deref(), &provider.id)?;
                providers::field(self.base, provider, key, given).map(|_| ())
            }
            VariableUse::Model(index) => {
                let id = resources::provider_of_model(self.base, *index)?;
                let provider = self
                    .base
                    .providers
                    .iter()
                    .find(|provider| provider.api == "inference" && provider.id == id);
                let switch = provider.and_then(|provider| provider.switch.as_deref());
                if switch.is_some_and(|switch| !self.is_set(switch)) {
                    return Err(off(switch, &id));
                }
                text("a model's name")
            }
            VariableUse::ModelProvider(index) => {
                let model = &self.base.registered("models")[*index]["model_id"];
                let mut names = references(model.as_str().unwrap_or_default());
                match names.find(|name| self.is_set(name.variable)) {
                    Some(name) if !self.turned.contains_key(name.variable) => Err(format!(
                        "the model of {}, which stays a variable, needs it too",
                        name.variable
                    )),
                    _ => Ok(()),
                }
            }
            VariableUse::Shield(index) => {
                text("a shield's model")?;
                resources::shield(self.base, *index, "").map(|_| ())?;
                self.default_shield()
            }
            VariableUse::DefaultShield if resources::shield_index(all).is_some() => Ok(()),
            VariableUse::DefaultShield => Err("it chooses the default shield".to_owned()),
            VariableUse::Elsewhere(path) => Err(elsewhere(path)),
        }
    }

    /// The first shield of a resource becomes the default one, so the base's must be among them.
    fn default_shield(&self) -> Result<(), String> {
        let chosen =
            self.places.iter().find(|(_, places)| places.contains(&VariableUse::DefaultShield));
        match chosen {
            Some((variable, _)) if !self.turned.contains_key(variable) => Err(format!(
                "without {variable} beside it, its shield would become the default one"
            )),
            None if self.base.has_default_shield() => {
                Err("its shield would become the default one".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn is_set(&self, name: &str) -> bool {
        self.variables.iter().any(|variable| variable.name == name && variable.set)
    }

    fn active(&self, switch: Option<&str>, id: &str) -> Result<(), String> {
        match switch {
            None => Ok(()),
            Some(name) if self.turned.contains_key(name) => Ok(()),
            Some(name) if self.is_set(name) => {
                Err(format!("{name} stays, and it switches the provider `{id}` on"))
            }
            switch => Err(off(switch, id)),
        }
    }

    /// The providers that are declared, in the order of the configuration.
    pub(super) fn declared(&self) -> Vec<usize> {
        let of = |index: usize| {
            move |place: &VariableUse| match place {
                VariableUse::Switch(own) | VariableUse::Config(own, _) => *own == index,
                _ => false,
            }
        };
        (0..self.base.providers.len())
            .filter(|index| {
                let mut read = self.turned.keys().filter_map(|name| self.places.get(name));
                read.any(|places| places.iter().any(of(*index)))
            })
            .collect()
    }

    /// The ids of those of them that serve models.
    pub(super) fn inference(&self) -> Vec<&'a str> {
        let providers = self.declared().into_iter().map(|index| &self.base.providers[index]);
        let inference = providers.filter(|provider| provider.api == "inference");
        inference.map(|provider| provider.id.as_str()).collect()
    }

    /// Variables by custom: a model, where it is clear whose.
    fn customs(&mut self) {
        let declared = self.inference();
        for variable in self.variables {
            let Ok(Given::Text(text)) = variable.given else { continue };
            if self.places.contains_key(variable.name) {
                continue;
            }
            match resources::custom(variable.name, self.base) {
                Some(Custom::ModelOf(id)) if !declared.contains(&id.as_str()) => {
                    self.stays.insert(
                        variable.index,
                        format!("no variable here becomes its provider, `{id}`"),
                    );
                }
                Some(Custom::Model) if declared.len() != 1 => {
                    let why = match declared.len() {
                        0 => "no variable here becomes a provider for it".to_owned(),
                        _ => format!(
                            "it does not say whose model it is: add it to spec.resources.models \
                             with a provider, one of {}",
                            declared.join(", ")
                        ),
                    };
                    self.stays.insert(variable.index, why);
                }
                Some(_) => {
                    self.stays.remove(&variable.index);
                    self.turned.insert(variable.name, Given::Text(text));
                }
                None => {}
            }
        }
    }
}

fn elsewhere(path: &str) -> String {
    let postgres = "spec.storage.sql takes a connection string from a Secret, if you move the \
                    state there";
    if path.starts_with("storage.backends") {
        format!("`{path}` of the configuration reads it, and no field says the same; {postgres}")
    } else {
        format!("`{path}` of the configuration reads it, and no field says the same")
    }
}

fn off(switch: Option<&str>, id: &str) -> String {
    format!("its provider `{id}` is off without {}", switch.unwrap_or_default())
}
