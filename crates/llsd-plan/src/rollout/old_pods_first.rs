//! Where no pod is available, old pods go before new ones come: they serve no request, and may hold the room
//! that the new ones need.

use serde_json::json;

use crate::live::DeploymentDetail;
use crate::objects::{PlannedObject, labels};

/// Changes the numbers of the rolling update for as long as old pods are there and none is available. With a
/// surge of one and none that may be missing, Kubernetes keeps a broken pod until a new one is available: on a
/// full node that never happens.
///
/// The numbers, because to change them restarts no pod and Kubernetes stays the only one that stops any: deleting a
/// pod would have its ReplicaSet make it again, and `Recreate` would wait for the end of each. The write carries the
/// version that was looked at, so a pod that became available since then is not taken away.
pub(super) fn let_old_pods_go(applied: &mut PlannedObject, live: Option<&DeploymentDetail>) {
    let hash = applied.json["metadata"]["annotations"][labels::TEMPLATE_HASH].as_str();
    let strategy = &applied.json["spec"]["strategy"];
    if strategy["type"] == "RollingUpdate" && live.is_some_and(|live| serves_nobody(live, hash)) {
        applied.json["spec"]["strategy"]["rollingUpdate"] =
            json!({"maxSurge": 0, "maxUnavailable": "100%"});
    }
}

/// Whether pods of another template than the one with this hash are there, and no pod is available.
fn serves_nobody(live: &DeploymentDetail, hash: Option<&str>) -> bool {
    let state = &live.state;
    let is_left = if state.is_observed() {
        state.replicas > state.updated
    } else {
        // The numbers speak of the Deployment before: until they are right, nothing changes.
        live.old_pods_go_first
    };
    let changes = live.template.as_deref() != hash;
    state.wanted > 0 && state.replicas > 0 && state.available == 0 && (changes || is_left)
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;
    use crate::live::DeploymentState;
    use crate::objects::ObjectKind;

    /// How pods are replaced by the template `new`.
    fn numbers(strategy: &Value, live: &DeploymentDetail) -> Value {
        let json = json!({
            "metadata": {"annotations": {labels::TEMPLATE_HASH: "new"}},
            "spec": {"strategy": strategy},
        });
        let mut applied =
            PlannedObject { kind: ObjectKind::Deployment, name: "llama".into(), json };
        let_old_pods_go(&mut applied, Some(live));
        applied.json["spec"]["strategy"]["rollingUpdate"].clone()
    }

    fn live(template: &str, state: DeploymentState) -> DeploymentDetail {
        DeploymentDetail { state, template: Some(template.into()), ..DeploymentDetail::default() }
    }

    fn state(replicas: i32, updated: i32, available: i32) -> DeploymentState {
        DeploymentState { wanted: 1, replicas, updated, available, ..DeploymentState::default() }
    }

    #[test]
    fn old_pods_go_first_only_where_no_pod_is_available() {
        let surge = json!({"maxSurge": 1, "maxUnavailable": 0});
        let first = json!({"maxSurge": 0, "maxUnavailable": "100%"});
        let rolling = json!({"type": "RollingUpdate", "rollingUpdate": surge});
        let of = |template: &str, state: DeploymentState| numbers(&rolling, &live(template, state));
        assert_eq!(of("old", state(1, 1, 0)), first, "a change of a broken server");
        assert_eq!(of("new", state(2, 1, 0)), first, "the broken pod is still there");
        assert_eq!(of("new", state(1, 1, 0)), surge, "it is gone");
        assert_eq!(of("old", state(1, 1, 1)), surge, "the old pod serves");
        assert_eq!(of("new", state(2, 1, 1)), surge);
        assert_eq!(of("old", state(0, 0, 0)), surge, "there is none to go");
        let asleep = DeploymentState { wanted: 0, ..state(1, 1, 0) };
        assert_eq!(of("old", asleep), surge, "no pod is wanted");
        let recreate = json!({"type": "Recreate"});
        assert_eq!(numbers(&recreate, &live("old", state(1, 1, 0))), Value::Null);
    }

    #[test]
    fn nothing_goes_back_and_forth_before_the_numbers_are_right() {
        let rolling = json!({"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}});
        let early = |goes_first: bool| {
            let state = DeploymentState { generation: 2, observed_generation: 1, ..state(1, 1, 0) };
            let live = DeploymentDetail { old_pods_go_first: goes_first, ..live("new", state) };
            numbers(&rolling, &live)["maxSurge"].clone()
        };
        assert_eq!((early(true), early(false)), (json!(0), json!(1)));
    }
}
