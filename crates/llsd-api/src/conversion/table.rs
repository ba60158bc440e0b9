//! Which field of one version is which field of the other: the whole mapping, as data.
//! The algorithm that reads it knows no field by name.

use serde_json::{Value, json};

use self::Form::{ConfigMapName, DisruptionBudget, Exposure, Presence, Same, ShortName};
use super::paths::split;
use super::version::Version;

/// One field that both versions have: how its value changes, and its place in v1alpha1 and in
/// v1alpha2.
pub(super) struct Row(Form, &'static str, &'static str);

/// How a value changes on its way; most do not.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// The value as it is. Null means "not set" in Kubernetes and is left to the carried entries.
    Same,
    /// Only that an object is there: `storage: {}` asks for a volume of the default size. Its
    /// fields have rows of their own.
    Presence,
    /// A boolean in v1alpha1, a boolean or an object in v1alpha2.
    Exposure,
    /// The shorter of v1alpha2's two spellings of a target; v1alpha1 has only the longer one. Where
    /// both are set the longer one stands, which comes after this: if they disagree, that is for
    /// validation to say.
    ShortName,
    /// Operator v0.9 takes an empty budget for one pod at a time; v1alpha2 wants it said.
    DisruptionBudget,
    /// The reference to a `ConfigMap`, whose namespace only v1alpha1 can name.
    ConfigMapName,
}

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    Row(Same,          "/spec/replicas",                                           "/spec/workload/replicas"),
    Row(Same,          "/spec/server/distribution",                                "/spec/distribution"),
    Row(Same,          "/spec/server/containerSpec/port",                          "/spec/networking/port"),
    Row(Same,          "/spec/server/containerSpec/resources",                     "/spec/workload/resources"),
    Row(Same,          "/spec/server/containerSpec/env",                           "/spec/workload/overrides/env"),
    Row(Same,          "/spec/server/containerSpec/command",                       "/spec/workload/overrides/command"),
    Row(Same,          "/spec/server/containerSpec/args",                          "/spec/workload/overrides/args"),
    Row(Same,          "/spec/server/workers",                                     "/spec/workload/workers"),
    Row(Same,          "/spec/server/podOverrides/serviceAccountName",             "/spec/workload/overrides/serviceAccountName"),
    Row(Same,          "/spec/server/podOverrides/terminationGracePeriodSeconds",  "/spec/workload/overrides/terminationGracePeriodSeconds"),
    Row(Same,          "/spec/server/podOverrides/volumes",                        "/spec/workload/overrides/volumes"),
    Row(Same,          "/spec/server/podOverrides/volumeMounts",                   "/spec/workload/overrides/volumeMounts"),
    Row(DisruptionBudget, "/spec/server/podDisruptionBudget",                      "/spec/workload/podDisruptionBudget"),
    Row(Same,          "/spec/server/topologySpreadConstraints",                   "/spec/workload/topologySpreadConstraints"),
    Row(Presence,      "/spec/server/autoscaling",                                 "/spec/workload/autoscaling"),
    Row(Same,          "/spec/server/autoscaling/minReplicas",                     "/spec/workload/autoscaling/minReplicas"),
    Row(Same,          "/spec/server/autoscaling/maxReplicas",                     "/spec/workload/autoscaling/maxReplicas"),
    Row(ShortName,     "/spec/server/autoscaling/targetCPUUtilizationPercentage",  "/spec/workload/autoscaling/targetCPUUtilization"),
    Row(Same,          "/spec/server/autoscaling/targetCPUUtilizationPercentage",  "/spec/workload/autoscaling/targetCPUUtilizationPercentage"),
    Row(ShortName,     "/spec/server/autoscaling/targetMemoryUtilizationPercentage", "/spec/workload/autoscaling/targetMemoryUtilization"),
    Row(Same,          "/spec/server/autoscaling/targetMemoryUtilizationPercentage", "/spec/workload/autoscaling/targetMemoryUtilizationPercentage"),
    Row(Presence,      "/spec/server/storage",                                     "/spec/workload/storage"),
    Row(Same,          "/spec/server/storage/size",                                "/spec/workload/storage/size"),
    Row(Same,          "/spec/server/storage/mountPath",                           "/spec/workload/storage/mountPath"),
    Row(ConfigMapName, "/spec/server/userConfig",                                  OVERRIDE_CONFIG),
    Row(Same,          "/spec/server/tlsConfig/caBundle",                          "/spec/networking/tls/caBundle"),
    Row(Exposure,      "/spec/network/exposeRoute",                                EXPOSE),
    Row(Presence,      "/spec/network/allowedFrom",                                "/spec/networking/allowedFrom"),
    Row(Same,          "/spec/network/allowedFrom/namespaces",                     "/spec/networking/allowedFrom/namespaces"),
    Row(Same,          "/spec/network/allowedFrom/labels",                         "/spec/networking/allowedFrom/labels"),
    Row(Same,          "/status/phase",                                            "/status/phase"),
    Row(Same,          "/status/version",                                          "/status/version"),
    Row(Same,          "/status/distributionConfig",                               "/status/distributionConfig"),
    Row(Same,          "/status/conditions",                                       "/status/conditions"),
    Row(Same,          "/status/availableReplicas",                                "/status/availableReplicas"),
    Row(Same,          "/status/serviceURL",                                       "/status/serviceURL"),
    Row(Same,          "/status/routeURL",                                         "/status/routeURL"),
];

/// The v1alpha1 field that the v1alpha2 field at this JSON pointer comes from, so that findings on
/// a converted object can name the fields that its author wrote.
pub fn v1alpha1_field(v1alpha2: &str) -> Option<&'static str> {
    let row = ROWS.iter().find(|row| row.path(Version::V1Alpha2) == v1alpha2)?;
    Some(row.path(Version::V1Alpha1))
}

/// The v1alpha2 field that the v1alpha1 field at this JSON pointer becomes.
pub fn v1alpha2_field(v1alpha1: &str) -> Option<&'static str> {
    let row = ROWS.iter().rfind(|row| row.path(Version::V1Alpha1) == v1alpha1)?;
    Some(row.path(Version::V1Alpha2))
}

/// The longer spelling of the v1alpha2 field at `path`, where that is the shorter of two.
pub(super) fn longer_name(path: &str) -> Option<&'static str> {
    let Row(_, v1alpha1, _) = ROWS.iter().find(|row| row.0 == ShortName && row.2 == path)?;
    ROWS.iter().find(|row| row.0 == Same && row.1 == *v1alpha1).map(|row| row.2)
}

/// The parts of an object that differ between the versions. Present in both or in neither, and
/// passed on untouched where they are not objects.
pub(super) const SECTIONS: [&str; 2] = ["spec", "status"];

/// Where v1alpha2 says that a `ConfigMap` replaces the generated configuration.
pub(super) const OVERRIDE_CONFIG: &str = "/spec/overrideConfig";

/// What v1alpha2 refuses beside [`OVERRIDE_CONFIG`].
pub(super) const GENERATED_CONFIG: [&str; 5] =
    ["/spec/providers", "/spec/resources", "/spec/storage", "/spec/disabled", "/spec/access"];

/// Where v1alpha2 says whether and how the server is reachable from outside.
pub(super) const EXPOSE: &str = "/spec/networking/expose";

/// Where v1alpha1, and only it, names the server's container.
pub(super) const CONTAINER_NAME: &str = "/spec/server/containerSpec/name";

/// The name that the schema gives to a container that has none.
pub(super) const DEFAULT_CONTAINER_NAME: &str = "llama-stack";

/// A default of a version's schema: the value of a field of an object, wherever that object is.
///
/// The API server defaults what a request brings and what storage holds, never what conversion
/// answers. A default that conversion left out would appear with the next write, as a change of
/// the spec that nobody made.
///
/// Sections that only v1alpha2 has (`storage.kv.type`) need no line: they come out of an object
/// that the API server has defaulted already.
pub(super) type SchemaDefault = (&'static str, &'static str, fn() -> Value);

const V1ALPHA1_DEFAULTS: &[SchemaDefault] = &[
    ("/spec", "replicas", || json!(1)),
    // Required, not defaulted.
    ("/spec", "server", || json!({})),
    ("/spec/server/containerSpec", "name", || json!(DEFAULT_CONTAINER_NAME)),
    ("/spec/network", "exposeRoute", || json!(false)),
];

const V1ALPHA2_DEFAULTS: &[SchemaDefault] = &[
    ("/spec/networking", "port", || json!(8321)),
    ("/spec/workload/storage", "deletionPolicy", || json!("Retain")),
];

pub(super) fn defaults(version: Version) -> &'static [SchemaDefault] {
    match version {
        Version::V1Alpha1 => V1ALPHA1_DEFAULTS,
        Version::V1Alpha2 => V1ALPHA2_DEFAULTS,
    }
}

/// What the schema puts at `path` if nothing is there.
pub(super) fn default_at(version: Version, path: &str) -> Option<Value> {
    let (holder, key) = split(path);
    defaults(version)
        .iter()
        .find(|default| (default.0, default.1) == (holder, key))
        .map(|(.., value)| value())
}

/// Whether fields of the other version land below `path`, so that what is carried must be told
/// apart field by field. Everything else is carried or left as one value.
pub(super) fn is_container(version: Version, path: &str) -> bool {
    // The object itself is none: an entry must not reach its name or its version.
    !path.is_empty()
        && ROWS.iter().any(|row| {
            row.path(version).strip_prefix(path).is_some_and(|rest| rest.starts_with('/'))
        })
}

/// Whether the object at `path` means something by being there, so that carrying a field of it
/// must not bring it back once the other version removed it.
pub(super) fn presence_counts(version: Version, path: &str) -> bool {
    path == "/status" || ROWS.iter().any(|row| row.0 == Presence && row.path(version) == path)
}

impl Row {
    pub(super) fn path(&self, version: Version) -> &'static str {
        match version {
            Version::V1Alpha1 => self.1,
            Version::V1Alpha2 => self.2,
        }
    }

    /// The value as `to` writes it, or nothing if `to` has no way to say it.
    pub(super) fn express(&self, value: &Value, to: Version) -> Option<Value> {
        match self.0 {
            Presence => value.as_object().map(|_| json!({})),
            Exposure => match value {
                Value::Bool(_) => Some(value.clone()),
                Value::Object(expose) if to == Version::V1Alpha1 => {
                    Some(json!(expose.get("enabled") != Some(&Value::Bool(false))))
                }
                _ => None,
            },
            DisruptionBudget if *value == json!({}) && to == Version::V1Alpha2 => {
                Some(json!({"maxUnavailable": 1}))
            }
            ConfigMapName => {
                let mut reference = value.as_object()?.clone();
                reference.retain(|key, _| key == "configMapName");
                Some(Value::Object(reference))
            }
            ShortName if to == Version::V1Alpha2 => None,
            Same | ShortName | DisruptionBudget => {
                Some(value).filter(|value| !value.is_null()).cloned()
            }
        }
    }
}
