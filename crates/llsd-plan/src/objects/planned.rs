//! All objects of one resource, each in its place.

use std::fmt;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{
    ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount,
};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use llsd_api::v1alpha2::LlamaStackDistributionSpec;
use serde::Serialize;
use serde_json::Value;

use super::blueprint::{Blueprint, Owner};
use super::kind::ObjectKind;
use super::start_program::{self, StartProgram};
use super::{
    autoscaler, ca_bundle, config_map, deployment, disruption_budget, exposure, network_policy,
    service, service_account, service_monitor, storage_secret, volume_claim,
};
use crate::facts::Facts;
use crate::problems::{Findings, Problem};
use crate::resource::Resource;

/// Everything that the operator owns for one resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Objects {
    pub service_account: Option<ServiceAccount>,
    pub volume_claim: Option<PersistentVolumeClaim>,
    pub storage_secret: Option<Secret>,
    pub ca_bundle: Option<ConfigMap>,
    /// The programs that start servers, which the resources of a namespace share.
    pub start_program: Option<StartProgram>,
    /// The generated configuration.
    pub config_map: Option<ConfigMap>,
    pub network_policy: Option<NetworkPolicy>,
    pub service: Service,
    pub deployment: Deployment,
    pub disruption_budget: Option<PodDisruptionBudget>,
    pub autoscaler: Option<HorizontalPodAutoscaler>,
    pub ingress: Option<Ingress>,
    pub http_route: Option<Value>,
    pub route: Option<Value>,
    pub service_monitor: Option<Value>,
}

/// Plans every object. With problems among the findings nothing may be applied. `serving` is the same server
/// as it listens now, where that differs: what surrounds the pods follows those that serve.
pub fn objects(blueprint: &Blueprint, serving: Option<&Blueprint>) -> (Objects, Findings) {
    let mut findings = Findings::default();
    let objects = of_one_server(blueprint, &mut findings);
    let Some(serving) = serving else { return (objects, findings) };
    let surroundings = Surroundings::of_server(serving, &mut Findings::default());
    (objects.with(surroundings), findings)
}

/// What leads to the pods.
struct Surroundings {
    network_policy: Option<NetworkPolicy>,
    service: Service,
    ingress: Option<Ingress>,
    http_route: Option<Value>,
    route: Option<Value>,
    service_monitor: Option<Value>,
}

impl Surroundings {
    fn of_server(blueprint: &Blueprint, findings: &mut Findings) -> Self {
        exposure::check(blueprint, findings);
        let withheld = exposure::withheld(blueprint).is_some();
        Self {
            network_policy: network_policy::network_policy(blueprint, findings),
            service: service::service(blueprint, findings),
            ingress: exposure::ingress(blueprint).filter(|_| !withheld),
            http_route: exposure::http_route(blueprint).filter(|_| !withheld),
            route: exposure::route(blueprint).filter(|_| !withheld),
            service_monitor: service_monitor::service_monitor(blueprint, findings),
        }
    }
}

fn of_one_server(blueprint: &Blueprint, findings: &mut Findings) -> Objects {
    let Surroundings { network_policy, service, ingress, http_route, route, service_monitor } =
        Surroundings::of_server(blueprint, findings);
    Objects {
        service_account: service_account::service_account(&blueprint.owner(), blueprint.spec),
        volume_claim: volume_claim::volume_claim(blueprint, findings),
        storage_secret: storage_secret::storage_secret(blueprint),
        ca_bundle: ca_bundle::ca_bundle(blueprint),
        start_program: start_program::start_program(blueprint),
        config_map: config_map::config_map(blueprint, findings),
        network_policy,
        service,
        deployment: deployment::deployment(blueprint, findings),
        disruption_budget: disruption_budget::disruption_budget(blueprint, findings),
        autoscaler: autoscaler::autoscaler(blueprint, findings),
        ingress,
        http_route,
        route,
        service_monitor,
    }
}

/// What the resource asks for and the cluster has no place for now; all else is planned and applied.
pub fn withheld(blueprint: &Blueprint) -> Vec<Problem> {
    exposure::withheld(blueprint).into_iter().collect()
}

/// The account of the pods alone, for when nothing else can be planned yet: a cluster may give it the
/// pull secrets without which the image cannot be read.
pub fn account(resource: &Resource) -> Option<PlannedObject> {
    let owner = Owner::from_resource(resource);
    let account = service_account::service_account(&owner, resource.spec.as_ref()?);
    planned(ObjectKind::ServiceAccount, account.as_ref())
}

/// What leads to the pods alone, for when nothing else can be planned: it says nothing of what runs in them.
pub fn surroundings(
    resource: &Resource,
    spec: &LlamaStackDistributionSpec,
    facts: &Facts,
) -> Vec<PlannedObject> {
    let blueprint = Blueprint::of_surroundings(resource, spec, facts);
    let Surroundings { network_policy, service, ingress, http_route, route, service_monitor } =
        Surroundings::of_server(&blueprint, &mut Findings::default());
    [
        planned(ObjectKind::NetworkPolicy, network_policy.as_ref()),
        planned(ObjectKind::Service, Some(&service)),
        planned(ObjectKind::Ingress, ingress.as_ref()),
        planned(ObjectKind::HttpRoute, http_route.as_ref()),
        planned(ObjectKind::Route, route.as_ref()),
        planned(ObjectKind::ServiceMonitor, service_monitor.as_ref()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

impl Objects {
    fn with(self, surroundings: Surroundings) -> Self {
        let Surroundings { network_policy, service, ingress, http_route, route, service_monitor } =
            surroundings;
        Self { network_policy, service, ingress, http_route, route, service_monitor, ..self }
    }

    /// Whether the server is reached from outside.
    pub fn is_exposed(&self) -> bool {
        self.ingress.is_some() || self.http_route.is_some() || self.route.is_some()
    }

    /// The objects in the order in which they are applied: what the pods need before the Deployment,
    /// and what points at the Deployment after it.
    pub fn in_order(&self) -> Vec<PlannedObject> {
        // Without `..`: a kind that is added cannot be forgotten here.
        let Self {
            service_account,
            volume_claim,
            storage_secret,
            ca_bundle,
            start_program,
            config_map,
            network_policy,
            service,
            deployment,
            disruption_budget,
            autoscaler,
            ingress,
            http_route,
            route,
            service_monitor,
        } = self;
        [
            planned(ObjectKind::ServiceAccount, service_account.as_ref()),
            planned(ObjectKind::VolumeClaim, volume_claim.as_ref()),
            planned(ObjectKind::Secret, storage_secret.as_ref()),
            planned(ObjectKind::ConfigMap, ca_bundle.as_ref()),
            planned(ObjectKind::ConfigMap, start_program.as_ref()),
            planned(ObjectKind::ConfigMap, config_map.as_ref()),
            planned(ObjectKind::NetworkPolicy, network_policy.as_ref()),
            planned(ObjectKind::Service, Some(service)),
            planned(ObjectKind::Deployment, Some(deployment)),
            planned(ObjectKind::DisruptionBudget, disruption_budget.as_ref()),
            planned(ObjectKind::Autoscaler, autoscaler.as_ref()),
            planned(ObjectKind::Ingress, ingress.as_ref()),
            planned(ObjectKind::HttpRoute, http_route.as_ref()),
            planned(ObjectKind::Route, route.as_ref()),
            planned(ObjectKind::ServiceMonitor, service_monitor.as_ref()),
        ]
        .into_iter()
        .flatten()
        .collect()
    }

    /// The same as they are printed.
    pub fn manifests(&self) -> Vec<Value> {
        self.in_order().into_iter().map(|object| object.json).collect()
    }
}

/// One object as it is applied.
#[derive(Clone, Debug, PartialEq)]
pub struct PlannedObject {
    pub kind: ObjectKind,
    pub name: String,
    pub json: Value,
}

impl PlannedObject {
    /// Whether the resources of a namespace share it.
    pub fn is_shared(&self) -> bool {
        self.kind == ObjectKind::ConfigMap && start_program::is_copy(&self.name)
    }
}

/// As status and logs name it: `Deployment my-llama`.
impl fmt::Display for PlannedObject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.kind.name(), self.name)
    }
}

pub(super) fn planned(kind: ObjectKind, object: Option<&impl Serialize>) -> Option<PlannedObject> {
    let json = serde_json::to_value(object?).expect("objects of Kubernetes have string keys only");
    debug_assert_eq!(json["kind"], kind.name(), "the kind of the field and of the object");
    let name = json["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    Some(PlannedObject { kind, name, json })
}
