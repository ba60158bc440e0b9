//! What must hold whatever happens. Each is a function that says what is wrong, in words for a person.

use llsd_plan::objects::{ObjectKind, labels};
use serde_json::Value;

use crate::wish::{Mood, SECRETS, mood};
use crate::world::World;

/// What is checked, and what the explorer remembers for it.
#[derive(Clone, Debug, Default)]
pub struct Watcher {
    /// For how many ticks in a row pods served without being reachable.
    unreached: u32,
    /// Templates that were refused or failed, and the word (spec, retry, refresh) of that time.
    condemned: Vec<(String, Word)>,
    /// The hash of the template that the Deployment had last.
    template: Option<String>,
}

/// What a person says about a server: its spec, and the annotations that ask for something.
type Word = (i64, Option<String>, Option<String>, [u32; 2]);

/// Looks after each tick.
pub fn after_tick(watcher: &mut Watcher, world: &World) -> Result<(), String> {
    served_pods_are_reached(watcher, world)?;
    condemned_templates_stay_away(watcher, world)?;
    last_good_has_served(world)
}

/// Looks once everything had time to come to rest.
pub fn at_rest(world: &World) -> Result<(), String> {
    holds_are_told(world)?;
    rotations_arrive_or_are_told(world)?;
    somebody_serves(world)
}

/// A pod that serves is reached: Service, NetworkPolicy and Ingress lead to its port. When pods of two
/// templates serve, one of them is enough.
fn served_pods_are_reached(watcher: &mut Watcher, world: &World) -> Result<(), String> {
    let ports: Vec<i64> = world.serving().map(|set| port(&set.template)).collect();
    let service = world.object(ObjectKind::Service).map(|stored| &stored.json["spec"]["ports"][0]);
    let policy = world.object(ObjectKind::NetworkPolicy);
    let policy = policy.map(|stored| &stored.json["spec"]["ingress"][0]["ports"][0]["port"]);
    let ingress = world.object(ObjectKind::Ingress).map(|stored| {
        &stored.json["spec"]["rules"][0]["http"]["paths"][0]["backend"]["service"]["port"]["number"]
    });
    let Some(service) = service else { return Ok(()) };
    let leads = service["targetPort"].as_i64().is_some_and(|port| ports.contains(&port))
        && policy.is_none_or(|policy| *policy == service["targetPort"])
        && ingress.is_none_or(|ingress| *ingress == service["port"]);
    watcher.unreached = if ports.is_empty() || leads { 0 } else { watcher.unreached + 1 };
    if watcher.unreached < 3 {
        return Ok(());
    }
    Err(format!(
        "pods serve on {ports:?}, and nobody reaches them: Service {service}, NetworkPolicy {policy:?}, \
         Ingress {ingress:?}"
    ))
}

fn port(template: &Value) -> i64 {
    template["spec"]["containers"][0]["ports"][0]["containerPort"].as_i64().unwrap_or_default()
}

/// A template that was refused or failed is not written again before its inputs change or a person asks for it.
fn condemned_templates_stay_away(watcher: &mut Watcher, world: &World) -> Result<(), String> {
    let Some(deployment) = world.deployment() else { return Ok(()) };
    let template = &deployment["spec"]["template"];
    let asked = |name: &str| world.annotations.get(name).cloned();
    let secrets = world.secrets;
    let word =
        (world.generation, asked("llamastack.io/retry"), asked("llamastack.io/refresh"), secrets);
    let now = identity(template);
    if watcher.template.as_ref() != Some(&now) {
        let known =
            watcher.condemned.iter().find(|(condemned, at)| *condemned == now && *at == word);
        if known.is_some() {
            return Err(format!("a template that was refused or failed is written again: {now}"));
        }
        // What the preflight refuses is never written while it can be asked.
        let can_ask = world.serving().next().is_some() && watcher.template.is_some();
        if mood(template) == Mood::Refused && can_ask {
            return Err(format!("a change is rolled out that its preflight refuses: {now}"));
        }
    }
    let back = deployment["metadata"]["annotations"][labels::ROLLED_BACK].as_str();
    if let (Some(before), true) =
        (&watcher.template, back.is_some() && watcher.template.as_ref() != Some(&now))
    {
        watcher.condemned.push((before.clone(), word));
    }
    watcher.template = Some(now);
    Ok(())
}

/// What a template is, without what only says from which values of Secrets it was made.
fn identity(template: &Value) -> String {
    let container = &template["spec"]["containers"][0];
    let env = container["env"].as_array().into_iter().flatten();
    let mood = env.filter(|variable| variable["name"] == crate::wish::MOOD);
    format!("{:?} on {}", mood.map(|it| &it["value"]).collect::<Vec<_>>(), port(template))
}

/// The last good state is one that served.
fn last_good_has_served(world: &World) -> Result<(), String> {
    let annotations = world.deployment().map(|deployment| &deployment["metadata"]["annotations"]);
    let Some(good) = annotations.and_then(|all| all[labels::LAST_GOOD].as_str()) else {
        return Ok(());
    };
    match world.replica_sets.iter().find(|set| set.hash == good) {
        Some(set) if !set.has_served => {
            Err(format!("{} never served, and counts as good", identity(&set.template)))
        }
        _ => Ok(()),
    }
}

/// Whatever runs otherwise than the resource says is told, in a condition.
fn holds_are_told(world: &World) -> Result<(), String> {
    let Some(deployment) = world.deployment() else { return Ok(()) };
    let runs = identity(&deployment["spec"]["template"]);
    let planned = world.wish.spec();
    let wished = format!(
        "{:?} on {}",
        [&planned["workload"]["overrides"]["env"][0]["value"]],
        world.wish.port()
    );
    if runs == wished || is_told(world, &["UpdatePending", "RolledBack", "Preflight", "Stalled"]) {
        return Ok(());
    }
    Err(format!("{runs} runs, {wished} is asked for, and no condition says why"))
}

fn is_told(world: &World, kinds: &[&str]) -> bool {
    let conditions = world.status["conditions"].as_array().into_iter().flatten();
    conditions
        .filter(|condition| kinds.iter().any(|kind| condition["type"] == *kind))
        .any(|condition| condition["type"] != "Preflight" || condition["status"] == "False")
}

/// What was rotated reaches pods, or a condition names the Secret, or says that the spec waits which no longer
/// names the Secret.
fn rotations_arrive_or_are_told(world: &World) -> Result<(), String> {
    for (which, name) in SECRETS.iter().enumerate() {
        let old = world.serving().find(|set| {
            reads(&set.template, name)
                && set.pods.iter().any(|pod| pod.secrets[which] != world.secrets[which])
        });
        let Some(old) = old else { continue };
        let said = world.status["conditions"].to_string();
        let is_named = world.wish.spec().to_string().contains(&format!("\"name\":\"{name}\""));
        let told = said.contains(&format!("Secret {name}"))
            || said.contains(&format!("secret:{name}/"))
            || !is_named && said.contains("what waits: spec");
        if !told {
            return Err(format!(
                "{} runs with an old value of Secret {name}, and no condition says so",
                identity(&old.template)
            ));
        }
    }
    Ok(())
}

fn reads(template: &Value, secret: &str) -> bool {
    template.to_string().contains(&format!("\"name\":\"{secret}\""))
}

/// If a state is known that served, at least one pod serves.
fn somebody_serves(world: &World) -> Result<(), String> {
    let wanted = world.deployment().map_or(0, |it| it["spec"]["replicas"].as_i64().unwrap_or(1));
    let known_good = world.replica_sets.iter().any(|set| set.has_served);
    let is_paused = world.annotations.contains_key("llamastack.io/paused");
    if wanted == 0 || is_paused || !known_good || world.serving().next().is_some() {
        return Ok(());
    }
    Err("no pod serves, although a state is known that did".to_owned())
}
