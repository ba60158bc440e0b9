//! What must hold of every object. Each law answers with the loss it found.

use std::collections::BTreeMap;

use llsd_api::conversion::{Version, convert};
use serde_json::{Value, json};

use super::api_server::with_defaults;
use super::generate::{garble, json_value, scribble, well_formed};
use super::random::Random;
use super::shapes::{HOLDERS, PAIRS};

/// A field's place in v1alpha1 and in v1alpha2.
pub(crate) type Pair = (&'static str, &'static str);

pub(crate) type Law = Result<(), String>;

/// Makes the object of this seed and holds all laws against it.
pub(crate) fn check(seed: u64) -> Law {
    let mut random = Random::new(seed);
    let version = *random.pick(&Version::ALL);
    let mut object = well_formed(&mut random, version);
    match random.below(4) {
        0 => {
            garble(&mut random, &mut object);
            if object.get("metadata").is_some_and(Value::is_object) {
                comes_back(&object, version)
            } else {
                is_answered(&object, version)
            }
        }
        1 => {
            scribble(&mut random, &mut object);
            if random.one_in(2) {
                garble(&mut random, &mut object);
            }
            settles(&object, version)
        }
        2 => {
            comes_back(&object, version)?;
            comes_back_through_defaults(&with_defaults(object, version), version)
        }
        _ => change_wins(&mut random, &with_defaults(object, version), version),
    }
}

pub(crate) fn other(version: Version) -> Version {
    match version {
        Version::V1Alpha1 => Version::V1Alpha2,
        Version::V1Alpha2 => Version::V1Alpha1,
    }
}

fn there_and_back(object: &Value, version: Version) -> Value {
    convert(convert(object.clone(), other(version)), version)
}

pub(crate) fn comes_back(object: &Value, version: Version) -> Law {
    let there = convert(object.clone(), other(version));
    let back = convert(there.clone(), version);
    same(object, &back, &format!("there and back over {there}"))
}

fn comes_back_through_defaults(object: &Value, version: Version) -> Law {
    let there = with_defaults(convert(object.clone(), other(version)), other(version));
    let back = convert(there.clone(), version);
    same(object, &back, &format!("there, defaulted, and back over {there}"))
}

/// Without metadata nothing can be carried, but there is an answer, in the version asked for.
fn is_answered(object: &Value, version: Version) -> Law {
    let there = convert(object.clone(), other(version));
    if Version::from_object(&there) == Some(other(version))
        && there.get("metadata") == object.get("metadata")
    {
        Ok(())
    } else {
        Err(format!("no answer: {object} became {there}"))
    }
}

/// Whatever the annotations say, one round trip settles them, and none changes the rest.
fn settles(object: &Value, version: Version) -> Law {
    let once = there_and_back(object, version);
    let twice = there_and_back(&once, version);
    if once.get("metadata").is_some_and(Value::is_object) {
        same(&once, &twice, &format!("the second round trip of {object}"))?;
        if version == Version::V1Alpha1 {
            same(&object["spec"], &once["spec"], &format!("the spec of {object}"))?;
            same(&object["status"], &once["status"], &format!("the status of {object}"))?;
        }
    }
    Ok(())
}

fn same(expected: &Value, got: &Value, what: &str) -> Law {
    if expected == got {
        Ok(())
    } else {
        Err(format!("{what}:\n  expected {expected}\n  got      {got}"))
    }
}

/// Changes one field through the other version. The change must arrive, and every other field
/// must stay.
fn change_wins(random: &mut Random, object: &Value, version: Version) -> Law {
    let pair = *random.pick(&PAIRS);
    let (here, there) = match version {
        Version::V1Alpha1 => (pair.0, pair.1),
        Version::V1Alpha2 => (pair.1, pair.0),
    };
    let section = &here[1..here[1..].find('/').map_or(here.len(), |end| end + 1)];
    if !object.get(section).is_some_and(Value::is_object) {
        return Ok(());
    }
    let mut seen = convert(object.clone(), other(version));
    let said =
        |object: &Value| object.pointer(there).filter(|value| !is_nothing(there, value)).cloned();
    let old = said(&seen);
    let new = (!random.one_in(4)).then(|| new_value(random, there));
    set(&mut seen, there, new);
    let seen = with_defaults(seen, other(version));
    let new = said(&seen);
    let after = convert(seen.clone(), version);

    let mut expected = fields(object, version);
    let mut got = fields(&after, version);
    if old != new {
        let arrived = got.get(here).cloned();
        expected.retain(|path, _| !below(path, here));
        got.retain(|path, _| !below(path, here));
        let told = new.as_ref().map(|new| translated(here, new));
        if arrived != told.filter(|told| !is_nothing(here, told))
            && !OBJECTS.iter().any(|pair| here == pair.0 || here == pair.1)
        {
            return Err(format!(
                "{there} set to {new:?} is lost:\n  {object}\n  {seen}\n  {after}"
            ));
        }
    }
    if here == "/spec/overrideConfig" && old != new && new.is_some() {
        displaced_sections_wait(&after, &expected)?;
        expected.retain(|path, _| !EXCLUDED.contains(&path.as_str()));
    }
    if expected == got {
        Ok(())
    } else {
        Err(format!(
            "{there} set to {new:?} costs another field:\n  {object}\n  {seen}\n  {after}\n  {expected:?}\n  {got:?}"
        ))
    }
}

/// Objects whose fields move one by one.
pub(crate) const OBJECTS: [Pair; 3] = [
    ("/spec/server/storage", "/spec/workload/storage"),
    ("/spec/server/autoscaling", "/spec/workload/autoscaling"),
    ("/spec/network/allowedFrom", "/spec/networking/allowedFrom"),
];

const EXCLUDED: [&str; 5] =
    ["/spec/providers", "/spec/resources", "/spec/storage", "/spec/disabled", "/spec/access"];

/// None of them stands beside `overrideConfig`, and all return when v1alpha1 gives it up.
fn displaced_sections_wait(displaced: &Value, expected: &BTreeMap<String, Value>) -> Law {
    let shown = fields(displaced, Version::V1Alpha2);
    let mut v1alpha1 = convert(displaced.clone(), Version::V1Alpha1);
    set(&mut v1alpha1, "/spec/server/userConfig", None);
    let returned = fields(&convert(v1alpha1, Version::V1Alpha2), Version::V1Alpha2);
    for path in EXCLUDED {
        if shown.contains_key(path) || returned.get(path) != expected.get(path) {
            return Err(format!("{path} did not wait: {displaced}, then {returned:?}"));
        }
    }
    Ok(())
}

fn below(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

fn new_value(random: &mut Random, path: &str) -> Value {
    match path {
        "/spec/network/exposeRoute" => json!(random.one_in(2)),
        "/spec/networking/expose" => match random.below(4) {
            0 => json!(true),
            1 => json!(false),
            2 => json!({"hostname": "new.example.com"}),
            _ => json!({"enabled": false, "hostname": "new.example.com"}),
        },
        "/spec/server/autoscaling" => {
            json!({"maxReplicas": 77, "targetCPUUtilizationPercentage": 55})
        }
        "/spec/workload/autoscaling" => json!({"maxReplicas": 77, "targetCPUUtilization": 55}),
        "/spec/server/userConfig" | "/spec/overrideConfig" => json!({"configMapName": "new"}),
        "/spec/server/storage" | "/spec/workload/storage" => json!({"size": "77Gi"}),
        _ => match json_value(random, 2) {
            Value::Null => json!("new"),
            value => value,
        },
    }
}

/// The new value, as the version that has it at `here` says it.
fn translated(here: &str, new: &Value) -> Value {
    match (here, new) {
        ("/spec/network/exposeRoute", Value::Object(expose)) => {
            json!(expose.get("enabled") != Some(&json!(false)))
        }
        ("/spec/workload/podDisruptionBudget", Value::Object(budget)) if budget.is_empty() => {
            json!({"maxUnavailable": 1})
        }
        _ => new.clone(),
    }
}

fn set(object: &mut Value, path: &str, value: Option<Value>) {
    let (holder, key) = path.rsplit_once('/').expect("a path has a slash");
    if let Some(value) = value {
        let holder = holder.split('/').skip(1).fold(object, |place, key| &mut place[key]);
        holder[key] = value;
    } else if let Some(Value::Object(holder)) = object.pointer_mut(holder) {
        holder.shift_remove(key);
    }
}

/// All fields that say something, by path: without nulls, empty holders, and values that say what
/// their absence says too.
fn fields(object: &Value, version: Version) -> BTreeMap<String, Value> {
    let mut fields = BTreeMap::new();
    for section in ["spec", "status"] {
        if let Some(value) = object.get(section) {
            collect(&format!("/{section}"), value, version, &mut fields);
        }
    }
    fields
}

fn collect(path: &str, value: &Value, version: Version, into: &mut BTreeMap<String, Value>) {
    let holders = match version {
        Version::V1Alpha1 => HOLDERS[0],
        Version::V1Alpha2 => HOLDERS[1],
    };
    match value {
        Value::Object(fields) if holders.contains(&path) => {
            for (key, value) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect(&format!("{path}/{key}"), value, version, into);
            }
        }
        _ if is_nothing(path, value) => {}
        _ => {
            into.insert(path.to_owned(), value.clone());
        }
    }
}

fn is_nothing(path: &str, value: &Value) -> bool {
    let default = match path {
        "/spec/replicas" | "/spec/workload/replicas" => json!(1),
        "/spec/server/containerSpec/name" => json!("llama-stack"),
        "/spec/server/containerSpec/port" | "/spec/networking/port" => json!(8321),
        "/spec/network/exposeRoute" | "/spec/networking/expose" => json!(false),
        "/spec/workload/storage/deletionPolicy" => json!("Retain"),
        _ => Value::Null,
    };
    value.is_null() || *value == default
}
