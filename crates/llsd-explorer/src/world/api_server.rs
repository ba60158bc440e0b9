//! Server-side apply under the operator's manager, as far as the operator can tell: what is applied takes the
//! place of what was applied before, and `managedFields` says what that was.

use llsd_plan::fingerprint::FIELD_MANAGER;
use llsd_plan::fingerprint::schema::{self, ListKind};
use llsd_plan::live::LiveObject;
use llsd_plan::objects::{ObjectKind, PlannedObject, labels};
use serde_json::{Map, Value, json};

use super::state::{Guard, NAMESPACE, Stored, World, time};

/// A write that the API server refuses, because the object is another one by now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Conflict;

impl World {
    /// Creates an object, unless there is one of its name.
    pub fn create(&mut self, planned: &PlannedObject) -> Result<(), Box<Value>> {
        let found = self.objects.iter().find(|it| it.live.is_named(planned.kind, &planned.name));
        if let Some(found) = found {
            return Err(Box::new(found.json.clone()));
        }
        let uid = format!("{}-{}", planned.name, self.version);
        let mut json = planned.json.clone();
        let metadata = &mut json["metadata"];
        metadata["uid"] = json!(uid);
        metadata["namespace"] = json!(NAMESPACE);
        metadata["generation"] = json!(1);
        metadata["creationTimestamp"] = json!(time(self.now));
        self.store(planned.kind, json, &planned.json);
        Ok(())
    }

    /// Changes the object that a guard names.
    pub fn update(&mut self, planned: &PlannedObject, guard: &Guard) -> Result<(), Conflict> {
        let place =
            self.objects.iter().position(|it| it.live.is_named(planned.kind, &planned.name));
        let found = place.map(|place| &self.objects[place]).filter(|found| {
            *found.live.uid == *guard.uid
                && guard.version.is_none_or(|version| version == found.live.version)
        });
        let before = found.ok_or(Conflict)?.json.clone();
        let mut json = planned.json.clone();
        for field in ["uid", "namespace", "generation", "creationTimestamp"] {
            json["metadata"][field] = before["metadata"][field].clone();
        }
        if planned.json["spec"].is_null() {
            // Only metadata is applied.
            json["spec"] = before["spec"].clone();
        } else if json["spec"].get("replicas").is_none() && !before["spec"]["replicas"].is_null() {
            json["spec"]["replicas"] = before["spec"]["replicas"].clone();
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
        self.objects.retain(|known| !known.live.is_named(kind, &live.name));
        self.objects.push(Stored { json, live });
    }

    /// What a watch by label shows.
    pub fn watched(&self) -> Vec<LiveObject> {
        let ours = |stored: &&Stored| {
            stored.json["metadata"]["labels"][labels::MANAGED_BY] == labels::OPERATOR
        };
        self.objects.iter().filter(ours).map(|stored| stored.live.clone()).collect()
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
