//! Under which names the figures are known, and what is said of each there.

use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Metric, Registry};

use super::Metrics;

impl Metrics {
    pub(super) fn registered(&self, version: &str) -> Registry {
        let mut all = Registry::default();
        let build = Info::new([("version", version.to_owned())]);
        all.register("llsd_build", "The operator that runs", build);
        self.register_work(&mut all);
        self.register_resources(&mut all);
        self.register_surroundings(&mut all);
        self.register_webhooks(&mut all);
        add(&mut all, "process_resident_memory_bytes", "Memory in use", &self.resident_memory);
        all
    }

    /// What the operator does.
    fn register_work(&self, all: &mut Registry) {
        add(all, "llsd_reconciles", "Reconciles, by result", &self.reconciles);
        let took = "Time one look took";
        add(all, "llsd_reconcile_duration_seconds", took, &self.reconcile_duration);
        add(all, "llsd_queue_length", "Resources waiting to be reconciled", &self.queue_length);
        let age = "How long the oldest change has waited to be reconciled";
        add(all, "llsd_oldest_change_age_seconds", age, &self.oldest_change);
        add(all, "llsd_reconciles_in_flight", "Resources being reconciled", &self.in_flight);
        let generated = "Server configurations generated";
        add(all, "llsd_config_generations", generated, &self.config_generations);
        add(all, "llsd_leader", "1 while this replica leads", &self.leader);
    }

    /// What the resources are like.
    fn register_resources(&self, all: &mut Registry) {
        add(all, "llsd_resources", "Resources by phase", &self.resources);
        let conditions = "Resources by condition, its status and its reason";
        add(all, "llsd_conditions", conditions, self.conditions.family());
        let held = "Servers that run otherwise than is planned, by cause";
        add(all, "llsd_held", held, &self.held);
        let shared =
            "Servers that a change of inputs that several servers share concerns, by state";
        add(all, "llsd_shared_change_servers", shared, &self.shared_changes);
        add(all, "llsd_problems", "Mistakes found in resources, by reason", &self.problems);
        let checked = "Preflights of changes, by result";
        add(all, "llsd_preflights", checked, &self.preflights);
        let back = "Returns of servers to an earlier state, by cause";
        add(all, "llsd_rollbacks", back, &self.rollbacks);
    }

    /// What the operator needs of others.
    fn register_surroundings(&self, all: &mut Registry) {
        add(all, "llsd_api_requests", "Requests to the API server", &self.api_requests);
        let lookups = "Images asked about, by result and class of registry";
        add(all, "llsd_registry_lookups", lookups, &self.registry_lookups);
        let broken = "1 for keys of the operator's ConfigMap that are broken";
        add(all, "llsd_broken_configuration", broken, &self.broken_configuration);
        let out = "Watches that do not show what is there";
        add(all, "llsd_watches_out_of_sync", out, &self.watches_out_of_sync);
        let served = "1 for a kind that the cluster serves";
        add(all, "llsd_kinds_served", served, &self.kinds_served);
    }

    fn register_webhooks(&self, all: &mut Registry) {
        let calls = "Calls of the webhooks, by path and result";
        add(all, "llsd_webhook_calls", calls, &self.webhook_calls);
        let took = "Time one call took, by path";
        add(all, "llsd_webhook_duration_seconds", took, &self.webhook_duration);
        let looks = "Looks for what resources refer to";
        add(all, "llsd_webhook_lookups", looks, &self.webhook_lookups);
        let expiry = "When a certificate of the webhooks expires, in seconds since 1970";
        let [until, lifetime] = self.certificates.families();
        add(all, "llsd_certificate_expiry_timestamp_seconds", expiry, until);
        let life = "How long a certificate of the webhooks is valid in all";
        add(all, "llsd_certificate_lifetime_seconds", life, lifetime);
    }
}

fn add<M: Metric + Clone>(all: &mut Registry, name: &str, help: &str, metric: &M) {
    all.register(name, help, metric.clone());
}
