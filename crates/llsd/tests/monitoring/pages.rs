//! The pages stay true: every figure is listed as it is, and every alert has a page of its own.

use std::collections::BTreeMap;

use llsd::manifests::monitoring::ALERTS;
use llsd::operator::telemetry::{Certificate, Condition, Metrics};
use llsd_cases::files::repository;
use llsd_plan::problem::Reason;
use serde_json::json;

/// Name, kind and meaning of every figure, as Prometheus is told.
fn figures() -> BTreeMap<String, (String, String)> {
    let metrics = Metrics::new("0");
    // What has no series is not told of.
    metrics.api_request("get", Some(200));
    metrics.problem(Reason::Invalid);
    metrics.watches_out_of_sync("services", 0);
    metrics.kind_served("routes", false);
    metrics.certificate(Certificate::Served, 0, 1);
    let ready = json!({"type": "Ready", "status": "True", "reason": "Ready"});
    metrics.conditions(Condition::read(&json!({"conditions": [ready]})));
    let text = metrics.text();
    let mut found = BTreeMap::<String, (String, String)>::new();
    for line in text.lines() {
        let Some((what, rest)) = line.strip_prefix("# ").and_then(|rest| rest.split_once(' '))
        else {
            continue;
        };
        let Some((name, says)) = rest.split_once(' ') else { continue };
        let entry = found.entry(name.to_owned()).or_default();
        match what {
            "TYPE" => says.clone_into(&mut entry.0),
            "HELP" => says.trim_end_matches('.').clone_into(&mut entry.1),
            _ => {}
        }
    }
    // Prometheus knows a counter with this ending.
    let ending = |kind: &str| match kind {
        "counter" => "_total",
        "info" => "_info",
        _ => "",
    };
    found.into_iter().map(|(name, about)| (format!("{name}{}", ending(&about.0)), about)).collect()
}

#[test]
fn the_page_on_metrics_lists_each_as_it_is() {
    let page = std::fs::read_to_string(repository("docs/metrics.md")).unwrap();
    let mut listed = BTreeMap::new();
    for line in page.lines() {
        let cells: Vec<&str> = line.trim_matches('|').split(" | ").map(str::trim).collect();
        if let [name, kind, _, meaning] = cells[..]
            && let Some(name) = name.strip_prefix('`').and_then(|name| name.strip_suffix('`'))
        {
            let meaning = meaning.split(';').next().unwrap_or_default();
            listed.insert(name.to_owned(), (kind.to_owned(), meaning.to_owned()));
        }
    }
    assert_eq!(listed, figures());
}

#[test]
fn every_alert_has_a_runbook_and_is_listed() {
    let folder = repository("docs/runbooks");
    let index = std::fs::read_to_string(folder.join("README.md")).unwrap();
    for alert in ALERTS {
        let file = format!("{}.md", alert.name);
        let page = std::fs::read_to_string(folder.join(&file)).unwrap_or_default();
        assert!(page.starts_with(&format!("# {}\n", alert.name)), "docs/runbooks/{file}");
        for part in ["## What it means", "## What to look at", "## What to do"] {
            assert!(page.contains(part), "docs/runbooks/{file}: {part}");
        }
        assert!(index.contains(&format!("[{}]({file})", alert.name)), "{}", alert.name);
    }
    for entry in std::fs::read_dir(&folder).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let known = ALERTS.iter().any(|alert| name == format!("{}.md", alert.name));
        assert!(known || name == "README.md", "docs/runbooks/{name} is about no alert");
    }
}
