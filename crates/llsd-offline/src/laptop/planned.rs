//! The plan of a resource for one machine: the same planner as a cluster's, over the adapted resource.

use std::collections::{BTreeMap, BTreeSet};

use llsd_api::conversion::{Version, convert};
use llsd_plan::config::{ListedProvider, listed_providers};
use llsd_plan::facts::Facts;
use llsd_plan::plan::parse_and_plan;
use llsd_plan::problems::{FieldPath, Problem, Reason};
use llsd_plan::releases::api_name;
use llsd_plan::validate::validate;
use serde_json::{Value, json};

use super::adapted::{Endpoints, adapt};
use super::packages::Without;
use super::provider_ids::named_providers;
use super::release::InstalledRelease;
use crate::configuration::configuration;
use crate::examined::{Examined, Planned};
use crate::input::Input;
use crate::plans::{Refused, with_a_name};

/// Folders that only a pod has.
const POD_FOLDERS: [&str; 4] =
    ["/etc/llama-stack", "/etc/ssl/certs/ca-bundle", "/opt/llama-stack", "/run/llama-stack"];

/// What the user asks for beside the resource.
#[derive(Debug, Default)]
pub struct Wishes {
    pub endpoints: Endpoints,
    /// The names of the variables that the `.env` file sets.
    pub set: BTreeSet<String>,
    pub without: Without,
}

/// A server of one machine.
#[derive(Debug)]
pub struct Here {
    pub name: String,
    pub config: String,
    /// As the container's `env`.
    pub variables: Vec<Value>,
    pub arguments: Vec<String>,
    /// The generated variables, and the fields that they are for.
    pub fields: BTreeMap<String, String>,
    /// Whether the server turns a variable that looks like a number into one.
    pub coerces: bool,
    pub port: Option<u16>,
    pub release: Option<InstalledRelease>,
    /// Those that are switched on.
    pub providers: Vec<ListedProvider>,
    /// Ids of providers that the resource lists or refers to.
    pub named: BTreeSet<String>,
    /// The names of the variables that the `.env` file sets.
    set: BTreeSet<String>,
    /// The configuration is a file of the user's own.
    pub is_own_file: bool,
    /// Warnings, ready to be printed.
    pub warnings: String,
}

impl Here {
    /// Whether the resource asks for a provider, or the user has switched it on. The others are the base's.
    pub fn is_meant(&self, provider: &ListedProvider) -> bool {
        let is_switched_on =
            || provider.condition.is_some() || !provider.variables.is_disjoint(&self.set);
        self.is_own_file || self.named.contains(&provider.id) || is_switched_on()
    }
}

/// Plans the one resource of the input.
pub fn plan_here(mut input: Input, wishes: &Wishes) -> Result<Here, Refused> {
    let resource = input.resources.pop();
    let facts = input.facts.take();
    let (Some(resource), Some(mut facts)) = (resource, facts) else {
        return Err(refused(&input, &[]));
    };
    facts.image.variables.get_or_insert_default().extend(wishes.set.iter().cloned());
    let mut examined = with_a_name(Examined::new(resource, None));
    if examined.resource.version.is_none() {
        return Err(refused(&input, &[examined]));
    }
    let object = convert(examined.resource.to_json(), Version::V1Alpha2);
    let adapted = adapt(&object, &wishes.endpoints);
    adapted.findings.problems.into_iter().for_each(|problem| examined.refuse(problem));
    adapted.findings.warnings.into_iter().for_each(|warning| examined.warn(warning));
    refuse_replaced(&adapted.object, wishes, &mut examined);
    let planning = parse_and_plan(&adapted.object, &facts);
    examined.planned_as(planning, adapted.object, &facts.image);
    let Some(planned) = examined.planned.take().filter(|_| !input.is_refused(&[])) else {
        return Err(refused(&input, &[examined]));
    };
    let made = match laid_without(planned, &wishes.without, &facts, &mut examined) {
        Some(planned) => here(&planned, &facts, &mut examined),
        None => None,
    };
    let port = object.pointer("/spec/networking/port").and_then(Value::as_u64);
    let report = input.report(std::slice::from_ref(&examined));
    let Some(here) = made.filter(|_| !input.is_refused(std::slice::from_ref(&examined))) else {
        return Err(refused(&input, &[examined]));
    };
    let port = port.and_then(|port| u16::try_from(port).ok());
    Ok(Here { port, set: wishes.set.clone(), warnings: report.findings(), ..here })
}

/// Endpoints of the command line are held to the rules of those in the file.
fn refuse_replaced(object: &Value, wishes: &Wishes, examined: &mut Examined) {
    if wishes.endpoints.is_empty() {
        return;
    }
    for problem in validate(object).problems {
        let mut said = examined.resource.summary.problems.iter();
        if !said.any(|finding| finding.problem.message == problem.message) {
            examined.refuse(problem);
        }
    }
}

/// Something is wrong, or else missing.
fn refused(input: &Input, examined: &[Examined]) -> Refused {
    let report = input.report(examined);
    Refused { unavailable: !input.is_refused(examined), report }
}

/// The plan without these providers of the base. Its warnings are about what was added for that, and are left out.
fn laid_without(
    planned: Planned,
    without: &Without,
    facts: &Facts,
    examined: &mut Examined,
) -> Option<Planned> {
    if without.providers.is_empty() {
        return Some(planned);
    }
    let mut object = planned.object;
    leave_out(&mut object, without);
    let warnings = examined.resource.summary.warnings.clone();
    let planning = parse_and_plan(&object, facts);
    examined.planned_as(planning, object, &facts.image);
    examined.resource.summary.warnings = warnings;
    examined.planned.take()
}

/// As a resource says it: `enabled: false`, and `disabled` for an API that has none left.
fn leave_out(object: &mut Value, without: &Without) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    for left in without.providers.iter().filter(|left| !without.apis.contains(&left.api)) {
        let providers = spec.entry("providers").or_insert_with(|| json!({}));
        let entries = &mut providers[api_name::in_resource(&left.api)];
        let mut list = match entries.take() {
            Value::Array(list) => list,
            Value::Null => Vec::new(),
            one => vec![one],
        };
        list.push(json!({"id": left.id, "enabled": false}));
        *entries = Value::Array(list);
    }
    if !without.apis.is_empty() {
        let disabled = spec.entry("disabled").or_insert_with(|| json!([]));
        if let Some(list) = disabled.as_array_mut() {
            list.extend(without.apis.iter().map(|api| api_name::in_resource(api).into()));
        }
    }
}

fn here(planned: &Planned, facts: &Facts, examined: &mut Examined) -> Option<Here> {
    let configuration = match configuration(planned, facts) {
        Ok(configuration) => configuration,
        Err(missing) => {
            examined.miss(missing);
            return None;
        }
    };
    let config = configuration.text().to_owned();
    if let Some(folder) = POD_FOLDERS.iter().find(|folder| config.contains(**folder)) {
        examined.refuse(of_a_pod(folder));
        return None;
    }
    let plan = &planned.plan;
    let deployment = serde_json::to_value(&plan.objects.deployment).unwrap_or_default();
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let list = |field: &str| container[field].as_array().cloned().unwrap_or_default();
    let words = list("args").into_iter().filter_map(|word| word.as_str().map(str::to_owned));
    let (generated, merged) = (plan.generated.as_ref(), plan.merged.as_ref());
    let bound = generated.map(|it| &it.secrets).or(merged.map(|it| &it.secrets));
    let fields = bound
        .into_iter()
        .flatten()
        .map(|bound| (bound.name.as_str().to_owned(), examined.own_path(&bound.path).to_string()));
    let coerces = generated.map(|it| it.coerces_variables);
    let set = facts.image.variables.clone().unwrap_or_default();
    let variables = list("env");
    let is_set = |name: &String| {
        set.contains(name) || variables.iter().any(|variable| variable["name"] == name.as_str())
    };
    let mut providers = listed_providers(&config);
    providers.retain(|provider| provider.condition.as_ref().is_none_or(is_set));
    Some(Here {
        name: examined.resource.summary.name.clone().unwrap_or_default(),
        arguments: words.collect(),
        fields: fields.collect(),
        coerces: coerces.or(merged.map(|it| it.coerces_variables)).unwrap_or_default(),
        port: None,
        set: BTreeSet::new(),
        release: InstalledRelease::of(plan, facts.image.release.as_deref()),
        named: named_providers(&planned.object),
        is_own_file: planned.object.pointer("/spec/overrideConfig").is_some(),
        warnings: String::new(),
        providers,
        variables,
        config,
    })
}

fn of_a_pod(folder: &str) -> Problem {
    Problem {
        path: FieldPath::spec(),
        reason: Reason::Invalid,
        message: format!("config.yaml names a file below {folder}, which only a pod has"),
        remedy: "run a copy of the file without the field that needs it".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::packages::LeftOut;
    use super::*;
    use crate::source::Source;

    const STACK: &str = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: demo}\n\
        spec:\n  distribution: {name: starter}\n  networking: {port: 9000}\n  providers:\n    inference:\n    \
        - {provider: vllm, endpoint: 'http://vllm:8000', apiKey: {name: s, key: token}}\n  \
        resources: {models: [llama3.2-8b]}\n";

    fn planned(text: &str, wishes: &Wishes) -> Result<Here, Refused> {
        let mut input = Input { facts: Some(Facts::default()), ..Input::default() };
        input.add(&Source::new("stack.yaml", text.as_bytes().to_vec()));
        plan_here(input, wishes)
    }

    fn left(api: &str, id: &str) -> LeftOut {
        LeftOut { api: api.to_owned(), id: id.to_owned(), why: String::new() }
    }

    #[test]
    fn the_plan_says_what_is_installed_and_which_providers_are_meant() {
        let endpoints = [("vllm".to_owned(), "http://localhost:8000".to_owned())].into();
        let here = planned(STACK, &Wishes { endpoints, ..Wishes::default() }).unwrap();
        assert_eq!(here.release.as_ref().unwrap().title, "llama-stack 0.7.3");
        assert_eq!((here.name.as_str(), here.port), ("demo", Some(9000)));
        assert!(here.config.contains("http://localhost:8000/v1"), "{}", here.config);
        assert!(here.is_meant(here.providers.iter().find(|it| it.id == "vllm").unwrap()));
        assert!(!here.is_meant(here.providers.iter().find(|it| it.id == "together").unwrap()));
        assert!(here.providers.iter().all(|it| it.id != "ollama"), "nothing sets OLLAMA_URL");
    }

    #[test]
    fn a_variable_of_the_env_file_switches_a_provider_of_the_base_on() {
        let set = ["OLLAMA_URL", "TOGETHER_API_KEY"].map(str::to_owned).into();
        let wishes = Wishes { set, ..Wishes::default() };
        let here = planned(STACK, &wishes).unwrap();
        let ollama = here.providers.iter().find(|it| it.id == "ollama").unwrap();
        assert!(here.is_meant(ollama));
        assert!(here.is_meant(here.providers.iter().find(|it| it.id == "together").unwrap()));
        assert!(!here.is_meant(here.providers.iter().find(|it| it.id == "anthropic").unwrap()));
    }

    #[test]
    fn providers_of_the_base_are_left_out_with_what_names_them() {
        let without = Without {
            providers: vec![left("inference", "sentence-transformers"), left("eval", "builtin")],
            apis: ["eval".to_owned()].into(),
        };
        let before = planned(STACK, &Wishes::default()).unwrap();
        let here = planned(STACK, &Wishes { without, ..Wishes::default() }).unwrap();
        assert!(before.config.contains("default_embedding_model"));
        for gone in ["sentence-transformers", "default_embedding_model", "- eval"] {
            assert!(!here.config.contains(gone), "{gone}:\n{}", here.config);
        }
        assert!(here.config.contains("provider_id: vllm"));
        assert_eq!(here.warnings, before.warnings);
    }

    #[test]
    fn the_images_own_configuration_is_generated_where_something_of_it_is_left_out() {
        let text = "apiVersion: llamastack.io/v1alpha2\nkind: LlamaStackDistribution\nmetadata: {name: demo}\n\
                    spec: {distribution: {name: starter}}\n";
        let plain = planned(text, &Wishes::default()).unwrap();
        let without = Without {
            providers: vec![left("inference", "sentence-transformers")],
            ..Without::default()
        };
        let here = planned(text, &Wishes { without, ..Wishes::default() }).unwrap();
        assert!(plain.config.contains("sentence-transformers"));
        assert!(!here.config.contains("sentence-transformers"), "{}", here.config);
        assert!(here.release.is_some());
    }

    #[test]
    fn what_is_wrong_is_reported_at_its_line() {
        let text = STACK.replace("provider: vllm", "provider: vllm, endpoint: 3");
        let refused = planned(&text, &Wishes::default()).unwrap_err();
        assert!(!refused.unavailable);
        assert!(refused.report.refusal().starts_with("stack.yaml:"), "{:?}", refused.report);
    }
}
