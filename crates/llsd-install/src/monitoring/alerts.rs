//! The alerts. Each is about something that a person has to look at, says what in one sentence, and has a page
//! under docs/runbooks. Figures of resources are the leader's alone and zero elsewhere, so sums are the truth.

use serde_json::{Value, json};

/// One alert.
#[derive(Clone, Copy, Debug)]
pub struct Alert {
    /// Also the name of its runbook.
    pub name: &'static str,
    pub severity: Severity,
    pub expression: &'static str,
    /// So long it must hold.
    pub hold: &'static str,
    /// May name labels of the expression as Prometheus does: `{{ $labels.path }}`.
    pub summary: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// Somebody should come now.
    Critical,
    /// Somebody should look today.
    Warning,
}

use Severity::{Critical, Warning};

/// All of them, the operator's own first.
pub const ALERTS: &[Alert] = &[
    Alert {
        name: "LlsdOperatorDown",
        severity: Critical,
        expression: "absent(llsd_build_info)",
        hold: "5m",
        summary: "No operator for Llama Stack servers reports figures",
    },
    Alert {
        name: "LlsdNoLeader",
        severity: Critical,
        expression: "sum by (namespace) (llsd_leader) == 0",
        hold: "3m",
        summary: "No replica of the operator in {{ $labels.namespace }} leads: nothing is worked on",
    },
    Alert {
        name: "LlsdSeveralLeaders",
        severity: Critical,
        expression: "sum by (namespace) (llsd_leader) > 1",
        hold: "3m",
        summary: "{{ $value }} replicas of the operator in {{ $labels.namespace }} say that they lead",
    },
    Alert {
        name: "LlsdChangesWait",
        severity: Warning,
        expression: "max by (namespace) (llsd_oldest_change_age_seconds) > 300",
        hold: "5m",
        summary: "A change has waited for {{ $value | humanizeDuration }} to be looked at",
    },
    Alert {
        name: "LlsdReconcilesFail",
        severity: Warning,
        expression: "sum by (namespace) (rate(llsd_reconciles_total{result=\"unavailable\"}[10m])) / sum by (namespace) (rate(llsd_reconciles_total[10m])) > 0.5",
        hold: "15m",
        summary: "{{ $value | humanizePercentage }} of looks at resources fail, because the API server or a registry is in the way",
    },
    Alert {
        name: "LlsdBug",
        severity: Warning,
        expression: "sum by (namespace) (increase(llsd_reconciles_total{result=\"bug\"}[15m])) > 0 or sum by (namespace) (increase(llsd_webhook_calls_total{result=\"bug\"}[15m])) > 0",
        hold: "0m",
        summary: "The operator in {{ $labels.namespace }} has met a bug of its own",
    },
    Alert {
        name: "LlsdWatchOutOfSync",
        severity: Warning,
        expression: "sum by (namespace, resource) (llsd_watches_out_of_sync) > 0",
        hold: "10m",
        summary: "A watch of {{ $labels.resource }} does not show what is there",
    },
    Alert {
        name: "LlsdApiRequestsForbidden",
        severity: Warning,
        expression: "sum by (namespace, verb) (increase(llsd_api_requests_total{code=\"403\"}[15m])) > 0",
        hold: "10m",
        summary: "The API server forbids the operator to {{ $labels.verb }} something",
    },
    Alert {
        name: "LlsdApiRequestsFail",
        severity: Warning,
        expression: "sum by (namespace) (rate(llsd_api_requests_total{code=~\"5..|429|none\"}[10m])) / sum by (namespace) (rate(llsd_api_requests_total[10m])) > 0.1",
        hold: "10m",
        summary: "{{ $value | humanizePercentage }} of requests to the API server fail",
    },
    Alert {
        name: "LlsdConfigurationBroken",
        severity: Warning,
        expression: "max by (namespace, key) (llsd_broken_configuration) > 0",
        hold: "10m",
        summary: "The key {{ $labels.key }} of the operator's ConfigMap is broken, and an earlier value is in use",
    },
    Alert {
        name: "LlsdCertificateExpiresSoon",
        severity: Warning,
        expression: "min by (namespace, certificate) ((llsd_certificate_expiry_timestamp_seconds - time()) / llsd_certificate_lifetime_seconds) < 0.2",
        hold: "1h",
        summary: "The webhooks' certificate ({{ $labels.certificate }}) should have been renewed: {{ $value | humanizePercentage }} of its life is left",
    },
    Alert {
        name: "LlsdCertificateExpired",
        severity: Critical,
        expression: "min by (namespace, certificate) (llsd_certificate_expiry_timestamp_seconds - time()) <= 0",
        hold: "0m",
        summary: "The webhooks' certificate ({{ $labels.certificate }}) has expired: v1alpha1 is not served",
    },
    Alert {
        name: "LlsdWebhookFails",
        severity: Warning,
        expression: "sum by (namespace, path) (rate(llsd_webhook_calls_total{result=~\"late|bug|no_review\"}[10m])) / sum by (namespace, path) (rate(llsd_webhook_calls_total[10m])) > 0.05",
        hold: "10m",
        summary: "{{ $value | humanizePercentage }} of calls of the webhook {{ $labels.path }} fail",
    },
    Alert {
        name: "LlsdWebhookSlow",
        severity: Warning,
        expression: "histogram_quantile(0.99, sum by (namespace, path, le) (rate(llsd_webhook_duration_seconds_bucket[10m]))) > 2",
        hold: "15m",
        summary: "The webhook {{ $labels.path }} takes {{ $value | humanizeDuration }} for one call in a hundred",
    },
    Alert {
        name: "LlsdRegistryUnavailable",
        severity: Warning,
        expression: "sum by (namespace, registry) (rate(llsd_registry_lookups_total{result=\"unavailable\"}[10m])) / sum by (namespace, registry) (rate(llsd_registry_lookups_total{result!=\"cached\"}[10m])) > 0.5",
        hold: "15m",
        summary: "Registries of the class {{ $labels.registry }} do not answer",
    },
    Alert {
        name: "LlsdResourcesFailed",
        severity: Warning,
        expression: "sum by (namespace) (llsd_resources{phase=\"Failed\"}) > 0",
        hold: "15m",
        summary: "{{ $value }} servers have failed",
    },
    Alert {
        name: "LlsdServersUnavailable",
        severity: Warning,
        expression: "sum by (namespace, reason) (llsd_conditions{condition=\"Available\",status=\"False\",reason!=\"ScaledToZero\"}) > 0",
        hold: "15m",
        summary: "{{ $value }} servers have no pod that serves ({{ $labels.reason }})",
    },
    Alert {
        name: "LlsdChangeRefused",
        severity: Warning,
        expression: "sum by (namespace) (llsd_held{cause=\"preflight\"}) > 0",
        hold: "5m",
        summary: "{{ $value }} servers run without their last change, which their image refuses",
    },
    Alert {
        name: "LlsdRolledBack",
        severity: Warning,
        expression: "sum by (namespace) (llsd_held{cause=\"rolled_back\"}) > 0",
        hold: "5m",
        summary: "{{ $value }} servers run an earlier state than their resources ask for",
    },
    Alert {
        name: "LlsdServersUnguarded",
        severity: Warning,
        expression: "sum by (namespace) (llsd_conditions{condition=\"Unguarded\",status=\"True\"}) > 0",
        hold: "15m",
        summary: "{{ $value }} servers answer everybody, although their resources say who may call",
    },
];

/// As one group of rules; runbooks are below an address.
pub(super) fn group(runbooks: &str) -> Value {
    let rules: Vec<Value> = ALERTS.iter().map(|alert| alert.rule(runbooks)).collect();
    json!({"name": "llama-stack-operator", "rules": rules})
}

impl Alert {
    fn rule(&self, runbooks: &str) -> Value {
        json!({
            "alert": self.name,
            "expr": self.expression,
            "for": self.hold,
            "labels": {"severity": match self.severity {
                Critical => "critical",
                Warning => "warning",
            }},
            "annotations": {
                "summary": self.summary,
                "runbook_url": format!("{runbooks}/{}.md", self.name),
            },
        })
    }
}
