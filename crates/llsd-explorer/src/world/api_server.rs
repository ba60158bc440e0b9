//! Server-side apply under the operator's manager, as far as the operator can tell: what is applied takes the
//! place of what was applied before, and `managedFields` says what that was.

use std::rc::Rc;

use llsd_plan::fingerprint::FIELD_MANAGER;
use llsd_plan::fingerprint::schema::{self, ListKind};
use llsd_plan::live::LiveObject;
use llsd_plan::objects::{ObjectKind, PlannedObject, labels};
use llsd_plan::rollout::Beforehand;
use serde_json::{Map, Value, json};

use super::state::{Guard, NAMESPACE, Stored, World, Write, time};
use super::template::Template;

/// A write that the API server refuses, because the object is another one by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict;

impl World {
    /// Creates an object, unless there is one of its name.
    pub fn create(&mut self, planned: &PlannedObject) -> Result<(), Rc<Value>> {
        let found = self.objects.iter().find(|it| it.live.is_named(planned.kind, &planned.name));
        if let Some(found) = found {
            return Err(Rc::clone(&found.json));
        }
        let uid = format!("{}-{}", planned.name, self.revision);
        let mut json = planned.json.clone();
        let metadata = &mut json["metadata"];
        metadata["uid"] = json!(uid);
        metadata["namespace"] = json!(NAMESPACE);
        metadata["generation"] = json!(1);
        metadata["creationTimestamp"] = json!(time(self.now));
        if planned.kind == ObjectKind::Deployment && json["spec"]["replicas"].is_null() {
            json["spec"]["replicas"] = json!(1);
        }
        self.store(planned.kind, json, &planned.json);
        Ok(())
    }

    /// Changes the object that a guard names.
    pub fn update(&mut self, write: &Write, guard: &Guard) -> Result<(), Conflict> {
        let planned = &write.object;
        let place =
            self.objects.iter().position(|it| it.live.is_named(planned.kind, &planned.name));
        let found = place.map(|place| &self.objects[place]).filter(|found| {
            *found.live.uid == *guard.uid
                && guard.version.is_none_or(|version| version == found.live.version)
        });
        let before = Rc::clone(&found.ok_or(Conflict)?.json);
        let mut json = planned.json.clone();
        for field in ["uid", "namespace", "generation", "creationTimestamp"] {
            json["metadata"][field] = before["metadata"][field].clone();
        }
        if planned.json["spec"].is_null() {
            // Only metadata is applied.
            json["spec"] = before["spec"].clone();
        } else if planned.kind == ObjectKind::Deployment && json["spec"]["replicas"].is_null() {
            json["spec"]["replicas"] = number_of_pods(&before, write.beforehand);
        }
        if json["spec"] != before["spec"] {
            let generation = before["metadata"]["generation"].as_i64().unwrap_or(0);
            json["metadata"]["generation"] = json!(generation + 1);
        }
        json["status"] = before["status"].clone();
        self.store(planned.kind, json, &planned.json);
        Ok(())
    }

    fn store(&mut self, kind: ObjectKind, mut json: Value, applied: &Value) {
        json["metadata"]["managedFields"] = json!([{
            "manager": FIELD_MANAGER, "operation": "Apply", "fieldsV1": owned_fields(applied),
        }]);
        self.writes += 1;
        self.put(kind, json);
    }

    /// Stores an object that a person or a controller of the cluster changed.
    pub fn put(&mut self, kind: ObjectKind, mut json: Value) {
        json["metadata"]["resourceVersion"] = json!(self.next_version().to_string());
        let Some((_, live)) = LiveObject::parse(kind, &json) else {
            panic!("not an object of ours: {json}");
        };
        let place = self.objects.iter().position(|known| known.live.is_named(kind, &live.name));
        let before = place.map(|place| self.objects.swap_remove(place));
        let template = (kind == ObjectKind::Deployment).then(|| {
            let known = before.and_then(|before| before.template);
            let is_known = known.filter(|known| known.json == json["spec"]["template"]);
            let read = || Rc::new(Template::read(json["spec"]["template"].clone()));
            is_known.unwrap_or_else(read)
        });
        self.objects.push(Stored { json: Rc::new(json), live: Rc::new(live), template });
    }

    /// Stores the status of an object, which says nothing of what the operator applied.
    pub(super) fn put_status(&mut self, kind: ObjectKind, status: Value) {
        let version = self.next_version();
        let Some(stored) = self.objects.iter_mut().find(|it| it.live.kind == kind) else { return };
        let json = Rc::make_mut(&mut stored.json);
        json["status"] = status;
        json["metadata"]["resourceVersion"] = json!(version.to_string());
        // To read again what was applied would take most of the time.
        let applied = json["metadata"]["managedFields"].take();
        let read = LiveObject::parse(kind, json);
        json["metadata"]["managedFields"] = applied;
        if let Some((_, live)) = read {
            stored.live = Rc::new(LiveObject { fingerprint: stored.live.fingerprint, ..live });
        }
    }

    /// Somebody else than the operator sets the number of pods, and owns it from now on.
    pub fn autoscale(&mut self, number: u64) {
        let Some(deployment) = self.deployment() else { return };
        let mut json = deployment.clone();
        if json["spec"]["replicas"] == json!(number) {
            return;
        }
        let generation = json["metadata"]["generation"].as_i64().unwrap_or(0);
        json["metadata"]["generation"] = json!(generation + 1);
        json["spec"]["replicas"] = json!(number);
        let fields = &mut json["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"];
        fields.as_object_mut().map(|fields| fields.shift_remove("f:replicas"));
        self.put(ObjectKind::Deployment, json);
        self.autoscaled = Some(number).filter(|_| self.given.wish.replicas.is_none());
    }

    /// Somebody overwrites the label by which the operator watches the Deployment.
    pub fn lose_label(&mut self) {
        let Some(mut deployment) = self.deployment().cloned() else { return };
        deployment["metadata"]["labels"][labels::MANAGED_BY] = "somebody".into();
        let fields =
            &mut deployment["metadata"]["managedFields"][0]["fieldsV1"]["f:metadata"]["f:labels"];
        let label = format!("f:{}", labels::MANAGED_BY);
        fields.as_object_mut().map(|fields| fields.shift_remove(&label));
        self.put(ObjectKind::Deployment, deployment);
    }

    /// What a watch by label shows.
    pub fn watched(&self) -> Vec<LiveObject> {
        let ours = |stored: &&Stored| {
            stored.json["metadata"]["labels"][labels::MANAGED_BY] == labels::OPERATOR
        };
        self.objects.iter().filter(ours).map(|stored| LiveObject::clone(&stored.live)).collect()
    }

    /// Takes a claim from its resource.
    pub fn disown(&mut self, kind: ObjectKind, name: &str) {
        let found = self.objects.iter().find(|it| it.live.is_named(kind, name));
        let Some(mut json) = found.map(|found| Value::clone(&found.json)) else { return };
        json["metadata"].as_object_mut().map(|fields| fields.shift_remove("ownerReferences"));
        self.writes += 1;
        self.put(kind, json);
    }
}

/// The pods of a Deployment that is applied without a number: a field that nobody else owns falls back to one.
fn number_of_pods(before: &Value, beforehand: Beforehand) -> Value {
    let ours = &before["metadata"]["managedFields"][0]["fieldsV1"]["f:spec"]["f:replicas"];
    match beforehand {
        Beforehand::LeavePods(number) | Beforehand::WakePods(number) => json!(number),
        Beforehand::Nothing | Beforehand::Disown if !ours.is_null() => json!(1),
        _ if before["spec"]["replicas"].is_null() => json!(1),
        _ => before["spec"]["replicas"].clone(),
    }
}

/// The fields that an apply owns, as `managedFields` has them.
fn owned_fields(applied: &Value) -> Value {
    let mut fields = Map::new();
    for (name, value) in applied.as_object().into_iter().flatten() {
        match name.as_str() {
            "apiVersion" | "kind" | "status" => {}
            "metadata" => {
                let mut metadata = value.clone();
                for own in ["name", "namespace", "uid", "resourceVersion", "generation"] {
                    metadata.as_object_mut().map(|fields| fields.shift_remove(own));
                }
                fields.insert(format!("f:{name}"), below(name, &metadata));
            }
            _ => drop(fields.insert(format!("f:{name}"), below(name, value))),
        }
    }
    Value::Object(fields)
}

fn below(name: &str, value: &Value) -> Value {
    match value {
        Value::Object(fields) if !schema::is_atomic_map(name) => {
            let of = |(name, value): (&String, &Value)| (format!("f:{name}"), below(name, value));
            Value::Object(fields.iter().map(of).collect())
        }
        Value::Array(items) => match schema::list_kind(name) {
            ListKind::Atomic => json!({}),
            ListKind::Merged => items.iter().map(|item| merged_item(name, item)).collect(),
            ListKind::MergedOfWholeItems => items
                .iter()
                .map(|item| (format!("v:{item}"), json!({})))
                .collect::<Map<_, _>>()
                .into(),
        },
        _ => json!({}),
    }
}

fn merged_item(name: &str, item: &Value) -> (String, Value) {
    let keys: &[&str] = match name {
        "ports" => &["containerPort", "port", "protocol"],
        "volumeMounts" => &["mountPath"],
        "topologySpreadConstraints" => &["topologyKey", "whenUnsatisfiable"],
        _ => &["name"],
    };
    let given = keys.iter().filter_map(|key| Some(((*key).to_owned(), item.get(*key)?.clone())));
    let keys: Map<String, Value> = given.collect();
    let mut fields = below("", item);
    fields["."] = json!({});
    (format!("k:{}", Value::Object(keys)), fields)
}
