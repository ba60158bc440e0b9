//! What to do where the cluster has no room for a pod or a quota denies it: Kubernetes says what is missing, and
//! not which field of the resource asks for it.

const LIMITS: &str = "a quota of the namespace wants limits: set workload.resources.limits, or have a LimitRange \
                      give them by default";
const QUOTA: &str = "lower workload.resources, or have the quota raised";
const QUOTA_FOR_TWO: &str = "while the old pod serves, the quota must allow one more: have it raised, lower \
                             workload.resources, or set workload.overrides.strategy to Recreate, by which the old \
                             pod goes first and nothing serves meanwhile";
const ROOM: &str = "no node has that much left: lower workload.resources.requests, or make room";
const ROOM_FOR_TWO: &str = "while the old pod serves, a node must have room for one more: make room, lower \
                            workload.resources.requests, or set workload.overrides.strategy to Recreate, by which \
                            the old pod goes first and nothing serves meanwhile";

/// The words of Kubernetes about pods that cannot be made or find no node, and what to do about it. `serves` says
/// that a pod of before is available.
pub(super) fn with_remedy(trouble: String, serves: bool) -> String {
    let has = |words: &str| trouble.contains(words);
    let remedy = if has("must specify limits.") {
        LIMITS
    } else if has("exceeded quota") {
        if serves { QUOTA_FOR_TWO } else { QUOTA }
    } else if has("Insufficient cpu") || has("Insufficient memory") {
        if serves { ROOM_FOR_TWO } else { ROOM }
    } else {
        return trouble;
    };
    format!("{} ({remedy})", trouble.trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const FULL: &str =
        "Unschedulable: 0/1 nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes.";

    #[rstest]
    #[case(FULL, false, "lower workload.resources.requests, or make room")]
    #[case(FULL, true, "workload.overrides.strategy to Recreate")]
    #[case("Unschedulable: 0/1 nodes are available: 1 Insufficient memory.", true, "strategy")]
    #[case(
        "ReplicaFailure: pods \"llama-1\" is forbidden: failed quota: compute: must specify limits.cpu for: \
         llama-stack; limits.memory for: llama-stack",
        true,
        "set workload.resources.limits, or"
    )]
    #[case(
        "ReplicaFailure: pods \"llama-1\" is forbidden: exceeded quota: compute",
        false,
        "raised"
    )]
    #[case(
        "ReplicaFailure: pods \"llama-1\" is forbidden: exceeded quota: compute",
        true,
        "one more"
    )]
    fn what_the_cluster_has_no_room_for_comes_with_a_remedy(
        #[case] trouble: &str,
        #[case] serves: bool,
        #[case] remedy: &str,
    ) {
        let told = with_remedy(trouble.to_owned(), serves);
        assert!(told.starts_with(trouble.trim_end_matches('.')), "{told}");
        assert!(told.contains(remedy) && told.ends_with(')'), "{told}");
    }

    #[test]
    fn what_no_field_of_the_resource_asks_for_stays_as_kubernetes_says_it() {
        let trouble = "Unschedulable: 0/1 nodes are available: 1 node(s) had untolerated taint";
        assert_eq!(with_remedy(trouble.to_owned(), true), trouble);
    }
}
