//! The panels of the dashboard, row by row: what each asks of Prometheus, and in which unit it answers. The
//! variable `$namespace` is the operator's.

/// A row of panels.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) title: &'static str,
    pub(super) panels: &'static [Panel],
}

/// One picture.
#[derive(Clone, Copy, Debug)]
pub(super) struct Panel {
    pub(super) title: &'static str,
    pub(super) kind: Kind,
    /// As Grafana names it: `s`, `bytes`, `percentunit`, `reqps`, `short`.
    pub(super) unit: &'static str,
    pub(super) queries: &'static [Query],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// One number.
    Number,
    /// Lines over time.
    Lines,
    /// Lines over time, one on top of the other.
    Stack,
}

/// What is asked, and how a line is called; empty: by its labels.
pub(super) type Query = (&'static str, &'static str);

macro_rules! of {
    ($title:literal, $kind:ident, $unit:literal, [$($query:expr),+ $(,)?]) => {
        Panel { title: $title, kind: Kind::$kind, unit: $unit, queries: &[$($query),+] }
    };
}

pub(super) const ROWS: &[Row] = &[
    Row {
        title: "At a glance",
        panels: &[
            of!(
                "Servers",
                Number,
                "short",
                [("sum(llsd_resources{namespace=~\"$namespace\"})", "")]
            ),
            of!(
                "Ready",
                Number,
                "short",
                [("sum(llsd_resources{namespace=~\"$namespace\",phase=\"Ready\"})", "")]
            ),
            of!(
                "Failed",
                Number,
                "short",
                [("sum(llsd_resources{namespace=~\"$namespace\",phase=\"Failed\"})", "")]
            ),
            of!("Leaders", Number, "short", [("sum(llsd_leader{namespace=~\"$namespace\"})", "")]),
            of!(
                "Oldest change",
                Number,
                "s",
                [("max(llsd_oldest_change_age_seconds{namespace=~\"$namespace\"})", "")]
            ),
            of!(
                "Certificate expires in",
                Number,
                "s",
                [(
                    "min(llsd_certificate_expiry_timestamp_seconds{namespace=~\"$namespace\"} - time())",
                    ""
                )]
            ),
        ],
    },
    Row {
        title: "Servers",
        panels: &[
            of!(
                "By phase",
                Stack,
                "short",
                [("sum by (phase) (llsd_resources{namespace=~\"$namespace\"})", "{{phase}}")]
            ),
            of!(
                "Not ready, by reason",
                Stack,
                "short",
                [(
                    "sum by (reason) (llsd_conditions{namespace=~\"$namespace\",condition=\"Ready\",status!=\"True\"})",
                    "{{reason}}"
                )]
            ),
            of!(
                "Held back, by cause",
                Stack,
                "short",
                [("sum by (cause) (llsd_held{namespace=~\"$namespace\"})", "{{cause}}")]
            ),
            of!(
                "Changes judged and rolled back, within an hour",
                Lines,
                "short",
                [
                    (
                        "sum by (result) (increase(llsd_preflights_total{namespace=~\"$namespace\"}[1h]))",
                        "judged {{result}}"
                    ),
                    (
                        "sum by (cause) (increase(llsd_rollbacks_total{namespace=~\"$namespace\"}[1h]))",
                        "back, {{cause}}"
                    ),
                ]
            ),
            of!(
                "Mistakes found, by reason",
                Lines,
                "short",
                [(
                    "sum by (reason) (rate(llsd_problems_total{namespace=~\"$namespace\"}[5m]))",
                    "{{reason}}"
                )]
            ),
            of!(
                "Configurations",
                Lines,
                "short",
                [(
                    "sum by (result) (rate(llsd_config_generations_total{namespace=~\"$namespace\"}[5m]))",
                    "{{result}}"
                )]
            ),
        ],
    },
    Row {
        title: "Work",
        panels: &[
            of!(
                "Looks at resources, by result",
                Stack,
                "reqps",
                [(
                    "sum by (result) (rate(llsd_reconciles_total{namespace=~\"$namespace\"}[5m]))",
                    "{{result}}"
                )]
            ),
            of!(
                "Time of one look",
                Lines,
                "s",
                [
                    (
                        "histogram_quantile(0.5, sum by (le) (rate(llsd_reconcile_duration_seconds_bucket{namespace=~\"$namespace\"}[5m])))",
                        "half"
                    ),
                    (
                        "histogram_quantile(0.99, sum by (le) (rate(llsd_reconcile_duration_seconds_bucket{namespace=~\"$namespace\"}[5m])))",
                        "99 of 100"
                    ),
                ]
            ),
            of!(
                "Waiting and under way",
                Lines,
                "short",
                [
                    ("sum(llsd_queue_length{namespace=~\"$namespace\"})", "waiting"),
                    ("sum(llsd_reconciles_in_flight{namespace=~\"$namespace\"})", "under way"),
                ]
            ),
            of!(
                "Memory of each replica",
                Lines,
                "bytes",
                [(
                    "process_resident_memory_bytes{namespace=~\"$namespace\"} and on (instance) llsd_build_info",
                    "{{pod}}"
                )]
            ),
        ],
    },
    Row {
        title: "What the operator needs of others",
        panels: &[
            of!(
                "Requests to the API server, by verb",
                Stack,
                "reqps",
                [(
                    "sum by (verb) (rate(llsd_api_requests_total{namespace=~\"$namespace\"}[5m]))",
                    "{{verb}}"
                )]
            ),
            of!(
                "Requests that failed, by code",
                Lines,
                "reqps",
                [(
                    "sum by (code) (rate(llsd_api_requests_total{namespace=~\"$namespace\",code!~\"2..\"}[5m]))",
                    "{{code}}"
                )]
            ),
            of!(
                "Watches out of sync",
                Lines,
                "short",
                [(
                    "sum by (resource) (llsd_watches_out_of_sync{namespace=~\"$namespace\"})",
                    "{{resource}}"
                )]
            ),
            of!(
                "Registries asked, by result",
                Lines,
                "reqps",
                [(
                    "sum by (registry, result) (rate(llsd_registry_lookups_total{namespace=~\"$namespace\"}[5m])) > 0",
                    "{{registry}} {{result}}"
                )]
            ),
        ],
    },
    Row {
        title: "Webhooks",
        panels: &[
            of!(
                "Calls, by path and result",
                Stack,
                "reqps",
                [(
                    "sum by (path, result) (rate(llsd_webhook_calls_total{namespace=~\"$namespace\"}[5m]))",
                    "{{path}} {{result}}"
                )]
            ),
            of!(
                "Time of 99 calls of 100",
                Lines,
                "s",
                [(
                    "histogram_quantile(0.99, sum by (path, le) (rate(llsd_webhook_duration_seconds_bucket{namespace=~\"$namespace\"}[5m])))",
                    "{{path}}"
                )]
            ),
            of!(
                "Looks for what is referred to",
                Lines,
                "reqps",
                [(
                    "sum by (result) (rate(llsd_webhook_lookups_total{namespace=~\"$namespace\"}[5m]))",
                    "{{result}}"
                )]
            ),
        ],
    },
];
