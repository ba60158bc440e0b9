//! All objects of one resource, each in its place.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::autoscaling::v2::HorizontalPodAutoscaler;
use k8s_openapi::api::core::v1::{
    ConfigMap, PersistentVolumeClaim, Secret, Service, ServiceAccount,
};
use k8s_openapi::api::networking::v1::{Ingress, NetworkPolicy};
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde::Serialize;
use serde_json::Value;

use super::blueprint::Blueprint;
use super::{
    autoscaler, ca_bundle, config_map, deployment, disruption_budget, exposure, network_policy,
    service, service_account, storage_secret, volume_claim,
};
use crate::problem::Findings;

/// Everything that the operator owns for one resource.
#[derive(Clone, Debug, PartialEq)]
pub struct Objects {
    pub service_account: Option<ServiceAccount>,
    pub volume_claim: Option<PersistentVolumeClaim>,
    pub storage_secret: Option<Secret>,
    pub ca_bundle: Option<ConfigMap>,
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
}

/// Plans every object. With problems among the findings nothing may be applied.
pub fn objects(blueprint: &Blueprint) -> (Objects, Findings) {
    let mut findings = Findings::default();
    exposure::check(blueprint, &mut findings);
    let objects = Objects {
        service_account: service_account::service_account(blueprint),
        volume_claim: volume_claim::volume_claim(blueprint, &mut findings),
        storage_secret: storage_secret::storage_secret(blueprint),
        ca_bundle: ca_bundle::ca_bundle(blueprint),
        config_map: config_map::config_map(blueprint, &mut findings),
        network_policy: network_policy::network_policy(blueprint, &mut findings),
        service: service::service(blueprint, &mut findings),
        deployment: deployment::deployment(blueprint, &mut findings),
        disruption_budget: disruption_budget::disruption_budget(blueprint, &mut findings),
        autoscaler: autoscaler::autoscaler(blueprint, &mut findings),
        ingress: exposure::ingress(blueprint),
        http_route: exposure::http_route(blueprint),
        route: exposure::route(blueprint),
    };
    (objects, findings)
}

impl Objects {
    /// Whether the server is reached from outside.
    pub fn is_exposed(&self) -> bool {
        self.ingress.is_some() || self.http_route.is_some() || self.route.is_some()
    }

    /// The objects as they are applied, in the order in which they are applied: what the pods
    /// need before the Deployment, and what points at the Deployment after it.
    pub fn in_order(&self) -> Vec<Value> {
        // Without `..`: a kind that is added cannot be forgotten here.
        let Self {
            service_account,
            volume_claim,
            storage_secret,
            ca_bundle,
            config_map,
            network_policy,
            service,
            deployment,
            disruption_budget,
            autoscaler,
            ingress,
            http_route,
            route,
        } = self;
        [
            service_account.as_ref().map(written),
            volume_claim.as_ref().map(written),
            storage_secret.as_ref().map(written),
            ca_bundle.as_ref().map(written),
            config_map.as_ref().map(written),
            network_policy.as_ref().map(written),
            Some(written(service)),
            Some(written(deployment)),
            disruption_budget.as_ref().map(written),
            autoscaler.as_ref().map(written),
            ingress.as_ref().map(written),
            http_route.clone(),
            route.clone(),
        ]
        .into_iter()
        .flatten()
        .collect()
    }
}

fn written(object: &impl Serialize) -> Value {
    serde_json::to_value(object).expect("objects of Kubernetes have string keys only")
}
