//! Both versions' fields, written down from their documentation and not from the conversion's own
//! table, so that a field that the table forgets is found.

use super::laws::Pair;

/// What a field may hold.
pub(crate) enum Shape {
    Flag,
    Count,
    Text,
    /// Any JSON object or list: what conversion must move as it is.
    Whole,
    /// A boolean or an object.
    Exposure,
    Fields(&'static [(&'static str, Shape)]),
}

use Shape::{Count, Exposure, Fields, Flag, Text, Whole};

pub(crate) const V1ALPHA1_SPEC: Shape = Fields(&[
    ("replicas", Count),
    (
        "server",
        Fields(&[
            ("distribution", Fields(&[("name", Text), ("image", Text)])),
            (
                "containerSpec",
                Fields(&[
                    ("name", Text),
                    ("port", Count),
                    ("resources", Whole),
                    ("env", Whole),
                    ("command", Whole),
                    ("args", Whole),
                ]),
            ),
            ("workers", Count),
            (
                "podOverrides",
                Fields(&[
                    ("serviceAccountName", Text),
                    ("terminationGracePeriodSeconds", Count),
                    ("volumes", Whole),
                    ("volumeMounts", Whole),
                ]),
            ),
            ("podDisruptionBudget", Whole),
            ("topologySpreadConstraints", Whole),
            (
                "autoscaling",
                Fields(&[
                    ("minReplicas", Count),
                    ("maxReplicas", Count),
                    ("targetCPUUtilizationPercentage", Count),
                    ("targetMemoryUtilizationPercentage", Count),
                ]),
            ),
            ("storage", Fields(&[("size", Text), ("mountPath", Text)])),
            ("userConfig", Fields(&[("configMapName", Text), ("configMapNamespace", Text)])),
            ("tlsConfig", Fields(&[("caBundle", CA_BUNDLE)])),
        ]),
    ),
    ("network", Fields(&[("exposeRoute", Flag), ("allowedFrom", ALLOWED_FROM)])),
]);

pub(crate) const V1ALPHA2_SPEC: Shape = Fields(&[
    ("distribution", Fields(&[("name", Text), ("image", Text)])),
    ("providers", Whole),
    ("resources", Whole),
    (
        "storage",
        Fields(&[
            ("kv", Fields(&[("type", Text), ("endpoint", Text)])),
            ("sql", Fields(&[("type", Text), ("connectionString", Whole)])),
        ]),
    ),
    ("disabled", Whole),
    ("access", Whole),
    ("monitoring", Whole),
    (
        "networking",
        Fields(&[
            ("port", Count),
            ("tls", Fields(&[("enabled", Flag), ("secretName", Text), ("caBundle", CA_BUNDLE)])),
            ("expose", Exposure),
            ("allowedFrom", Fields(&[("namespaces", Whole), ("labels", Whole), ("pods", Whole)])),
        ]),
    ),
    (
        "workload",
        Fields(&[
            ("replicas", Count),
            ("workers", Count),
            ("resources", Whole),
            (
                "autoscaling",
                Fields(&[
                    ("minReplicas", Count),
                    ("maxReplicas", Count),
                    ("targetCPUUtilization", Count),
                    ("targetCPUUtilizationPercentage", Count),
                    ("targetMemoryUtilization", Count),
                    ("targetMemoryUtilizationPercentage", Count),
                    ("metrics", Whole),
                    ("behavior", Whole),
                ]),
            ),
            (
                "storage",
                Fields(&[
                    ("size", Text),
                    ("mountPath", Text),
                    ("deletionPolicy", Text),
                    ("existingClaim", Text),
                    ("storageClassName", Text),
                    ("accessModes", Whole),
                ]),
            ),
            ("podDisruptionBudget", Whole),
            ("rollback", Text),
            ("preflight", Text),
            ("historyLimit", Count),
            ("topologySpreadConstraints", Whole),
            (
                "overrides",
                Fields(&[
                    ("serviceAccountName", Text),
                    ("terminationGracePeriodSeconds", Count),
                    ("env", Whole),
                    ("command", Whole),
                    ("args", Whole),
                    ("volumes", Whole),
                    ("volumeMounts", Whole),
                    ("envFrom", Whole),
                    ("imagePullSecrets", Whole),
                    ("nodeSelector", Whole),
                    ("tolerations", Whole),
                    ("affinity", Whole),
                    ("podLabels", Whole),
                    ("podAnnotations", Whole),
                    ("securityContext", Whole),
                    ("drainSeconds", Count),
                    ("startupSeconds", Count),
                    ("minReadySeconds", Count),
                    ("progressDeadlineSeconds", Count),
                    ("probes", Whole),
                    ("strategy", Text),
                ]),
            ),
        ]),
    ),
    ("externalProviders", Whole),
    ("overrideConfig", Fields(&[("configMapName", Text)])),
]);

const CA_BUNDLE: Shape =
    Fields(&[("configMapName", Text), ("configMapNamespace", Text), ("configMapKeys", Whole)]);

const ALLOWED_FROM: Shape = Fields(&[("namespaces", Whole), ("labels", Whole)]);

pub(crate) const V1ALPHA1_STATUS: Shape = Fields(&[
    ("phase", Text),
    ("version", Whole),
    ("distributionConfig", Whole),
    ("conditions", Whole),
    ("availableReplicas", Count),
    ("serviceURL", Text),
    ("routeURL", Text),
]);

pub(crate) const V1ALPHA2_STATUS: Shape = Fields(&[
    ("phase", Text),
    ("version", Whole),
    ("distributionConfig", Whole),
    ("preflight", Whole),
    ("externalProviders", Whole),
    ("conditions", Whole),
    ("availableReplicas", Count),
    ("serviceURL", Text),
    ("routeURL", Text),
    ("replicas", Count),
    ("selector", Text),
    ("observedGeneration", Count),
    ("resolvedDistribution", Whole),
    ("configGeneration", Whole),
]);

/// The objects that both versions have only to hold fields, so that a field can be told apart
/// from its neighbours: v1alpha1's, then v1alpha2's.
pub(crate) const HOLDERS: [&[&str]; 2] = [
    &[
        "/spec",
        "/spec/server",
        "/spec/server/containerSpec",
        "/spec/server/podOverrides",
        "/spec/server/storage",
        "/spec/server/autoscaling",
        "/spec/server/tlsConfig",
        "/spec/network",
        "/spec/network/allowedFrom",
        "/status",
    ],
    &[
        "/spec",
        "/spec/networking",
        "/spec/networking/tls",
        "/spec/networking/allowedFrom",
        "/spec/workload",
        "/spec/workload/storage",
        "/spec/workload/autoscaling",
        "/spec/workload/overrides",
        "/status",
    ],
];

/// The migration guide's tables: a field's place in v1alpha1 and in v1alpha2.
#[rustfmt::skip]
pub(crate) const PAIRS: [Pair; 30] = [
    ("/spec/replicas", "/spec/workload/replicas"),
    ("/spec/server/distribution", "/spec/distribution"),
    ("/spec/server/containerSpec/port", "/spec/networking/port"),
    ("/spec/server/containerSpec/env", "/spec/workload/overrides/env"),
    ("/spec/server/containerSpec/resources", "/spec/workload/resources"),
    ("/spec/server/containerSpec/command", "/spec/workload/overrides/command"),
    ("/spec/server/containerSpec/args", "/spec/workload/overrides/args"),
    ("/spec/server/workers", "/spec/workload/workers"),
    ("/spec/server/storage", "/spec/workload/storage"),
    ("/spec/server/storage/size", "/spec/workload/storage/size"),
    ("/spec/server/storage/mountPath", "/spec/workload/storage/mountPath"),
    ("/spec/server/podOverrides/serviceAccountName", "/spec/workload/overrides/serviceAccountName"),
    ("/spec/server/podOverrides/terminationGracePeriodSeconds", "/spec/workload/overrides/terminationGracePeriodSeconds"),
    ("/spec/server/podOverrides/volumes", "/spec/workload/overrides/volumes"),
    ("/spec/server/podOverrides/volumeMounts", "/spec/workload/overrides/volumeMounts"),
    ("/spec/server/autoscaling", "/spec/workload/autoscaling"),
    ("/spec/server/autoscaling/minReplicas", "/spec/workload/autoscaling/minReplicas"),
    ("/spec/server/autoscaling/maxReplicas", "/spec/workload/autoscaling/maxReplicas"),
    ("/spec/server/podDisruptionBudget", "/spec/workload/podDisruptionBudget"),
    ("/spec/server/topologySpreadConstraints", "/spec/workload/topologySpreadConstraints"),
    ("/spec/network/exposeRoute", "/spec/networking/expose"),
    ("/spec/network/allowedFrom", "/spec/networking/allowedFrom"),
    ("/spec/network/allowedFrom/namespaces", "/spec/networking/allowedFrom/namespaces"),
    ("/spec/network/allowedFrom/labels", "/spec/networking/allowedFrom/labels"),
    ("/spec/server/tlsConfig/caBundle", "/spec/networking/tls/caBundle"),
    ("/spec/server/userConfig", "/spec/overrideConfig"),
    ("/status/phase", "/status/phase"),
    ("/status/conditions", "/status/conditions"),
    ("/status/availableReplicas", "/status/availableReplicas"),
    ("/status/serviceURL", "/status/serviceURL"),
];
