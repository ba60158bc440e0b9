//! What leads to the pods where nothing can be planned: it follows those that serve all the same. Nothing else
//! of it changes: what is asked for by now waits until it can be planned.

use serde_json::Value;

use super::action::Action;
use super::decide::{Decision, Rollout};
use super::guard;
use crate::facts::Facts;
use crate::fingerprint;
use crate::live::LiveObject;
use crate::objects::{ObjectKind, PlannedObject, labels, service, surroundings};
use crate::resource::Resource;
use crate::server::listening::Listening;

/// The objects that are to be read whole for [`decide_surroundings`]: the Deployment, and what leads to the pods.
/// None where that leads to those that serve.
pub fn led_astray<'a>(
    resource: &Resource,
    facts: &Facts,
    objects: &'a [LiveObject],
) -> Vec<&'a LiveObject> {
    let Some((deployment, serving)) = serving(resource, facts, objects) else { return Vec::new() };
    let planned = planned(resource, facts, &serving);
    let find = |planned: &PlannedObject| {
        objects.iter().find(|live| live.is_named(planned.kind, &planned.name))
    };
    let is_astray = |planned: &PlannedObject| {
        let action = Action::for_object(&planned.json, find(planned), resource.owner());
        planned.kind == ObjectKind::Service && matches!(action, Action::Update(_))
    };
    let is_recorded = deployment.deployment().is_some_and(|detail| detail.serves.is_some());
    if !is_recorded && !planned.iter().any(is_astray) {
        return Vec::new();
    }
    planned.iter().filter_map(find).chain([deployment]).collect()
}

/// What is to be done about the objects that [`led_astray`] names, as they are whole.
pub fn decide_surroundings<'a>(
    resource: &Resource,
    facts: &Facts,
    objects: &'a [LiveObject],
    whole: &[Value],
) -> Rollout<'a> {
    let mut rollout = Rollout::default();
    let Some((deployment, serving)) = serving(resource, facts, objects) else { return rollout };
    let find = |kind: ObjectKind| whole.iter().find(|object| object["kind"] == kind.name());
    let led_to = find(ObjectKind::Service).and_then(|service| led_to(resource, service, &serving));
    let Some(led_to) = led_to else { return rollout };
    if led_to != serving {
        let before = planned(resource, facts, &led_to);
        let mut now = planned(resource, facts, &serving);
        // By the Service it is known what is still to be done.
        now.sort_by_key(|object| object.kind == ObjectKind::Service);
        for object in now {
            let live = objects.iter().find(|live| live.is_named(object.kind, &object.name));
            let applied = find(object.kind).and_then(fingerprint::owned);
            let before = before.iter().find(|before| before.kind == object.kind);
            if let (Some(live), Some(mut json), Some(before)) = (live, applied, before) {
                follow(&mut json, &before.json, &object.json);
                let object = PlannedObject { json, ..object };
                rollout.decisions.push(Decision::for_object(resource, object, Some(live)));
            }
        }
    }
    let whole = find(ObjectKind::Deployment).and_then(fingerprint::owned);
    if let Some(json) = whole.and_then(|json| without_record(json, deployment)) {
        let (kind, name) = (ObjectKind::Deployment, deployment.name.to_string());
        let object = PlannedObject { kind, name, json };
        let decision = rollout.deployment(resource, object, Some(deployment), None);
        rollout.decisions.push(decision);
    }
    rollout
}

/// The Deployment, and how the pods of its template listen, where they are those that count.
fn serving<'a>(
    resource: &Resource,
    facts: &Facts,
    objects: &'a [LiveObject],
) -> Option<(&'a LiveObject, Listening)> {
    let is_known = facts.complete && resource.spec.is_some();
    let deployment = objects.iter().find(|live| live.deployment().is_some())?;
    let detail = deployment.deployment().filter(|detail| is_known && !detail.adopted)?;
    let serving = detail.serving().filter(|_| detail.state.is_observed())?;
    (detail.listening.as_ref() == Some(&serving)).then_some((deployment, serving))
}

/// What leads to pods that listen like this.
fn planned(resource: &Resource, facts: &Facts, listening: &Listening) -> Vec<PlannedObject> {
    let Some(spec) = &resource.spec else { return Vec::new() };
    let mut planned = surroundings(resource, &listening.laid_over(spec), facts);
    let is_open = spec.access.is_some() && !listening.guarded;
    planned.retain(|object| !(is_open && guard::is_held(object.kind, true)));
    planned
}

/// How the pods listen to which a Service leads.
fn led_to(resource: &Resource, service: &Value, serving: &Listening) -> Option<Listening> {
    let networking = resource.spec.as_ref().and_then(|spec| spec.networking.as_ref());
    let asked = networking.and_then(|networking| networking.tls.as_ref()?.secret_name.as_deref());
    let certificate = serving.tls.as_deref().or(asked).unwrap_or_default();
    let found = service::listening(service, certificate)?;
    Some(Listening { guarded: serving.guarded, ..found })
}

/// The Deployment without the record of how the pods of before listen, once there are none.
fn without_record(mut json: Value, deployment: &LiveObject) -> Option<Value> {
    deployment.deployment().filter(|detail| detail.state.is_complete())?;
    json["metadata"]["annotations"].as_object_mut()?.shift_remove(labels::SERVES)?;
    Some(json)
}

/// Gives `live` what differs between `before` and `now`, as far as it is as before.
fn follow(live: &mut Value, before: &Value, now: &Value) {
    match (live, before, now) {
        (_, before, now) if before == now => {}
        (Value::Object(live), Value::Object(before), Value::Object(now)) => {
            for (name, now) in now {
                match (live.get_mut(name), before.get(name)) {
                    (Some(live), Some(before)) => follow(live, before, now),
                    (None, None) => drop(live.insert(name.clone(), now.clone())),
                    _ => {}
                }
            }
            let is_gone = |name: &String| before.contains_key(name) && !now.contains_key(name);
            live.retain(|name, value| !(is_gone(name) && before.get(name) == Some(value)));
        }
        (Value::Array(live), Value::Array(before), Value::Array(now))
            if live.len() == before.len() && live.len() == now.len() =>
        {
            for (live, (before, now)) in live.iter_mut().zip(before.iter().zip(now)) {
                follow(live, before, now);
            }
        }
        (live, before, now) if live == before => *live = now.clone(),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resource() -> Resource {
        Resource::parse(&json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
            "metadata": {"name": "llama", "namespace": "here", "uid": "owner", "generation": 2},
            "spec": {"distribution": {"name": "starter"}, "networking": {"port": 9000}},
        }))
    }

    fn live(kind: ObjectKind, json: &mut Value, applied: &Value) -> LiveObject {
        json["kind"] = kind.name().into();
        json["metadata"]["uid"] = "1".into();
        json["metadata"]["labels"] =
            json!({labels::MANAGED_BY: labels::OPERATOR, labels::INSTANCE: "llama"});
        json["metadata"]["ownerReferences"] = json!([{
            "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
            "name": "llama", "uid": "owner", "controller": true,
        }]);
        json["metadata"]["managedFields"] = json!([{"manager": fingerprint::FIELD_MANAGER, "operation": "Apply", "fieldsV1": applied}]);
        LiveObject::parse(kind, json).expect("one of ours").1
    }

    /// A Deployment whose pods listen on 8321, and a Service that leads to 9000; both whole.
    fn returned(available: i32) -> (Vec<LiveObject>, Vec<Value>) {
        let mut deployment = json!({
            "metadata": {"name": "llama", "namespace": "here", "annotations": {
                labels::SERVES: r#"{"port":9000}"#, "kept": "",
            }},
            "spec": {"replicas": 1, "template": {"spec": {"containers": [
                {"name": "llama-stack", "image": "a", "ports": [{"containerPort": 8321}]},
            ]}}},
            "status": {"replicas": 1, "updatedReplicas": 1, "availableReplicas": available},
        });
        let mut service = json!({
            "metadata": {"name": "llama-service", "namespace": "here"},
            "spec": {"clusterIP": "10.0.0.1", "ports": [
                {"name": "http", "protocol": "TCP", "port": 9000, "targetPort": 9000},
            ]},
        });
        let serves = format!("f:{}", labels::SERVES);
        let of_deployment = json!({"f:metadata": {"f:annotations": {serves: {}, "f:kept": {}}}});
        let of_service = json!({"f:spec": {"f:ports": {"k:{\"port\":9000,\"protocol\":\"TCP\"}": {
            ".": {}, "f:name": {}, "f:protocol": {}, "f:port": {}, "f:targetPort": {},
        }}}});
        let objects = vec![
            live(ObjectKind::Deployment, &mut deployment, &of_deployment),
            live(ObjectKind::Service, &mut service, &of_service),
        ];
        (objects, vec![deployment, service])
    }

    fn decided(objects: &[LiveObject], whole: &[Value]) -> Vec<(ObjectKind, Value)> {
        let facts = Facts { complete: true, ..Facts::default() };
        let rollout = decide_surroundings(&resource(), &facts, objects, whole);
        let decisions = rollout.decisions.into_iter();
        let written = decisions.filter(|it| matches!(it.action, Action::Update(_)));
        written.map(|it| (it.object.kind, it.object.json)).collect()
    }

    #[test]
    fn a_service_follows_the_pods_that_serve_although_nothing_can_be_planned() {
        let facts = Facts { complete: true, ..Facts::default() };
        let (objects, whole) = returned(1);
        assert_eq!(led_astray(&resource(), &facts, &objects).len(), 2);
        let written = decided(&objects, &whole);
        let kinds: Vec<ObjectKind> = written.iter().map(|(kind, _)| *kind).collect();
        assert_eq!(kinds, [ObjectKind::Service, ObjectKind::Deployment], "the record goes last");
        let port = json!({"name": "http", "protocol": "TCP", "port": 8321, "targetPort": 8321});
        assert_eq!(written[0].1["spec"], json!({"ports": [port]}));
        assert_eq!(written[1].1["metadata"]["annotations"], json!({"kept": ""}));
        assert!(led_astray(&resource(), &Facts::default(), &objects).is_empty(), "not known");
    }

    #[test]
    fn a_service_stays_with_the_pods_of_before_until_all_are_replaced() {
        let (mut objects, mut whole) = returned(1);
        whole[0]["status"]["replicas"] = json!(2);
        objects[0] = LiveObject::parse(ObjectKind::Deployment, &whole[0]).expect("one of ours").1;
        assert_eq!(decided(&objects, &whole), []);
        let (objects, whole) = returned(0);
        let written = decided(&objects, &whole);
        assert_eq!(written.len(), 1, "nobody serves, and the record stays: {written:?}");
    }

    #[test]
    fn what_leads_to_the_pods_takes_over_how_they_listen_and_nothing_else() {
        let before = json!({"host": "new", "ports": [{"port": 1, "tls": true}], "all": [1, 2]});
        let now = json!({"host": "new", "ports": [{"port": 2}], "all": [1]});
        let mut live = json!({
            "host": "old", "ports": [{"port": 1, "tls": true, "protocol": "TCP"}], "all": [1, 2],
        });
        follow(&mut live, &before, &now);
        let expected =
            json!({"host": "old", "ports": [{"port": 2, "protocol": "TCP"}], "all": [1]});
        assert_eq!(live, expected);
        let mut edited = json!({"ports": [{"port": 3}]});
        follow(&mut edited, &before, &now);
        assert_eq!(edited, json!({"ports": [{"port": 3}]}), "somebody else's");
    }
}
