//! Whether pods serve, how many there are, and whether they are reached.

use llsd_plan::objects::ObjectKind;

use super::watcher::Watcher;
use crate::world::World;

/// A pod that serves is reached: Service, NetworkPolicy and Ingress lead to its port. When pods of two
/// templates serve, one of them is enough. For a paused resource, the operator writes nothing. If a template was
/// replaced before its rollout was complete, the Deployment does not tell whether its pods serve.
pub(super) fn served_pods_are_reached(watcher: &mut Watcher, world: &World) -> Result<(), String> {
    let mut ports = world.serving().map(|set| set.template.port);
    let spec = |kind| world.object(kind).map(|stored| &stored.json["spec"]);
    let Some(service) = spec(ObjectKind::Service).map(|spec| &spec["ports"][0]) else {
        return Ok(());
    };
    let policy =
        spec(ObjectKind::NetworkPolicy).map(|spec| &spec["ingress"][0]["ports"][0]["port"]);
    let ingress = spec(ObjectKind::Ingress)
        .map(|spec| &spec["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"]["number"]);
    let leads = service["targetPort"].as_i64().is_some_and(|to| ports.any(|port| port == to))
        && policy.is_none_or(|policy| *policy == service["targetPort"])
        && ingress.is_none_or(|ingress| *ingress == service["port"]);
    let serves = world.serving().any(|set| set.is_complete);
    let is_right = leads || !serves || world.given.paused;
    watcher.unreached = if is_right { 0 } else { watcher.unreached + 1 };
    if watcher.unreached < 3 {
        return Ok(());
    }
    let ports: Vec<i64> = world.serving().map(|set| set.template.port).collect();
    Err(format!(
        "pods serve on {ports:?}, and nobody reaches them: Service {service}, NetworkPolicy {policy:?}, \
         Ingress {ingress:?}"
    ))
}

/// If a state is known that served, at least one pod serves, also while nothing can be planned. An operator in a
/// cluster that allows no pod is not to blame.
pub(super) fn somebody_serves(world: &World) -> Result<(), String> {
    let wanted = world.deployment().map_or(0, |it| it["spec"]["replicas"].as_i64().unwrap_or(1));
    let known_good = world.replica_sets.iter().any(|set| set.has_served);
    let has_pods = world.replica_sets.iter().any(|set| !set.pods.is_empty());
    let is_denied = world.given.trouble.quota && !has_pods;
    let is_excused = world.given.paused || is_denied;
    if wanted == 0 || is_excused || !known_good || world.serving().next().is_some() {
        return Ok(());
    }
    Err("no pod serves, although a state is known that did".to_owned())
}

/// The number of pods that an autoscaler has set stays, while the resource says none.
pub(super) fn number_of_others_stays(world: &World) -> Result<(), String> {
    let has = world.deployment().and_then(|deployment| deployment["spec"]["replicas"].as_u64());
    match (world.autoscaled, world.given.wish.replicas) {
        (Some(set), None) if has != Some(set) => {
            Err(format!("an autoscaler asked for {set} pods, and the Deployment has {has:?}"))
        }
        _ => Ok(()),
    }
}
