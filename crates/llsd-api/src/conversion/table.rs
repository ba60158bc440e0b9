//! Which field of one version is which field of the other: the whole mapping, as data.
//! The algorithm that reads it knows no field by name.

use serde_json::{Map, Value, json};

use super::Version;

/// One field that both versions have, at its place in each.
pub(super) struct Row {
    v1alpha1: &'static str,
    v1alpha2: &'static str,
    form: Form,
}

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
    /// v1alpha2 has two spellings of the targets, v1alpha1 only the longer one.
    Autoscaling,
    /// The reference to a `ConfigMap`, whose namespace only v1alpha1 can name.
    ConfigMapName,
}

const fn row(v1alpha1: &'static str, v1alpha2: &'static str) -> Row {
    formed(Form::Same, v1alpha1, v1alpha2)
}

const fn formed(form: Form, v1alpha1: &'static str, v1alpha2: &'static str) -> Row {
    Row {
        v1alpha1,
        v1alpha2,
        form,
    }
}

#[rustfmt::skip]
pub(super) const ROWS: &[Row] = &[
    row("/spec/replicas",                                        "/spec/workload/replicas"),
    row("/spec/server/distribution",                             "/spec/distribution"),
    row("/spec/server/containerSpec/port",                       "/spec/networking/port"),
    row("/spec/server/containerSpec/resources",                  "/spec/workload/resources"),
    row("/spec/server/containerSpec/env",                        "/spec/workload/overrides/env"),
    row("/spec/server/containerSpec/command",                    "/spec/workload/overrides/command"),
    row("/spec/server/containerSpec/args",                       "/spec/workload/overrides/args"),
    row("/spec/server/workers",                                  "/spec/workload/workers"),
    row("/spec/server/podOverrides/serviceAccountName",          "/spec/workload/overrides/serviceAccountName"),
    row("/spec/server/podOverrides/terminationGracePeriodSeconds", "/spec/workload/overrides/terminationGracePeriodSeconds"),
    row("/spec/server/podOverrides/volumes",                     "/spec/workload/overrides/volumes"),
    row("/spec/server/podOverrides/volumeMounts",                "/spec/workload/overrides/volumeMounts"),
    row("/spec/server/podDisruptionBudget",                      "/spec/workload/podDisruptionBudget"),
    row("/spec/server/topologySpreadConstraints",                "/spec/workload/topologySpreadConstraints"),
    formed(Form::Autoscaling, "/spec/server/autoscaling",        "/spec/workload/autoscaling"),
    formed(Form::Presence, "/spec/server/storage",               "/spec/workload/storage"),
    row("/spec/server/storage/size",                             "/spec/workload/storage/size"),
    row("/spec/server/storage/mountPath",                        "/spec/workload/storage/mountPath"),
    formed(Form::ConfigMapName, "/spec/server/userConfig",       OVERRIDE_CONFIG),
    row("/spec/server/tlsConfig/caBundle",                       "/spec/networking/tls/caBundle"),
    formed(Form::Exposure, "/spec/network/exposeRoute",          EXPOSE),
    row("/spec/network/allowedFrom",                             "/spec/networking/allowedFrom"),
    row("/status/phase",                                         "/status/phase"),
    row("/status/version",                                       "/status/version"),
    row("/status/distributionConfig",                            "/status/distributionConfig"),
    row("/status/conditions",                                    "/status/conditions"),
    row("/status/availableReplicas",                             "/status/availableReplicas"),
    row("/status/serviceURL",                                    "/status/serviceURL"),
    row("/status/routeURL",                                      "/status/routeURL"),
];

/// The parts of an object that differ between the versions. Present in both or in neither, and
/// passed on untouched where they are not objects.
pub(super) const SECTIONS: [&str; 2] = ["spec", "status"];

/// Where v1alpha2 says that a `ConfigMap` replaces the generated configuration.
pub(super) const OVERRIDE_CONFIG: &str = "/spec/overrideConfig";

/// What v1alpha2 refuses beside [`OVERRIDE_CONFIG`].
pub(super) const GENERATED_CONFIG: [&str; 4] = [
    "/spec/providers",
    "/spec/resources",
    "/spec/storage",
    "/spec/disabled",
];

/// Where v1alpha2 says whether and how the server is reachable from outside.
pub(super) const EXPOSE: &str = "/spec/networking/expose";

/// Where v1alpha1, and only it, names the server's container.
pub(super) const CONTAINER_NAME: &str = "/spec/server/containerSpec/name";

/// The name that the schema gives to a container that has none.
pub(super) const DEFAULT_CONTAINER_NAME: &str = "llama-stack";

/// A default of a version's schema: `key` of `container`, wherever that object is.
///
/// The API server defaults what a request brings and what storage holds, never what conversion
/// answers. A default that conversion left out would appear with the next write, as a change of
/// the spec that nobody made.
///
/// Sections that only v1alpha2 has (`storage.kv.type`) need no line: they come out of an object
/// that the API server has defaulted already.
pub(super) struct SchemaDefault {
    pub(super) container: &'static str,
    pub(super) key: &'static str,
    pub(super) value: fn() -> Value,
}

const fn fill(container: &'static str, key: &'static str, value: fn() -> Value) -> SchemaDefault {
    SchemaDefault {
        container,
        key,
        value,
    }
}

const V1ALPHA1_DEFAULTS: &[SchemaDefault] = &[
    fill("/spec", "replicas", || json!(1)),
    fill("/spec", "server", || json!({})),
    fill("/spec/server/containerSpec", "name", || {
        json!(DEFAULT_CONTAINER_NAME)
    }),
    fill("/spec/network", "exposeRoute", || json!(false)),
];

const V1ALPHA2_DEFAULTS: &[SchemaDefault] = &[
    fill("/spec/networking", "port", || json!(8321)),
    fill("/spec/workload/storage", "deletionPolicy", || {
        json!("Retain")
    }),
];

pub(super) fn defaults(version: Version) -> &'static [SchemaDefault] {
    match version {
        Version::V1Alpha1 => V1ALPHA1_DEFAULTS,
        Version::V1Alpha2 => V1ALPHA2_DEFAULTS,
    }
}

/// What the schema puts at `path` if nothing is there.
pub(super) fn default_at(version: Version, path: &str) -> Option<Value> {
    defaults(version)
        .iter()
        .find(|d| {
            path.strip_prefix(d.container)
                .and_then(|rest| rest.strip_prefix('/'))
                == Some(d.key)
        })
        .map(|d| (d.value)())
}

/// Whether fields of the other version land below `path`, so that what is carried must be told
/// apart field by field. Everything else is carried or left as one value.
pub(super) fn is_container(version: Version, path: &str) -> bool {
    // The object itself is none: an entry must not reach its name or its version.
    !path.is_empty()
        && ROWS.iter().any(|row| {
            row.path(version)
                .strip_prefix(path)
                .is_some_and(|rest| rest.starts_with('/'))
        })
}

/// Whether the object at `path` means something by being there, so that carrying a field of it
/// must not bring it back once the other version removed it.
pub(super) fn presence_counts(version: Version, path: &str) -> bool {
    path == "/status"
        || ROWS
            .iter()
            .any(|row| row.form == Form::Presence && row.path(version) == path)
}

impl Row {
    pub(super) fn path(&self, version: Version) -> &'static str {
        match version {
            Version::V1Alpha1 => self.v1alpha1,
            Version::V1Alpha2 => self.v1alpha2,
        }
    }

    /// The value as `to` writes it, or nothing if `to` has no way to say it.
    pub(super) fn express(&self, value: &Value, to: Version) -> Option<Value> {
        match self.form {
            Form::Same if value.is_null() => None,
            Form::Same => Some(value.clone()),
            Form::Presence => value.as_object().map(|_| json!({})),
            Form::Exposure => match value {
                Value::Bool(_) => Some(value.clone()),
                Value::Object(expose) if to == Version::V1Alpha1 => {
                    Some(json!(expose.get("enabled") != Some(&Value::Bool(false))))
                }
                _ => None,
            },
            Form::Autoscaling => {
                let mut autoscaling = value.as_object()?.clone();
                if to == Version::V1Alpha1 {
                    lengthen(&mut autoscaling, "targetCPUUtilization");
                    lengthen(&mut autoscaling, "targetMemoryUtilization");
                }
                Some(Value::Object(autoscaling))
            }
            Form::ConfigMapName => {
                let mut reference = value.as_object()?.clone();
                reference.retain(|key, _| key == "configMapName");
                Some(Value::Object(reference))
            }
        }
    }
}

/// Gives a target its v1alpha1 name. Where both spellings are set, v1alpha1's own stands: if they
/// disagree, that is for validation to say.
fn lengthen(autoscaling: &mut Map<String, Value>, short: &str) {
    if let Some(target) = autoscaling.shift_remove(short) {
        let long = autoscaling.entry(format!("{short}Percentage"));
        let long = long.or_insert(Value::Null);
        if long.is_null() {
            *long = target;
        }
    }
}
