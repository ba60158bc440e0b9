//! The operator's figures for Prometheus. Every label has few values that are known beforehand; no
//! name of a resource, a namespace or a host is ever one.

use std::fs;
use std::sync::Arc;

use llsd_api::v1alpha2::Phase;
use llsd_install::config::ConfigKey;
use llsd_plan::problem::Reason;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::Registry;

use super::results::{Call, Generation, Held, Look, Lookup, PHASES, Reconcile, phase_name};

/// What [`Metrics::text`] is, for the answer's header.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Labels<const N: usize> = [(&'static str, String); N];
type Counters<const N: usize> = Family<Labels<N>, Counter>;

/// All figures; clones count into the same ones.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Registry>,
    reconciles: Counters<1>,
    reconcile_duration: Histogram,
    queue_length: Gauge,
    in_flight: Gauge,
    api_requests: Counters<2>,
    registry_lookups: Counters<1>,
    config_generations: Counters<1>,
    broken_configuration: Family<Labels<1>, Gauge>,
    leader: Gauge,
    resources: Family<Labels<1>, Gauge>,
    held: Family<Labels<1>, Gauge>,
    watches_out_of_sync: Family<Labels<1>, Gauge>,
    kinds_served: Family<Labels<1>, Gauge>,
    problems: Counters<1>,
    webhook_calls: Counters<2>,
    webhook_lookups: Counters<1>,
    webhook_duration: Histogram,
    resident_memory: Gauge,
}

impl Metrics {
    pub fn new(version: &str) -> Self {
        let mut metrics = Self {
            registry: Arc::default(),
            reconciles: Family::default(),
            // From 5 ms, which a resource in order takes, to 40 s, where a reconcile is given up.
            reconcile_duration: Histogram::new(exponential_buckets(0.005, 2.0, 14)),
            queue_length: Gauge::default(),
            in_flight: Gauge::default(),
            api_requests: Family::default(),
            registry_lookups: Family::default(),
            config_generations: Family::default(),
            broken_configuration: Family::default(),
            leader: Gauge::default(),
            resources: Family::default(),
            held: Family::default(),
            watches_out_of_sync: Family::default(),
            kinds_served: Family::default(),
            problems: Family::default(),
            webhook_calls: Family::default(),
            webhook_lookups: Family::default(),
            // From 0.5 ms, which one object takes, to 16 s, where the API server soon gives up.
            webhook_duration: Histogram::new(exponential_buckets(0.0005, 2.0, 16)),
            resident_memory: Gauge::default(),
        };
        metrics.registry = Arc::new(metrics.registered(version));
        metrics.show_zeros();
        metrics
    }

    fn registered(&self, version: &str) -> Registry {
        let mut all = Registry::default();
        let build = Info::new([("version", version.to_owned())]);
        all.register("llsd_build", "The operator that runs", build);
        all.register("llsd_reconciles", "Resources looked at, by result", self.reconciles.clone());
        let duration = self.reconcile_duration.clone();
        all.register("llsd_reconcile_duration_seconds", "Time one look took", duration);
        let queue = self.queue_length.clone();
        all.register("llsd_queue_length", "Resources waiting to be looked at", queue);
        let in_flight = self.in_flight.clone();
        all.register("llsd_reconciles_in_flight", "Resources being looked at", in_flight);
        let requests = self.api_requests.clone();
        all.register("llsd_api_requests", "Requests to the API server", requests);
        let lookups = self.registry_lookups.clone();
        all.register("llsd_registry_lookups", "Configurations asked of registries", lookups);
        let generations = self.config_generations.clone();
        all.register("llsd_config_generations", "Server configurations generated", generations);
        let broken = self.broken_configuration.clone();
        all.register(
            "llsd_broken_configuration",
            "1 for keys of the operator's ConfigMap that are broken",
            broken,
        );
        all.register("llsd_leader", "1 while this replica leads", self.leader.clone());
        all.register("llsd_resources", "Resources by phase", self.resources.clone());
        let held = self.held.clone();
        all.register("llsd_held", "Servers that run otherwise than is planned, by cause", held);
        let watches = self.watches_out_of_sync.clone();
        all.register("llsd_watches_out_of_sync", "Watches that do not show what is there", watches);
        let kinds = self.kinds_served.clone();
        all.register("llsd_kinds_served", "1 for a kind that the cluster serves", kinds);
        let problems = self.problems.clone();
        all.register("llsd_problems", "Mistakes found in resources, by reason", problems);
        let calls = self.webhook_calls.clone();
        all.register("llsd_webhook_calls", "Calls of the webhooks, by path and result", calls);
        let looks = self.webhook_lookups.clone();
        all.register("llsd_webhook_lookups", "Looks for what resources refer to", looks);
        let duration = self.webhook_duration.clone();
        all.register("llsd_webhook_duration_seconds", "Time one call took", duration);
        let memory = self.resident_memory.clone();
        all.register("process_resident_memory_bytes", "Memory in use", memory);
        all
    }

    /// A rate is known only of a counter that was there before its first event.
    fn show_zeros(&self) {
        for &result in Reconcile::ALL {
            let _ = self.reconciles.get_or_create(&label("result", result.name()));
        }
        for &result in Lookup::ALL {
            let _ = self.registry_lookups.get_or_create(&label("result", result.name()));
        }
        for &result in Generation::ALL {
            let _ = self.config_generations.get_or_create(&label("result", result.name()));
        }
        self.broken_configuration(&[]);
        for path in ["convert", "validate", "validate-configuration"] {
            for &result in Call::ALL {
                let _ = self.webhook_calls.get_or_create(&call_labels(path, result));
            }
        }
        for &result in Look::ALL {
            let _ = self.webhook_lookups.get_or_create(&label("result", result.name()));
        }
        self.resources([]);
        self.held(&[]);
    }

    /// One look at one resource, and how long it took.
    pub fn reconciled(&self, result: Reconcile, seconds: f64) {
        self.reconciles.get_or_create(&label("result", result.name())).inc();
        self.reconcile_duration.observe(seconds);
    }

    /// Counts a reconcile as in flight until what is returned is dropped.
    #[must_use = "dropped at once, it counts nothing"]
    pub fn in_flight(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    pub fn queue_length(&self, length: usize) {
        self.queue_length.set(saturated(length));
    }

    /// `code` is the HTTP status; `None` if there was no answer.
    pub fn api_request(&self, verb: &'static str, code: Option<u16>) {
        let code = code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        self.api_requests.get_or_create(&[("verb", verb.to_owned()), ("code", code)]).inc();
    }

    pub fn registry_lookup(&self, result: Lookup) {
        self.registry_lookups.get_or_create(&label("result", result.name())).inc();
    }

    pub fn config_generation(&self, result: Generation) {
        self.config_generations.get_or_create(&label("result", result.name())).inc();
    }

    /// The keys of the operator's ConfigMap whose values are broken, by their names; no others are.
    pub fn broken_configuration(&self, broken: &[&str]) {
        for key in ConfigKey::ALL.map(ConfigKey::name) {
            let figure = self.broken_configuration.get_or_create(&label("key", key));
            figure.set(i64::from(broken.contains(&key)));
        }
    }

    pub fn leading(&self, leads: bool) {
        self.leader.set(i64::from(leads));
        if !leads {
            // What a former leader has seen counts no more: another one counts the same.
            self.resources([]);
            self.held(&[]);
            self.queue_length(0);
            self.watches_out_of_sync.clear();
            self.kinds_served.clear();
        }
    }

    /// How many resources are in each phase; those not named are none.
    pub fn resources(&self, counts: impl IntoIterator<Item = (Phase, usize)>) {
        let counts: Vec<_> = counts.into_iter().collect();
        for phase in PHASES {
            let count = counts.iter().filter(|(named, _)| *named == phase).map(|(_, n)| n).sum();
            let phase = label("phase", phase_name(phase));
            self.resources.get_or_create(&phase).set(saturated(count));
        }
    }

    /// The servers that run otherwise than is planned, each by its cause.
    pub fn held(&self, held: &[Held]) {
        for &cause in Held::ALL {
            let count = held.iter().filter(|held| **held == cause).count();
            self.held.get_or_create(&label("cause", cause.name())).set(saturated(count));
        }
    }

    /// How many watches of a kind do not show what is there.
    pub fn watches_out_of_sync(&self, resource: &'static str, count: usize) {
        let resource = label("resource", resource);
        self.watches_out_of_sync.get_or_create(&resource).set(saturated(count));
    }

    /// Whether the cluster serves a kind that it may lack.
    pub fn kind_served(&self, resource: &'static str, is_served: bool) {
        let resource = label("resource", resource);
        self.kinds_served.get_or_create(&resource).set(i64::from(is_served));
    }

    pub fn problem(&self, reason: Reason) {
        // The name of the variant is also the reason that conditions and events show.
        self.problems.get_or_create(&label("reason", &format!("{reason:?}"))).inc();
    }

    /// One call of a webhook, and how long it took.
    pub fn webhook_call(&self, path: &'static str, result: Call, seconds: f64) {
        self.webhook_calls.get_or_create(&call_labels(path, result)).inc();
        self.webhook_duration.observe(seconds);
    }

    /// One call of admission that could look at the cluster.
    pub fn webhook_lookup(&self, result: Look) {
        self.webhook_lookups.get_or_create(&label("result", result.name())).inc();
    }

    /// All figures of this moment, in the text format of OpenMetrics.
    pub fn text(&self) -> String {
        self.resident_memory.set(resident_memory().unwrap_or(0));
        let mut text = String::new();
        encode(&mut text, &self.registry).expect("a string takes all that is written to it");
        text
    }
}

/// One reconcile that goes on.
#[derive(Debug)]
pub struct InFlight(Gauge);

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

fn label(name: &'static str, value: &str) -> Labels<1> {
    [(name, value.to_owned())]
}

fn call_labels(path: &str, result: Call) -> Labels<2> {
    [("path", path.to_owned()), ("result", result.name().to_owned())]
}

fn saturated(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}

/// In bytes. `None` where there is no /proc.
fn resident_memory() -> Option<i64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kilobytes: i64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kilobytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn has(text: &str, line: &str) {
        assert!(text.lines().any(|found| found == line), "no {line:?} in:\n{text}");
    }

    #[test]
    fn what_was_told_is_shown() {
        let metrics = Metrics::new("1.2.3");
        metrics.reconciled(Reconcile::Planned, 0.004);
        metrics.reconciled(Reconcile::Planned, 3.0);
        metrics.reconciled(Reconcile::Refused, 0.1);
        metrics.queue_length(7);
        metrics.api_request("patch", Some(409));
        metrics.api_request("get", None);
        metrics.registry_lookup(Lookup::Cached);
        metrics.config_generation(Generation::Failed);
        metrics.broken_configuration(&["image-overrides"]);
        metrics.leading(true);
        metrics.resources([(Phase::Ready, 3), (Phase::Failed, 1)]);
        metrics.problem(Reason::SecretNotFound);
        let text = metrics.text();
        for line in [
            "llsd_build_info{version=\"1.2.3\"} 1",
            "llsd_reconciles_total{result=\"planned\"} 2",
            "llsd_reconciles_total{result=\"refused\"} 1",
            "llsd_reconcile_duration_seconds_count 3",
            "llsd_reconcile_duration_seconds_bucket{le=\"0.005\"} 1",
            "llsd_queue_length 7",
            "llsd_api_requests_total{verb=\"patch\",code=\"409\"} 1",
            "llsd_api_requests_total{verb=\"get\",code=\"none\"} 1",
            "llsd_registry_lookups_total{result=\"cached\"} 1",
            "llsd_config_generations_total{result=\"failed\"} 1",
            "llsd_broken_configuration{key=\"image-overrides\"} 1",
            "llsd_broken_configuration{key=\"registries\"} 0",
            "llsd_leader 1",
            "llsd_resources{phase=\"Ready\"} 3",
            "llsd_resources{phase=\"Failed\"} 1",
            "llsd_problems_total{reason=\"SecretNotFound\"} 1",
            "# EOF",
        ] {
            has(&text, line);
        }
    }

    #[test]
    fn what_has_not_happened_yet_is_shown_as_zero() {
        let text = Metrics::new("0").text();
        has(&text, "llsd_reconciles_total{result=\"bug\"} 0");
        has(&text, "llsd_reconciles_total{result=\"deleted\"} 0");
        has(&text, "llsd_resources{phase=\"Terminating\"} 0");
        has(&text, "llsd_leader 0");
    }

    #[test]
    fn resources_that_left_a_phase_are_counted_there_no_more() {
        let metrics = Metrics::new("0");
        metrics.resources([(Phase::Pending, 2)]);
        metrics.resources([(Phase::Ready, 2)]);
        has(&metrics.text(), "llsd_resources{phase=\"Pending\"} 0");
    }

    #[test]
    fn a_former_leader_counts_no_resources() {
        let metrics = Metrics::new("0");
        metrics.leading(true);
        metrics.resources([(Phase::Ready, 2)]);
        metrics.queue_length(3);
        metrics.watches_out_of_sync("httproutes", 1);
        metrics.leading(false);
        let text = metrics.text();
        has(&text, "llsd_resources{phase=\"Ready\"} 0");
        has(&text, "llsd_queue_length 0");
        assert!(!text.contains("llsd_watches_out_of_sync{"), "{text}");
    }

    #[test]
    fn a_reconcile_is_in_flight_until_it_ends_however_it_ends() {
        let metrics = Metrics::new("0");
        let one = metrics.in_flight();
        let two = metrics.clone().in_flight();
        has(&metrics.text(), "llsd_reconciles_in_flight 2");
        drop((one, two));
        has(&metrics.text(), "llsd_reconciles_in_flight 0");
    }

    #[test]
    fn memory_is_read_when_it_is_asked_for() {
        let text = Metrics::new("0").text();
        let memory = text.lines().find_map(|l| l.strip_prefix("process_resident_memory_bytes "));
        assert!(memory.unwrap().parse::<u64>().unwrap() > 1 << 20);
    }
}
