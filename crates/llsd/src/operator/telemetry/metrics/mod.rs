//! The operator's figures for Prometheus. Every label has few values that are known beforehand; no
//! name of a resource, a namespace or a host is ever one.

mod certificates;
mod conditions;
mod registered;

use std::fs;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use llsd_api::v1alpha2::Phase;
use llsd_plan::problems::Reason;
use llsd_plan::rollout::wave::WaveProgress;
use llsd_settings::ConfigKey;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use super::results::{
    Call, Condition, Generation, HeldChange, HostClass, Look, Lookup, PHASES, PreflightOutcome,
    Reconcile, Returned,
};
use certificates::Certificates;
use conditions::Conditions;

pub use certificates::Certificate;

/// What [`Metrics::text`] is, for the answer's header.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

type Labels<const N: usize> = [(&'static str, String); N];
type Counters<const N: usize> = Family<Labels<N>, Counter>;
type Gauges<const N: usize> = Family<Labels<N>, Gauge>;

const WEBHOOKS: [&str; 3] = ["convert", "validate", "validate-configuration"];

/// All figures; clones count into the same ones.
#[derive(Clone, Debug)]
pub struct Metrics {
    registry: Arc<Registry>,
    reconciles: Counters<1>,
    reconcile_duration: Histogram,
    queue_length: Gauge,
    oldest_change: Gauge<f64, AtomicU64>,
    in_flight: Gauge,
    api_requests: Counters<2>,
    registry_lookups: Counters<2>,
    config_generations: Counters<1>,
    broken_configuration: Gauges<1>,
    leader: Gauge,
    resources: Gauges<1>,
    conditions: Conditions,
    held: Gauges<1>,
    shared_changes: Gauges<1>,
    preflights: Counters<1>,
    rollbacks: Counters<1>,
    watches_out_of_sync: Gauges<1>,
    kinds_served: Gauges<1>,
    problems: Counters<1>,
    webhook_calls: Counters<2>,
    webhook_lookups: Counters<1>,
    webhook_duration: Family<Labels<1>, Histogram, fn() -> Histogram>,
    certificates: Certificates,
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
            oldest_change: Gauge::default(),
            in_flight: Gauge::default(),
            api_requests: Family::default(),
            registry_lookups: Family::default(),
            config_generations: Family::default(),
            broken_configuration: Family::default(),
            leader: Gauge::default(),
            resources: Family::default(),
            conditions: Conditions::default(),
            held: Family::default(),
            shared_changes: Family::default(),
            preflights: Family::default(),
            rollbacks: Family::default(),
            watches_out_of_sync: Family::default(),
            kinds_served: Family::default(),
            problems: Family::default(),
            webhook_calls: Family::default(),
            webhook_lookups: Family::default(),
            // From 0.5 ms, which one object takes, to 16 s, where the API server soon gives up.
            webhook_duration: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(0.0005, 2.0, 16))
            }),
            certificates: Certificates::default(),
            resident_memory: Gauge::default(),
        };
        metrics.registry = Arc::new(metrics.registered(version));
        metrics.show_zeros();
        metrics
    }

    /// A rate is known only of a counter that was there before its first event.
    fn show_zeros(&self) {
        for &result in Reconcile::ALL {
            let _ = self.reconciles.get_or_create(&label("result", result.name()));
        }
        for &result in Lookup::ALL {
            for &class in HostClass::ALL {
                let _ = self.registry_lookups.get_or_create(&lookup_labels(result, class));
            }
        }
        for &result in PreflightOutcome::ALL {
            let _ = self.preflights.get_or_create(&label("result", result.name()));
        }
        for &cause in Returned::ALL {
            let _ = self.rollbacks.get_or_create(&label("cause", cause.name()));
        }
        for &result in Generation::ALL {
            let _ = self.config_generations.get_or_create(&label("result", result.name()));
        }
        self.broken_configuration(&[]);
        for path in WEBHOOKS {
            let _ = self.webhook_duration.get_or_create(&label("path", path));
            for &result in Call::ALL {
                let _ = self.webhook_calls.get_or_create(&call_labels(path, result));
            }
        }
        for &result in Look::ALL {
            let _ = self.webhook_lookups.get_or_create(&label("result", result.name()));
        }
        self.resources([]);
        self.held(&[]);
        self.shared_changes(WaveProgress::default());
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

    /// How many resources wait to be looked at, and since when the one has that waits longest.
    pub fn queue(&self, length: usize, oldest: Duration) {
        self.queue_length.set(saturated(length));
        self.oldest_change.set(oldest.as_secs_f64());
    }

    /// `code` is the HTTP status; `None` if there was no answer.
    pub fn api_request(&self, verb: &'static str, code: Option<u16>) {
        let code = code.map_or_else(|| "none".to_owned(), |code| code.to_string());
        self.api_requests.get_or_create(&[("verb", verb.to_owned()), ("code", code)]).inc();
    }

    /// One question about an image to the registry at `host`.
    pub fn registry_lookup(&self, result: Lookup, host: &str) {
        self.registry_lookups
            .get_or_create(&lookup_labels(result, HostClass::classify(host)))
            .inc();
    }

    /// What an image said of a change that it was to run.
    pub fn preflight(&self, result: PreflightOutcome) {
        self.preflights.get_or_create(&label("result", result.name())).inc();
    }

    /// A server went back to an earlier state.
    pub fn rollback(&self, cause: Returned) {
        self.rollbacks.get_or_create(&label("cause", cause.name())).inc();
    }

    /// A certificate that is in use from now on.
    pub fn certificate(&self, which: Certificate, from: i64, until: i64) {
        self.certificates.set(which, from, until);
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
            self.conditions([]);
            self.held(&[]);
            self.shared_changes(WaveProgress::default());
            self.queue(0, Duration::ZERO);
            self.watches_out_of_sync.clear();
            self.kinds_served.clear();
        }
    }

    /// How many resources are in each phase; those not named are none.
    pub fn resources(&self, counts: impl IntoIterator<Item = (Phase, usize)>) {
        let counts: Vec<_> = counts.into_iter().collect();
        for phase in PHASES {
            let count = counts.iter().filter(|(named, _)| *named == phase).map(|(_, n)| n).sum();
            let phase = label("phase", &format!("{phase:?}"));
            self.resources.get_or_create(&phase).set(saturated(count));
        }
    }

    /// The conditions of all resources.
    pub fn conditions(&self, all: impl IntoIterator<Item = Condition>) {
        self.conditions.set(all);
    }

    /// The servers that run otherwise than is planned, each by its cause.
    pub fn held(&self, held: &[HeldChange]) {
        for &cause in HeldChange::ALL {
            let count = held.iter().filter(|held| **held == cause).count();
            self.held.get_or_create(&label("cause", cause.name())).set(saturated(count));
        }
    }

    /// How many servers change because of inputs that several share, failed with that, or wait for their turn.
    pub fn shared_changes(&self, progress: WaveProgress) {
        let WaveProgress { changing, failed, waiting } = progress;
        for (state, count) in [("changing", changing), ("failed", failed), ("waiting", waiting)] {
            self.shared_changes.get_or_create(&label("state", state)).set(saturated(count));
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
        self.webhook_duration.get_or_create(&label("path", path)).observe(seconds);
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

fn lookup_labels(result: Lookup, class: HostClass) -> Labels<2> {
    [("result", result.name().to_owned()), ("registry", class.name().to_owned())]
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
mod tests;
