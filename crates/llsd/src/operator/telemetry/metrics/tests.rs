//! What the figures show of what happened.

use llsd_plan::status::{ConditionReason, ConditionType};

use super::super::results::Truth;
use super::*;

fn has(text: &str, line: &str) {
    assert!(text.lines().any(|found| found == line), "no {line:?} in:\n{text}");
}

fn ready(truth: Truth) -> Condition {
    let (kind, reason) = (ConditionType::Ready, ConditionReason::Ready);
    Condition { kind, truth, reason }
}

#[test]
fn conditions_that_no_resource_shows_are_gone() {
    let metrics = Metrics::new("0");
    metrics.conditions([ready(Truth::True), ready(Truth::True), ready(Truth::False)]);
    let labels = |status: &str| {
        format!("llsd_conditions{{condition=\"Ready\",status=\"{status}\",reason=\"Ready\"}}")
    };
    has(&metrics.text(), &format!("{} 2", labels("True")));
    metrics.conditions([ready(Truth::False)]);
    has(&metrics.text(), &format!("{} 1", labels("False")));
    assert!(!metrics.text().contains(&labels("True")));
}

#[test]
fn certificates_say_until_when_they_hold_and_for_how_long_in_all() {
    let metrics = Metrics::new("0");
    assert!(!metrics.text().contains("llsd_certificate_lifetime_seconds{"), "none is served yet");
    metrics.certificate(Certificate::Served, 100, 160);
    let text = metrics.text();
    has(&text, "llsd_certificate_expiry_timestamp_seconds{certificate=\"served\"} 160");
    has(&text, "llsd_certificate_lifetime_seconds{certificate=\"served\"} 60");
}

#[test]
fn what_was_told_is_shown() {
    let metrics = Metrics::new("1.2.3");
    metrics.reconciled(Reconcile::Planned, 0.004);
    metrics.reconciled(Reconcile::Planned, 3.0);
    metrics.reconciled(Reconcile::Refused, 0.1);
    metrics.queue(7, Duration::from_millis(1500));
    metrics.api_request("patch", Some(409));
    metrics.api_request("get", None);
    metrics.registry_lookup(Lookup::Cached, "quay.io");
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
        "llsd_oldest_change_age_seconds 1.5",
        "llsd_api_requests_total{verb=\"patch\",code=\"409\"} 1",
        "llsd_api_requests_total{verb=\"get\",code=\"none\"} 1",
        "llsd_registry_lookups_total{result=\"cached\",registry=\"quay\"} 1",
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
    metrics.queue(3, Duration::from_secs(9));
    metrics.conditions([ready(Truth::True)]);
    metrics.watches_out_of_sync("httproutes", 1);
    metrics.leading(false);
    let text = metrics.text();
    has(&text, "llsd_resources{phase=\"Ready\"} 0");
    has(&text, "llsd_queue_length 0");
    has(&text, "llsd_oldest_change_age_seconds 0.0");
    assert!(!text.contains("llsd_conditions{"), "{text}");
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
