//! What the fingerprint knows of our kinds by the names of their fields is what the API server's
//! schemas say.

use std::collections::BTreeSet;

use llsd_plan::fingerprint::schema::{self, ListKind};
use llsd_plan::objects::ObjectKind;
use serde_json::{Map, Value};

use super::CLUSTER;

#[tokio::test]
async fn the_api_server_merges_what_we_take_for_merged() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    for kind in ObjectKind::ALL.iter().filter(|kind| !kind.is_optional()) {
        let root = if kind.group().is_empty() { "api" } else { "apis" };
        let group = format!("{root}/{}", kind.api_version());
        let package = kind.group().split('.').next().filter(|name| !name.is_empty());
        let (package, version) = (package.unwrap_or("core"), kind.version());
        let kind = &*format!("io.k8s.api.{package}.{version}.{}", kind.name());
        let request = http::Request::get(format!("/openapi/v3/{group}")).body(vec![]).unwrap();
        let document: Value = cluster.client().request(request).await.unwrap();
        let Value::Object(types) = &document["components"]["schemas"] else { panic!("{group}") };
        let mut walk = Walk { types, kind, seen: BTreeSet::new() };
        let properties = types[kind]["properties"].as_object().unwrap();
        for (field, schema) in properties.iter().filter(|(field, _)| *field != "status") {
            walk.field("", field, schema);
        }
        assert!(walk.seen.len() > 3, "{kind}: {}", walk.seen.len());
    }
}

struct Walk<'a> {
    types: &'a Map<String, Value>,
    kind: &'a str,
    /// Types by the fields that hold them: some refer to themselves.
    seen: BTreeSet<(String, String, String)>,
}

impl Walk<'_> {
    /// A field outside of all that is atomic.
    fn field(&mut self, parent: &str, name: &str, schema: &Value) {
        let Some((type_name, schema)) = self.resolved(parent, name, schema) else { return };
        let about = format!("{}: {parent}.{name}", self.kind);
        let is_quantity = type_name.ends_with(".Quantity");
        assert_eq!(schema::is_quantity(parent, name), is_quantity, "{about}");
        if let Some(items) = schema.get("items") {
            return self.list(parent, name, &schema, items);
        }
        let atomic = schema["x-kubernetes-map-type"] == "atomic";
        if schema["type"] == "object" {
            assert_eq!(schema::is_atomic_map(name), atomic, "{about}");
        }
        let descend = if atomic { Self::inside } else { Self::field };
        self.below(name, &schema, descend);
    }

    fn list(&mut self, parent: &str, name: &str, schema: &Value, items: &Value) {
        let about = format!("{}: {parent}.{name}", self.kind);
        let merged = matches!(schema["x-kubernetes-list-type"].as_str(), Some("map" | "set"));
        let Some((_, item)) = self.resolved(name, "", items) else { return };
        let whole = item["type"] != "object" || item["x-kubernetes-map-type"] == "atomic";
        let kind = match (merged, whole) {
            (false, _) => ListKind::Atomic,
            (true, false) => ListKind::Merged,
            (true, true) => ListKind::MergedOfWholeItems,
        };
        // A ServiceAccount's pull secrets are not merged, as a pod's are; we apply none.
        if (self.kind, name) != ("io.k8s.api.core.v1.ServiceAccount", "imagePullSecrets") {
            assert_eq!(schema::list_kind(name), kind, "{about}");
        }
        let descend = if kind == ListKind::Merged { Self::field } else { Self::inside };
        self.below(name, &item, descend);
    }

    /// A field inside of what is atomic.
    fn inside(&mut self, parent: &str, name: &str, schema: &Value) {
        let Some((type_name, schema)) = self.resolved(parent, name, schema) else { return };
        let about = format!("{}: {parent}.{name}", self.kind);
        assert_eq!(schema::is_quantity(parent, name), type_name.ends_with(".Quantity"), "{about}");
        let item = schema.get("items").and_then(|items| self.resolved(name, "", items));
        let (_, schema) = item.unwrap_or((type_name, schema));
        if schema["additionalProperties"]["type"] == "string" {
            assert!(schema::has_free_keys(name), "{about}");
        }
        self.below(name, &schema, Self::inside);
    }

    fn below(&mut self, name: &str, schema: &Value, descend: fn(&mut Self, &str, &str, &Value)) {
        for (field, schema) in schema["properties"].as_object().into_iter().flatten() {
            // Nobody applies it.
            if field != "managedFields" {
                descend(self, name, field, schema);
            }
        }
        if let Some(values) = schema.get("additionalProperties") {
            descend(self, name, "*", values);
        }
    }

    /// The schema that a reference stands for, with the name of its type; `None` the second time.
    fn resolved(&mut self, parent: &str, name: &str, schema: &Value) -> Option<(String, Value)> {
        let reference = schema.pointer("/allOf/0/$ref").or(schema.get("$ref"));
        let Some(reference) = reference.and_then(Value::as_str) else {
            return Some((String::new(), schema.clone()));
        };
        let type_name = reference.rsplit('/').next().unwrap().to_owned();
        let place = (type_name.clone(), parent.to_owned(), name.to_owned());
        let mut whole = self.types[&type_name].clone();
        // What stands beside a reference is about this field alone.
        for (key, value) in schema.as_object().unwrap() {
            whole[key] = value.clone();
        }
        self.seen.insert(place).then_some((type_name, whole))
    }
}
