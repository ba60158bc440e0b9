//! The operator's figures, as Prometheus is told of them.

use std::collections::BTreeSet;
use std::fmt::Write;

use llsd::operator::telemetry::{Certificate, Condition, Metrics};
use llsd_plan::problems::Reason;
use serde_json::json;

use super::page::{GENERATED, cell};

/// A figure, and its labels with the values that are known beforehand.
#[derive(Default)]
struct Figure {
    name: String,
    kind: String,
    says: String,
    labels: Vec<(String, BTreeSet<String>)>,
}

pub fn metrics() -> String {
    let metrics = Metrics::new("0");
    let from_the_start = figures(&metrics.text());
    // What has no series is not told of.
    metrics.api_request("get", Some(200));
    metrics.problem(Reason::Invalid);
    metrics.watches_out_of_sync("services", 0);
    metrics.kind_served("routes", false);
    metrics.certificate(Certificate::Served, 0, 1);
    let ready = json!({"type": "Ready", "status": "True", "reason": "Ready"});
    metrics.conditions(Condition::all_in_status(&json!({"conditions": [ready]})));
    let mut page = format!(
        "# Metrics\n\n{GENERATED}\n\nWhat every replica of the operator serves at `/metrics`. \
         [Monitoring](../metrics.md) says how to read them.\n\n\
         | name | kind | labels | says |\n|---|---|---|---|\n"
    );
    for figure in figures(&metrics.text()) {
        let known = from_the_start.iter().find(|known| known.name == figure.name);
        let labels = known.unwrap_or(&figure).labels.iter().map(|(label, values)| {
            let values = values.iter().map(|value| format!("`{value}`")).collect::<Vec<_>>();
            if known.is_some() && figure.kind != "info" {
                format!("`{label}`: {}", values.join(", "))
            } else {
                format!("`{label}`")
            }
        });
        let labels = labels.collect::<Vec<_>>().join("; ");
        let labels = if labels.is_empty() { "–" } else { &labels };
        let Figure { name, kind, says, .. } = &figure;
        let _ = writeln!(page, "| `{name}` | {kind} | {labels} | {} |", cell(says));
    }
    page
}

/// Those that have a series, in the order in which they are told.
fn figures(text: &str) -> Vec<Figure> {
    let mut all: Vec<Figure> = Vec::new();
    for line in text.lines() {
        if let Some(about) = line.strip_prefix("# HELP ") {
            let (name, says) = about.split_once(' ').unwrap_or((about, ""));
            all.push(Figure { name: name.into(), says: says.into(), ..Figure::default() });
            continue;
        }
        let Some(last) = all.last_mut() else { continue };
        if let Some(kind) = line.strip_prefix("# TYPE ") {
            kind.split(' ').next_back().unwrap_or_default().clone_into(&mut last.kind);
        } else if let Some((_, rest)) = line.split_once('{')
            && let Some((labels, _)) = rest.split_once('}')
        {
            // No value of a label has a comma or a quote.
            for (label, value) in labels.split(',').filter_map(|label| label.split_once('=')) {
                last.take(label, value.trim_matches('"'));
            }
        }
    }
    for figure in &mut all {
        // Prometheus knows it with this ending.
        figure.name.push_str(match figure.kind.as_str() {
            "counter" => "_total",
            "info" => "_info",
            _ => "",
        });
    }
    all
}

impl Figure {
    fn take(&mut self, label: &str, value: &str) {
        if label == "le" {
            return; // the bound of a histogram's part
        }
        let at = self.labels.iter().position(|(known, _)| known == label).unwrap_or_else(|| {
            self.labels.push((label.to_owned(), BTreeSet::new()));
            self.labels.len() - 1
        });
        self.labels[at].1.insert(value.to_owned());
    }
}
