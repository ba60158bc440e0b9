//! A resource and the world around it, from which one status after another is told.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use k8s_openapi::jiff::Timestamp;
use llsd_api::v1alpha2::LlamaStackDistributionStatus;
use llsd_plan::facts::Facts;
use llsd_plan::live::DeploymentState;
use llsd_plan::plan::{Plan, Planning, parse_and_plan};
use llsd_plan::problems::Findings;
use llsd_plan::resource::Resource;
use llsd_plan::rollout::{KeepCause, KeptTemplate, Refused, WriteFailure};
use llsd_plan::status::{
    Answers, Applied, Applying, Limitation, ObservedObjects, Pass, ProviderState, ServerAnswer,
    ServerProvider, StatusInputs, StatusUpdate, TagNow, compute,
};
use serde_json::{Value, json};

/// 2026-02-02T12:00:00Z, where every scene begins.
pub const BEGINNING: i64 = 1_770_033_600;

thread_local! {
    static PLANNINGS: RefCell<HashMap<String, Rc<Planning>>> = RefCell::default();
}

#[derive(Clone)]
pub struct Scene {
    pub resource: Value,
    pub facts: Facts,
    /// Nobody can read it, and validation has nothing against it.
    pub unreadable: bool,
    pub applying: Step,
    pub live: ObservedObjects,
    pub server: ServerAnswer,
    pub tag: TagNow,
    pub limitations: Vec<Limitation>,
    /// The inputs that wait while the resource is paused, where that is known.
    pub waiting: Option<Vec<String>>,
    /// Nothing could be decided because of the limitations.
    pub hindered: bool,
    pub operator_version: &'static str,
    pub now: Timestamp,
}

/// What became of the objects.
#[derive(Clone)]
pub enum Step {
    Nothing,
    Applied(Box<Applied>),
    Failed(&'static str, Refused),
}

impl Scene {
    /// A server that runs as its resource asks for.
    pub fn with_spec(spec: Value) -> Self {
        let metadata = json!({ "name": "my-llama", "namespace": "ai", "generation": 3 });
        let mut resource = json!({
            "apiVersion": "llamastack.io/v1alpha2",
            "kind": "LlamaStackDistribution",
            "metadata": metadata,
        });
        resource["spec"] = spec;
        Self {
            resource,
            facts: Facts::default(),
            unreadable: false,
            applying: Step::Applied(Box::default()),
            live: ObservedObjects {
                deployment: Some(running(1)),
                service: true,
                ..ObservedObjects::default()
            },
            server: answering(&[]),
            tag: TagNow::Unmoved,
            limitations: Vec::new(),
            waiting: Some(Vec::new()),
            hindered: false,
            operator_version: "1.2.3",
            now: Timestamp::from_second(BEGINNING).unwrap(),
        }
    }

    /// With one vLLM, one model, and a key in a Secret.
    pub fn vllm() -> Self {
        Self::with_spec(json!({
            "distribution": { "name": "starter" },
            "providers": { "inference": {
                "provider": "vllm",
                "endpoint": "http://vllm:8000",
                "apiKey": { "secretKeyRef": { "name": "vllm", "key": "token" } },
            } },
            "resources": { "models": ["llama"] },
        }))
    }

    /// With nothing that needs a generated file.
    pub fn default_config() -> Self {
        Self::with_spec(json!({ "distribution": { "name": "starter" } }))
    }

    pub fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub fn with_facts(self, facts: Value) -> Self {
        self.with(|scene| scene.facts = serde_json::from_value(facts).unwrap())
    }

    pub fn with_deployment(self, change: impl FnOnce(&mut DeploymentState)) -> Self {
        self.with(|scene| change(scene.live.deployment.as_mut().unwrap()))
    }

    pub fn plan(&self) -> Plan {
        match &*self.planning() {
            Planning::Planned(plan) => plan.as_ref().clone(),
            other => panic!("not planned: {other:?}"),
        }
    }

    /// Many scenes differ in everything but their plan, which is then made once.
    fn planning(&self) -> Rc<Planning> {
        let (metadata, spec) = (&self.resource["metadata"], &self.resource["spec"]);
        let key = format!("{metadata} {spec} {:?}", self.facts);
        let make = || Rc::new(parse_and_plan(&self.resource, &self.facts));
        PLANNINGS.with_borrow_mut(|known| Rc::clone(known.entry(key).or_insert_with(make)))
    }

    pub fn report(&self) -> StatusUpdate {
        let resource = Resource::parse(&self.resource);
        let unreadable = Planning::Refused(Findings::default());
        let planned = self.planning();
        let planning = if self.unreadable { &unreadable } else { &*planned };
        let failure;
        let applying = match &self.applying {
            Step::Nothing => Applying::Nothing,
            Step::Applied(applied) => Applying::Applied(applied),
            Step::Failed(object, refused) => {
                let (object, message) = ((*object).to_owned(), "it cannot be".to_owned());
                failure = WriteFailure { object, message, refused: *refused };
                Applying::Failed(&failure)
            }
        };
        let pass = if resource.deleting {
            Pass::Deleting
        } else if resource.paused {
            Pass::Paused { waiting: self.waiting.as_deref() }
        } else if self.hindered {
            Pass::Hindered
        } else {
            Pass::Reconciled { planning, applying }
        };
        compute(&StatusInputs {
            resource: &resource,
            now: self.now,
            operator_version: self.operator_version,
            distributions: &BTreeMap::from([("starter".into(), "starter:0.7.3".into())]),
            pass,
            live: &self.live,
            server: &self.server,
            tag: &self.tag,
            limitations: &self.limitations,
        })
    }

    pub fn status(&self) -> LlamaStackDistributionStatus {
        self.report().status
    }

    /// The scene a minute later, with the status that it has now.
    pub fn next(mut self) -> Self {
        self.resource["status"] = serde_json::to_value(self.status()).unwrap();
        self.now = Timestamp::from_second(self.now.as_second() + 60).unwrap();
        if let Step::Applied(applied) = &mut self.applying {
            applied.written.clear();
        }
        self
    }

    pub fn condition(&self, name: &str) -> Option<Condition> {
        let conditions = self.status().conditions.unwrap();
        conditions.into_iter().find(|condition| condition.type_ == name)
    }

    /// Status, reason and message of a condition that must be there.
    pub fn said(&self, name: &str) -> (String, String, String) {
        let condition = self.condition(name).unwrap_or_else(|| panic!("no {name}"));
        (condition.status, condition.reason, condition.message)
    }

    /// Status and reason, as `False SecretNotFound`; `-` where the condition is absent.
    pub fn short(&self, name: &str) -> String {
        let condition = self.condition(name);
        condition
            .map_or("-".into(), |condition| format!("{} {}", condition.status, condition.reason))
    }

    pub fn phase(&self) -> String {
        format!("{:?}", self.status().phase.unwrap())
    }

    /// The reasons of the events.
    pub fn events(&self) -> Vec<&'static str> {
        self.report().events.iter().map(|event| event.reason).collect()
    }
}

/// A Deployment whose pods all run.
pub fn running(pods: i32) -> DeploymentState {
    DeploymentState {
        generation: 2,
        observed_generation: 2,
        wanted: pods,
        replicas: pods,
        updated: pods,
        ready: pods,
        available: pods,
        ..DeploymentState::default()
    }
}

/// A server with providers of these APIs and ids.
pub fn answering(providers: &[(&str, &str)]) -> ServerAnswer {
    let told = |(api, id): &(&str, &str)| ServerProvider {
        api: (*api).to_owned(),
        provider_id: (*id).to_owned(),
        provider_type: format!("remote::{id}"),
        health: ProviderState::Ok,
    };
    ServerAnswer::Answered(Answers {
        health: Ok(()),
        version: Some("0.7.3".to_owned()),
        providers: Some(providers.iter().map(told).collect()),
    })
}

/// Facts that hold nothing but the Secret that [`Scene::vllm`] needs, without it.
pub fn without_the_secret() -> Value {
    json!({ "secrets": { "vllm": { "missing": true } } })
}

/// A registry that does not answer, for an image of the user's own.
pub fn unreachable_registry(scene: Scene) -> Scene {
    scene
        .with(|scene| scene.resource["spec"]["distribution"] = json!({ "image": "own/stack:1" }))
        .with_facts(json!({ "complete": true, "image": { "unavailable": "connection refused" },
            "secrets": { "vllm": { "keys": { "token": {} } } } }))
}

/// A Deployment that keeps its template, while this waits.
pub fn keeping(cause: KeepCause, waiting: &[&str]) -> Step {
    let waiting = waiting.iter().map(|place| (*place).to_owned()).collect();
    let kept = Some(KeptTemplate { cause, waiting, needs: BTreeSet::new() });
    Step::Applied(Box::new(Applied { kept, ..Applied::default() }))
}
