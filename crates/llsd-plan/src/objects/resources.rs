//! CPU and memory of the containers. The server's defaults are v0.9's.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ResourceRequirements;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use super::Blueprint;

/// Memory that a server asks for unless the resource says otherwise.
const DEFAULT_MEMORY: &str = "1Gi";

/// One core for each worker and 1Gi of memory, unless the resource says otherwise; limits alike
/// where it sets `workers`.
pub(super) fn of_server(blueprint: &Blueprint) -> ResourceRequirements {
    let mut resources = blueprint.workload().resources.clone().unwrap_or_default();
    let mut limits = resources.limits.take().unwrap_or_default();
    let mut requests = resources.requests.take().unwrap_or_default();
    let cpu = blueprint.workers().to_string();
    for (name, default) in [("cpu", cpu.as_str()), ("memory", DEFAULT_MEMORY)] {
        let request = requests.entry(name.into()).or_insert_with(|| {
            // A request above its limit is refused.
            let limit = limits.get(name).filter(|limit| amount(limit) < amount_of(default));
            limit.cloned().unwrap_or_else(|| Quantity(default.into()))
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

/// With limits, or a namespace with a quota on them would refuse the pod for its helpers.
fn small(requests: [(&str, &str); 2], limits: [(&str, &str); 2]) -> ResourceRequirements {
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

fn amount(quantity: &Quantity) -> Option<f64> {
    amount_of(&quantity.0)
}

/// A quantity as a number, `None` where it is none. Good enough to compare, not to calculate with.
fn amount_of(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !matches!(c, '0'..='9' | '.' | '+' | '-')).unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    let factor = match suffix {
        "n" => 1e-9,
        "u" => 1e-6,
        "m" => 1e-3,
        "" => 1.0,
        "k" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "T" => 1e12,
        "P" => 1e15,
        "E" => 1e18,
        "Ki" => 1024_f64.powi(1),
        "Mi" => 1024_f64.powi(2),
        "Gi" => 1024_f64.powi(3),
        "Ti" => 1024_f64.powi(4),
        "Pi" => 1024_f64.powi(5),
        "Ei" => 1024_f64.powi(6),
        // The remaining notation is a decimal exponent, as in `5e3`.
        _ => return text.parse().ok(),
    };
    number.parse::<f64>().ok().map(|number| number * factor)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("500m", "1", true)]
    #[case("1", "1", false)]
    #[case("512Mi", "1Gi", true)]
    #[case("1e9", "1Gi", true)]
    #[case("2G", "1Gi", false)]
    #[case("much", "1Gi", true)]
    fn quantities_compare_over_their_notations(
        #[case] one: &str,
        #[case] other: &str,
        #[case] less: bool,
    ) {
        assert_eq!(amount_of(one) < amount_of(other), less);
    }
}
