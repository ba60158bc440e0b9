//! The alerts, evaluated by Prometheus' own tool: each fires on what it is for, and stays silent on its opposite.

use llsd_install::monitoring::{ALERTS, monitoring};
use llsd_testkit::promtool;
use serde_json::{Value, json};

/// The rules as Prometheus reads them from a file.
pub fn groups() -> Value {
    let files = monitoring("operators", true);
    let rule = files.iter().find(|file| file.name.ends_with("prometheus-rule.yaml")).unwrap();
    let rule: Value = serde_saphyr::from_str(&rule.text()).unwrap();
    rule["spec"]["groups"].clone()
}

/// Names of series, and their values minute by minute.
type Series = &'static [(&'static str, &'static str)];

/// For each alert: series that make it fire within two hours, a value a minute, and series of an operator in
/// order. `0+6x120` counts up by six each minute.
const SERIES: &[(&str, Series, Series)] = &[
    ("LlsdOperatorDown", &[], &[("llsd_build_info{version=\"1\"}", "1x120")]),
    (
        "LlsdNoLeader",
        &[("llsd_leader{pod=\"a\"}", "0x120"), ("llsd_leader{pod=\"b\"}", "0x120")],
        &[("llsd_leader{pod=\"a\"}", "0x120"), ("llsd_leader{pod=\"b\"}", "1x120")],
    ),
    (
        "LlsdSeveralLeaders",
        &[("llsd_leader{pod=\"a\"}", "1x120"), ("llsd_leader{pod=\"b\"}", "1x120")],
        &[("llsd_leader{pod=\"a\"}", "1x120"), ("llsd_leader{pod=\"b\"}", "0x120")],
    ),
    (
        "LlsdChangesWait",
        &[("llsd_oldest_change_age_seconds{pod=\"a\"}", "0+60x120")],
        &[("llsd_oldest_change_age_seconds{pod=\"a\"}", "2x120")],
    ),
    (
        "LlsdReconcilesFail",
        &[
            ("llsd_reconciles_total{result=\"unavailable\"}", "0+6x120"),
            ("llsd_reconciles_total{result=\"planned\"}", "0+4x120"),
        ],
        &[
            ("llsd_reconciles_total{result=\"unavailable\"}", "0+4x120"),
            ("llsd_reconciles_total{result=\"planned\"}", "0+6x120"),
        ],
    ),
    (
        "LlsdBug",
        &[("llsd_reconciles_total{result=\"bug\"}", "0x115 1x5")],
        &[
            ("llsd_reconciles_total{result=\"bug\"}", "3x120"),
            ("llsd_webhook_calls_total{path=\"convert\",result=\"bug\"}", "0x120"),
        ],
    ),
    (
        "LlsdWatchOutOfSync",
        &[("llsd_watches_out_of_sync{resource=\"services\"}", "1x120")],
        &[("llsd_watches_out_of_sync{resource=\"services\"}", "0x120")],
    ),
    (
        "LlsdApiRequestsForbidden",
        &[("llsd_api_requests_total{verb=\"list\",code=\"403\"}", "0+1x120")],
        &[("llsd_api_requests_total{verb=\"list\",code=\"200\"}", "0+1x120")],
    ),
    (
        "LlsdApiRequestsFail",
        &[
            ("llsd_api_requests_total{verb=\"get\",code=\"none\"}", "0+1x120"),
            ("llsd_api_requests_total{verb=\"get\",code=\"503\"}", "0+1x120"),
            ("llsd_api_requests_total{verb=\"get\",code=\"200\"}", "0+8x120"),
        ],
        &[
            ("llsd_api_requests_total{verb=\"get\",code=\"404\"}", "0+5x120"),
            ("llsd_api_requests_total{verb=\"get\",code=\"200\"}", "0+5x120"),
        ],
    ),
    (
        "LlsdConfigurationBroken",
        &[("llsd_broken_configuration{key=\"registries\"}", "1x120")],
        &[("llsd_broken_configuration{key=\"registries\"}", "0x120")],
    ),
    (
        "LlsdCertificateExpiresSoon",
        // Time begins at zero here, so at the end two hours are gone.
        &[
            ("llsd_certificate_expiry_timestamp_seconds{certificate=\"served\"}", "7800x120"),
            ("llsd_certificate_lifetime_seconds{certificate=\"served\"}", "36000x120"),
        ],
        &[
            ("llsd_certificate_expiry_timestamp_seconds{certificate=\"served\"}", "36000x120"),
            ("llsd_certificate_lifetime_seconds{certificate=\"served\"}", "36000x120"),
        ],
    ),
    (
        "LlsdCertificateExpired",
        &[("llsd_certificate_expiry_timestamp_seconds{certificate=\"served\"}", "3600x120")],
        &[("llsd_certificate_expiry_timestamp_seconds{certificate=\"served\"}", "7300x120")],
    ),
    (
        "LlsdWebhookFails",
        &[
            ("llsd_webhook_calls_total{path=\"convert\",result=\"late\"}", "0+1x120"),
            ("llsd_webhook_calls_total{path=\"convert\",result=\"answered\"}", "0+9x120"),
        ],
        &[
            ("llsd_webhook_calls_total{path=\"validate\",result=\"refused\"}", "0+5x120"),
            ("llsd_webhook_calls_total{path=\"validate\",result=\"answered\"}", "0+5x120"),
        ],
    ),
    (
        "LlsdWebhookSlow",
        &[
            ("llsd_webhook_duration_seconds_bucket{path=\"validate\",le=\"2.048\"}", "0+1x120"),
            ("llsd_webhook_duration_seconds_bucket{path=\"validate\",le=\"4.096\"}", "0+9x120"),
            ("llsd_webhook_duration_seconds_bucket{path=\"validate\",le=\"+Inf\"}", "0+9x120"),
        ],
        &[
            ("llsd_webhook_duration_seconds_bucket{path=\"validate\",le=\"0.512\"}", "0+9x120"),
            ("llsd_webhook_duration_seconds_bucket{path=\"validate\",le=\"+Inf\"}", "0+9x120"),
        ],
    ),
    (
        "LlsdRegistryUnavailable",
        &[
            ("llsd_registry_lookups_total{registry=\"quay\",result=\"unavailable\"}", "0+2x120"),
            ("llsd_registry_lookups_total{registry=\"quay\",result=\"cached\"}", "0+90x120"),
        ],
        &[
            ("llsd_registry_lookups_total{registry=\"quay\",result=\"unavailable\"}", "0x120"),
            ("llsd_registry_lookups_total{registry=\"quay\",result=\"fetched\"}", "0+1x120"),
        ],
    ),
    (
        "LlsdResourcesFailed",
        &[("llsd_resources{phase=\"Failed\"}", "1x120")],
        &[
            ("llsd_resources{phase=\"Ready\"}", "9x120"),
            ("llsd_resources{phase=\"Failed\"}", "0x120"),
        ],
    ),
    (
        "LlsdServersUnavailable",
        &[(
            "llsd_conditions{condition=\"Available\",status=\"False\",reason=\"NoReplicasAvailable\"}",
            "2x120",
        )],
        &[(
            "llsd_conditions{condition=\"Available\",status=\"False\",reason=\"ScaledToZero\"}",
            "2x120",
        )],
    ),
    (
        "LlsdChangeRefused",
        &[("llsd_held{cause=\"preflight\"}", "1x120")],
        &[("llsd_held{cause=\"preflight\"}", "0x120")],
    ),
    (
        "LlsdRolledBack",
        &[("llsd_held{cause=\"rolled_back\"}", "1x120")],
        &[("llsd_held{cause=\"rolled_back\"}", "0x120")],
    ),
    (
        "LlsdServersUnguarded",
        &[(
            "llsd_conditions{condition=\"Unguarded\",status=\"True\",reason=\"ServesOpen\"}",
            "1x120",
        )],
        &[(
            "llsd_conditions{condition=\"Unguarded\",status=\"True\",reason=\"ServesOpen\"}",
            "0x120",
        )],
    ),
];

/// Every series is of the operator in one namespace.
fn series(of: Series) -> Vec<Value> {
    let named = |series: &str| series.replacen('{', "{namespace=\"operators\",", 1);
    of.iter().map(|(name, values)| json!({"series": named(name), "values": values})).collect()
}

#[test]
fn prometheus_takes_the_rules() {
    let rules = json!({"groups": groups()}).to_string();
    let Some((is_fine, said)) =
        promtool(&["check", "rules", "rules.yaml"], &[("rules.yaml", &rules)])
    else {
        return;
    };
    assert!(is_fine && said.contains(&format!("{} rules found", ALERTS.len())), "{said}");
}

/// What the tool knows of an alert that fires are its labels and annotations, which say the value too; so it is
/// asked with `ALERTS`, which has a series for each that fires.
fn test_of(alert: &str, of: Series, fires: bool) -> Value {
    let firing = format!("count(ALERTS{{alertname=\"{alert}\",alertstate=\"firing\"}})");
    let expected = if fires { json!([{"labels": "{}", "value": 1}]) } else { json!([]) };
    json!({
        "name": alert,
        "interval": "1m",
        "input_series": series(of),
        "promql_expr_test": [{"expr": firing, "eval_time": "2h", "exp_samples": expected}],
    })
}

#[test]
fn each_alert_fires_on_what_it_is_for_and_on_nothing_else() {
    let named: Vec<&str> = SERIES.iter().map(|(name, ..)| *name).collect();
    assert_eq!(named, ALERTS.iter().map(|alert| alert.name).collect::<Vec<_>>());
    let mut tests = Vec::new();
    for (alert, broken, in_order) in SERIES {
        tests.push(test_of(alert, broken, true));
        tests.push(test_of(alert, in_order, false));
    }
    let rules = json!({"groups": groups()}).to_string();
    let tests = json!({"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests});
    let files = [("rules.yaml", rules.as_str()), ("tests.yaml", &tests.to_string())];
    let Some((is_fine, said)) = promtool(&["test", "rules", "tests.yaml"], &files) else { return };
    assert!(is_fine && said.contains("SUCCESS"), "{said}");
}

/// A summary is filled in by Prometheus when the alert fires; one that names a label which the alert lacks
/// would have a hole.
#[test]
fn summaries_name_labels_that_their_alerts_have() {
    for alert in ALERTS {
        for named in alert.summary.split("$labels.").skip(1) {
            let label = named.split([' ', '}']).next().unwrap();
            let by = alert.expression.split("by (").skip(1);
            let labels: Vec<&str> = by.map(|rest| rest.split(')').next().unwrap()).collect();
            let has = |list: &&str| list.split(", ").any(|known| known == label);
            assert!(!labels.is_empty() && labels.iter().all(has), "{}: {label}", alert.name);
        }
    }
}
