//! CPU and memory of the containers. With one worker the server's defaults are v0.9's.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::objects::blueprint::Blueprint;
use crate::values::quantity::nanos;

/// One core and 1Gi of memory for each worker, each of which is a server of its own, unless the
/// resource says otherwise; limits alike where it sets `workers`.
pub(super) fn of_server(blueprint: &Blueprint) -> ResourceRequirements {
    let mut resources = blueprint.workload().resources.clone().unwrap_or_default();
    let mut limits = resources.limits.take().unwrap_or_default();
    let mut requests = resources.requests.take().unwrap_or_default();
    let workers = blueprint.workers();
    for (name, default) in [("cpu", workers.to_string()), ("memory", format!("{workers}Gi"))] {
        let request = requests.entry(name.into()).or_insert_with(|| {
            // A request above its limit is refused.
            let limit = limits.get(name).filter(|limit| nanos(&limit.0) < nanos(&default));
            limit.cloned().unwrap_or(Quantity(default))
        });
        if blueprint.workload().workers.is_some() {
            limits.entry(name.into()).or_insert_with(|| request.clone());
        }
    }
    resources.requests = Some(requests);
    resources.limits = Some(limits).filter(|limits| !limits.is_empty());
    resources
}

/// Enough to copy files, or to read and write one.
pub(super) fn of_init_container() -> ResourceRequirements {
    small([("cpu", "10m"), ("memory", "64Mi")], [("cpu", "1"), ("memory", "256Mi")])
}

/// Enough to pass bytes on.
pub(super) fn of_sidecar() -> ResourceRequirements {
    small([("cpu", "10m"), ("memory", "16Mi")], [("cpu", "500m"), ("memory", "64Mi")])
}

/// With limits, or a namespace with a quota on them would refuse the pod for these.
pub(in crate::objects) fn small(
    requests: [(&str, &str); 2],
    limits: [(&str, &str); 2],
) -> ResourceRequirements {
    let quantities = |list: [(&str, &str); 2]| {
        let quantities = list.map(|(name, amount)| (name.to_owned(), Quantity(amount.into())));
        Some(BTreeMap::from(quantities))
    };
    ResourceRequirements {
        requests: quantities(requests),
        limits: quantities(limits),
        claims: None,
    }
}
