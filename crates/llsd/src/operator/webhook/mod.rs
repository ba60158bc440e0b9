//! What the API server calls: conversion between the versions, and admission. Every replica serves
//! both from its start, whoever leads; nothing here is needed to read or write the stored version.

mod admit;
mod answer;
mod body;
mod callers;
pub mod certificates;
mod connections;
pub mod install;
mod lookups;
mod serve;

use std::collections::BTreeSet;
use std::sync::Arc;

use llsd_plan::releases::Distribution;

use crate::operator::telemetry::Metrics;

pub use callers::{Caller, Callers};
pub use lookups::ClusterLookups;
pub use serve::serve;

/// The names that `distribution.name` may have at this moment.
pub type DistributionNames = Arc<dyn Fn() -> BTreeSet<String> + Send + Sync>;

/// What answering needs. Clones share it.
#[derive(Clone)]
pub struct Webhooks {
    pub metrics: Metrics,
    /// To see whether what a resource refers to exists, for callers that are known; without it there
    /// are no warnings about that.
    pub lookups: Option<ClusterLookups>,
    pub distributions: DistributionNames,
}

impl Webhooks {
    /// With the names that every operator knows, and without asking the cluster.
    pub fn new(metrics: Metrics) -> Self {
        let distributions = Arc::new(|| Distribution::all().keys().cloned().collect());
        Self { metrics, lookups: None, distributions }
    }
}
