//! The rules that tie fields of the spec together, one function for each that the CRD has as CEL.
//! The words are those of `llsd_api::rules`.

use llsd_api::rules::{self, EXISTING_CLAIM_EXCLUDES, OVERRIDE_EXCLUDES};
use llsd_api::v1alpha2::{MetricsSpec, NetworkingSpec};
use serde_json::Value;

use super::value::{broken, present};
use super::{access, providers, resources};
use crate::problems::{FieldPath, Findings, Reason};

pub(super) fn check(spec: &Value, findings: &mut Findings) {
    distribution(spec, findings);
    override_config(spec, findings);
    storage(spec, findings);
    networking(spec, findings);
    workload(spec, findings);
    monitoring(spec, findings);
    access::check(spec, findings);
    providers::check(spec, findings);
    resources::check(spec, findings);
}

fn distribution(spec: &Value, findings: &mut Findings) {
    let Some(distribution @ Value::Object(_)) = present(spec, "distribution") else {
        return;
    };
    let reason = match (present(distribution, "name"), present(distribution, "image")) {
        (Some(_), Some(_)) => Reason::Conflict,
        (None, None) => Reason::Required,
        _ => return,
    };
    broken(&rules::NAME_XOR_IMAGE, &FieldPath::spec().key("distribution"), reason, findings);
}

fn override_config(spec: &Value, findings: &mut Findings) {
    if present(spec, "overrideConfig").is_none() {
        return;
    }
    for (section, rule) in OVERRIDE_EXCLUDES {
        if present(spec, section).is_some() {
            broken(&rule, &FieldPath::spec().key(section), Reason::Conflict, findings);
        }
    }
}

fn storage(spec: &Value, findings: &mut Findings) {
    let Some(storage) = present(spec, "storage") else {
        return;
    };
    let path = FieldPath::spec().key("storage");
    if let Some(kv) = present(storage, "kv") {
        let path = path.key("kv");
        let redis = kv["type"] == "redis";
        let sqlite = is_sqlite(kv);
        let endpoint = present(kv, "endpoint");
        if redis && endpoint.is_none() {
            broken(&rules::REDIS_NEEDS_ENDPOINT, &path.key("endpoint"), Reason::Required, findings);
        }
        if sqlite && endpoint.is_some() {
            broken(
                &rules::ENDPOINT_IS_FOR_REDIS,
                &path.key("endpoint"),
                Reason::Conflict,
                findings,
            );
        }
        if sqlite && present(kv, "password").is_some() {
            broken(
                &rules::PASSWORD_IS_FOR_REDIS,
                &path.key("password"),
                Reason::Conflict,
                findings,
            );
        }
        if endpoint.and_then(Value::as_str).is_some_and(|endpoint| endpoint.contains('@')) {
            broken(
                &rules::ENDPOINT_WITHOUT_CREDENTIALS,
                &path.key("endpoint"),
                Reason::Invalid,
                findings,
            );
        }
    }
    if let Some(sql) = present(storage, "sql") {
        let path = path.key("sql").key("connectionString");
        let connection_string = present(sql, "connectionString");
        if sql["type"] == "postgres" && connection_string.is_none() {
            broken(&rules::POSTGRES_NEEDS_CONNECTION_STRING, &path, Reason::Required, findings);
        }
        if is_sqlite(sql) && connection_string.is_some() {
            broken(&rules::CONNECTION_STRING_IS_FOR_POSTGRES, &path, Reason::Conflict, findings);
        }
    }
}

/// Whether the storage is sqlite, named or by default. A type that is neither this nor the other
/// one is a problem of its own and no reason to remark on the other fields.
fn is_sqlite(storage: &Value) -> bool {
    present(storage, "type").is_none_or(|kind| kind == "sqlite")
}

fn networking(spec: &Value, findings: &mut Findings) {
    let Some(tls) = present(spec, "networking").and_then(|networking| present(networking, "tls"))
    else {
        return;
    };
    if tls["enabled"] == true && present(tls, "secretName").is_none() {
        let path = FieldPath::spec().key("networking").key("tls").key("secretName");
        broken(&rules::TLS_NEEDS_SECRET, &path, Reason::Required, findings);
    }
}

fn monitoring(spec: &Value, findings: &mut Findings) {
    let metrics = present(spec, "monitoring").and_then(|found| present(found, "metrics"));
    let Some(metrics) = metrics.filter(|metrics| metrics["enabled"] == true) else { return };
    let path = FieldPath::spec().key("monitoring").key("metrics");
    let number = |object: Option<&Value>, field: &str| {
        object.and_then(|object| present(object, field)).and_then(Value::as_i64)
    };
    if number(present(spec, "workload"), "workers").is_some_and(|workers| workers > 1) {
        broken(&rules::METRICS_ONE_WORKER, &path.key("enabled"), Reason::Conflict, findings);
    }
    let port = number(Some(metrics), "port").unwrap_or(MetricsSpec::DEFAULT_PORT.into());
    let server =
        number(present(spec, "networking"), "port").unwrap_or(NetworkingSpec::DEFAULT_PORT.into());
    if port == server {
        broken(&rules::METRICS_PORT_OF_ITS_OWN, &path.key("port"), Reason::Conflict, findings);
    }
}

fn workload(spec: &Value, findings: &mut Findings) {
    let Some(workload) = present(spec, "workload") else {
        return;
    };
    let path = FieldPath::spec().key("workload");
    if let Some(budget @ Value::Object(_)) = present(workload, "podDisruptionBudget")
        && present(budget, "minAvailable").is_some() == present(budget, "maxUnavailable").is_some()
    {
        broken(
            &rules::ONE_DISRUPTION_BOUND,
            &path.key("podDisruptionBudget"),
            Reason::Conflict,
            findings,
        );
    }
    volume(workload, &path.key("storage"), findings);
    overrides(workload, &path.key("overrides"), findings);
    let Some(autoscaling) = present(workload, "autoscaling") else {
        return;
    };
    let path = path.key("autoscaling");
    let number = |field: &str| present(autoscaling, field).and_then(Value::as_i64);
    if let (Some(min), Some(max)) = (number("minReplicas"), number("maxReplicas"))
        && max < min
    {
        broken(&rules::MAX_NOT_BELOW_MIN, &path.key("maxReplicas"), Reason::Conflict, findings);
    }
    for (short, long, rule) in [
        ("targetCPUUtilization", "targetCPUUtilizationPercentage", rules::ONE_CPU_TARGET),
        ("targetMemoryUtilization", "targetMemoryUtilizationPercentage", rules::ONE_MEMORY_TARGET),
    ] {
        if let (Some(short_value), Some(long_value)) =
            (present(autoscaling, short), present(autoscaling, long))
            && short_value != long_value
        {
            broken(&rule, &path.key(long), Reason::Conflict, findings);
        }
    }
}

fn volume(workload: &Value, path: &FieldPath, findings: &mut Findings) {
    let Some(volume) = present(workload, "storage") else { return };
    if present(volume, "existingClaim").is_none() {
        return;
    }
    for (field, rule) in EXISTING_CLAIM_EXCLUDES {
        let given = present(volume, field);
        let clashes = match field {
            "deletionPolicy" => given.is_some_and(|policy| policy == "Delete"),
            _ => given.is_some(),
        };
        if clashes {
            broken(&rule, &path.key(field), Reason::Conflict, findings);
        }
    }
}

fn overrides(workload: &Value, path: &FieldPath, findings: &mut Findings) {
    let Some(overrides) = present(workload, "overrides") else { return };
    let number = |field: &str| present(overrides, field).and_then(Value::as_i64);
    if let (Some(drain), Some(grace)) =
        (number("drainSeconds"), number("terminationGracePeriodSeconds"))
        && drain > 0
        && drain >= grace
    {
        broken(&rules::DRAIN_WITHIN_GRACE, &path.key("drainSeconds"), Reason::Conflict, findings);
    }
    if let (Some(settled), Some(deadline)) =
        (number("minReadySeconds"), number("progressDeadlineSeconds"))
        && settled >= deadline
    {
        let path = path.key("minReadySeconds");
        broken(&rules::READY_WITHIN_DEADLINE, &path, Reason::Conflict, findings);
    }
}
