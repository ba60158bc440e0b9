//! What the API server calls: conversion between the versions, and admission. Every replica serves
//! both from its start, whoever leads; nothing here is needed to read or write the stored version.

mod admit;
mod body;
pub mod certificates;
mod connections;
mod convert;
pub mod install;
pub mod server;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use llsd_plan::releases::Distribution;

use crate::operator::telemetry::Metrics;

pub use server::serve;

/// The names that `distribution.name` may have at this moment.
pub type DistributionNames = Arc<dyn Fn() -> BTreeSet<String> + Send + Sync>;

/// What answering needs. Clones share it.
#[derive(Clone)]
pub struct Webhooks {
    pub metrics: Metrics,
    /// For a look whether what a resource refers to exists; without it nothing is said of that.
    pub client: Option<kube::Client>,
    pub distributions: DistributionNames,
}

impl Webhooks {
    /// With the names that every operator knows, and without a look into the cluster.
    pub fn new(metrics: Metrics) -> Self {
        let distributions = Arc::new(|| Distribution::all().keys().cloned().collect());
        Self { metrics, client: None, distributions }
    }
}

impl fmt::Debug for Webhooks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Webhooks").field("client", &self.client.is_some()).finish_non_exhaustive()
    }
}
