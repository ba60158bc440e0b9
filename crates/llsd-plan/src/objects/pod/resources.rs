//! CPU and memory of the containers.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::objects::blueprint::Blueprint;
use crate::values::quantity::nanos;

/// Of a core, in thousandths: what a server uses while it answers a few requests a second. A start takes more,
/// and gets it where the node has some left. Measured: `docs/performance.md`.
const MILLICORES: i64 = 250;
/// In GiB: a server without PyTorch holds a quarter of it, and one that loads an embedding model most of it.
const GIBIBYTES: i64 = 1;

/// For each worker, which is a server of its own, what a real one needs, unless the resource says otherwise.
/// Limits are the resource's own or there are none: one made of a request throttles and kills servers that the
/// node has room for.
pub(super) fn of_server(blueprint: &Blueprint) -> ResourceRequirements {
    let mut resources = blueprint.workload().resources.clone().unwrap_or_default();
    let limits = resources.limits.take().unwrap_or_default();
    let mut requests = resources.requests.take().unwrap_or_default();
    let workers = i64::from(blueprint.workers());
    let cpu = format!("{}m", workers * MILLICORES);
    let memory = format!("{}Gi", workers * GIBIBYTES);
    for (name, default) in [("cpu", cpu), ("memory", memory)] {
        requests.entry(name.into()).or_insert_with(|| {
            // A request above its limit is refused.
            let limit = limits.get(name).filter(|limit| nanos(&limit.0) < nanos(&default));
            limit.cloned().unwrap_or(Quantity(default))
        });
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
