//! One resource on one base: what the operator plans for it, and the environment that its pod would have.

use std::collections::{BTreeMap, HashMap};
use std::panic::{AssertUnwindSafe, catch_unwind};

use llsd_cases::files::repository;
use llsd_plan::config::wiring::VariableValue;
use llsd_plan::facts::{BaseFacts, BaseSource, ExternalProviderFacts, Facts};
use llsd_plan::plan::{Plan, Planning, parse_and_plan};
use llsd_testkit::{Candidate, Release};
use serde_json::{Value, json};

use crate::base::Base;

/// The image of an external provider that is there in tests.
pub const EXTERNAL_IMAGE: &str = "registry.example.com/custom:v1";

#[derive(Clone, Debug)]
pub struct Trial {
    pub release: Release,
    pub base: Base,
    pub spec: Value,
    pub seed: u64,
}

/// What planning came to.
#[derive(Debug)]
pub enum Outcome {
    Planned(Box<Plan>),
    Refused(Vec<llsd_plan::problems::Problem>),
    /// Nothing is generated, or what is needed is not known here.
    Nothing,
    Panicked(String),
}

/// What else the pod's environment holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Surroundings {
    /// Only what must be there.
    Bare,
    /// The objects of `envFrom` set every variable of the base.
    Everything,
}

impl Trial {
    pub fn resource(&self) -> Value {
        let mut spec = json!({"distribution": {"image": "registry.example.com/server"}});
        if let (Some(spec), Some(own)) = (spec.as_object_mut(), self.spec.as_object()) {
            spec.extend(own.clone());
        }
        json!({
            "apiVersion": "llamastack.io/v1alpha2",
            "kind": "LlamaStackDistribution",
            "metadata": {"name": "my-stack", "namespace": "default"},
            "spec": spec,
        })
    }

    pub fn facts(&self) -> Facts {
        let mut facts = Facts::default();
        facts.image.release = Some(self.release.name().to_owned());
        let text = self.base.text.to_string();
        facts.image.base = Some(BaseFacts { text, source: BaseSource::Labels, found_in: None });
        let external = ExternalProviderFacts {
            api: "inference".to_owned(),
            provider_type: "remote::custom".to_owned(),
            module: "custom_provider".to_owned(),
            ..ExternalProviderFacts::default()
        };
        facts.external_providers.insert(EXTERNAL_IMAGE.to_owned(), external);
        facts
    }

    pub fn plan(&self) -> Outcome {
        let planning = || parse_and_plan(&self.resource(), &self.facts());
        match catch_unwind(AssertUnwindSafe(planning)) {
            Ok(Planning::Planned(plan)) if plan.generated.is_some() => Outcome::Planned(plan),
            Ok(Planning::Planned(_) | Planning::Unavailable { .. }) => Outcome::Nothing,
            Ok(Planning::Refused(findings)) => Outcome::Refused(findings.problems),
            Err(panic) => {
                let text = panic.downcast_ref::<String>().cloned();
                let text = text.or_else(|| panic.downcast_ref::<&str>().map(ToString::to_string));
                Outcome::Panicked(text.unwrap_or_default())
            }
        }
    }

    fn overrides(&self, field: &str) -> &[Value] {
        let found = self.spec.pointer(&format!("/workload/overrides/{field}"));
        found.and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    /// Whether whole objects become variables.
    pub fn has_env_from(&self) -> bool {
        !self.overrides("envFrom").is_empty()
    }

    /// What the pod's environment can be.
    pub fn surroundings(&self) -> &'static [Surroundings] {
        let both = &[Surroundings::Bare, Surroundings::Everything];
        if self.has_env_from() { both } else { &both[..1] }
    }

    /// The variables that the resource sets, and its surroundings.
    pub fn environment(&self, surroundings: Surroundings) -> BTreeMap<String, String> {
        let of_base = self.base.variables.iter();
        let is_there = |required: bool| {
            surroundings == Surroundings::Everything || (required && self.has_env_from())
        };
        let mut all: BTreeMap<String, String> = of_base
            .filter(|(_, variable)| is_there(variable.required))
            .map(|(name, variable)| (name.clone(), variable.fitting.clone()))
            .collect();
        for variable in self.overrides("env") {
            let Some(name) = variable["name"].as_str() else { continue };
            let value = variable["value"].as_str().unwrap_or("a-value").to_owned();
            all.insert(name.to_owned(), value);
        }
        all
    }

    /// A text to be checked in the pod's environment.
    pub fn candidate(&self, text: &str, surroundings: Surroundings) -> Candidate {
        let mut candidate = Candidate::new(format!("seed {}", self.seed), text);
        candidate.env = self.environment(surroundings).into_iter().collect();
        let packages = repository("crates/llsd/tests/servers/external_provider");
        candidate.with_env("PYTHONPATH", packages.to_string_lossy())
    }

    /// The generated file with a value for every variable that the operator sets.
    pub fn planned_candidate(&self, plan: &Plan, surroundings: Surroundings) -> Candidate {
        let text = plan.generated.as_ref().map_or("", |generated| &generated.text);
        let mut candidate = self.candidate(text, surroundings);
        let known: HashMap<&str, &str> = [
            ("LLSD_STORAGE_SQL_PORT", "5432"),
            ("LLSD_STORAGE_SQL_URL", "postgresql://user:password@host:5432/db"),
        ]
        .into();
        for variable in &plan.environment {
            let value = match &variable.value {
                VariableValue::Literal(value) => value.as_str(),
                VariableValue::Secret(_) => {
                    known.get(&*variable.name).copied().unwrap_or("a-value")
                }
            };
            candidate = candidate.with_env(&variable.name, value);
        }
        candidate
    }
}
