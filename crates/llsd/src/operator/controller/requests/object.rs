//! A live object as JSON, with as much of its metadata as kube itself needs. kube's own
//! `DynamicObject` is taken apart and put together twice on the way there, for every event and
//! every answer to a write.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Resource;
use kube::core::{ApiResource, DynamicResourceScope};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::operator::controller::requests::shallow;
use llsd_plan::resource::Key;

/// An object of any kind.
#[derive(Clone, Debug)]
pub struct Object {
    metadata: ObjectMeta,
    pub json: Value,
}

impl Object {
    /// Its namespace and name.
    pub fn key(&self) -> Key {
        let ObjectMeta { namespace, name, .. } = &self.metadata;
        Key::new(namespace.as_deref().unwrap_or_default(), name.as_deref().unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let json = shallow::deserialize(deserializer)?;
        let text = |field: &str| json["metadata"][field].as_str().map(str::to_owned);
        let metadata = ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            resource_version: text("resourceVersion"),
            uid: text("uid"),
            ..ObjectMeta::default()
        };
        Ok(Self { metadata, json })
    }
}

impl Resource for Object {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.metadata
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.metadata
    }
}

#[cfg(test)]
mod tests {
    use kube::ResourceExt;
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_is_read_whole_and_known_by_its_metadata() {
        let json = json!({
            "kind": "Service",
            "metadata": {"name": "s", "namespace": "n", "uid": "u", "resourceVersion": "7"},
            "spec": {"ports": [{"port": 1}]},
        });
        let object: Object = serde_json::from_value(json.clone()).unwrap();
        assert_eq!((object.json.clone(), object.key()), (json, Key::new("n", "s")));
        assert_eq!((object.name_any(), object.uid()), ("s".into(), Some("u".into())));
        assert_eq!(object.resource_version().as_deref(), Some("7"));
        let odd: Object = serde_json::from_value(json!({"metadata": 1})).unwrap();
        assert_eq!(odd.key(), Key::new("", ""));
    }
}
