//! What of the cache the resources of a namespace share, the copies of the start programs, and what mounts
//! them.

use std::collections::BTreeSet;

use llsd_plan::live::LiveObject;
use llsd_plan::resource::Key;
use llsd_plan::rollout::shared;

use super::{Cache, CacheState};

impl Cache {
    /// What the resources of a namespace share.
    pub fn shared(&self, namespace: &str) -> Vec<LiveObject> {
        self.lock().shared(namespace).to_vec()
    }

    /// The copies that a namespace's Deployments mount.
    pub fn mounted(&self, namespace: &str) -> BTreeSet<Box<str>> {
        self.lock().mounted(namespace).map(Box::from).collect()
    }

    /// Whether a Deployment of any namespace mounts a copy of this name.
    pub fn is_mounted(&self, copy: &str) -> bool {
        let state = self.lock();
        let objects = state.objects.values().flatten();
        let mut mounted = objects.filter_map(LiveObject::deployment).flat_map(|it| &it.programs);
        mounted.any(|mounted| **mounted == *copy)
    }

    /// Whether a namespace lacks a copy that its servers were or would be made with.
    pub fn lacks_programs(&self, namespace: &str) -> bool {
        let state = self.lock();
        shared::is_lacking(state.shared(namespace), state.mounted(namespace))
    }
}

impl CacheState {
    fn shared(&self, namespace: &str) -> &[LiveObject] {
        self.objects.get(&Key::of_namespace(namespace)).map(Vec::as_slice).unwrap_or_default()
    }

    fn mounted(&self, namespace: &str) -> impl Iterator<Item = &str> {
        let from = self.objects.range(Key::of_namespace(namespace)..);
        let here = from.take_while(move |(key, _)| *key.namespace == *namespace);
        let deployments = here.flat_map(|(_, objects)| objects).filter_map(LiveObject::deployment);
        deployments.flat_map(|deployment| &deployment.programs).map(|name| &**name)
    }
}

#[cfg(test)]
mod tests {
    use llsd_plan::objects::{ObjectKind, labels, start_program};
    use serde_json::{Value, json};

    use super::*;

    fn deployment(namespace: &str, name: &str, copy: &str) -> Value {
        json!({
            "metadata": {"name": name, "namespace": namespace, "uid": name},
            "spec": {
                "selector": {"matchLabels": {labels::INSTANCE: name}},
                "template": {"spec": {"volumes": [{"name": "a", "configMap": {"name": copy}}]}},
            },
        })
    }

    #[test]
    fn a_namespace_knows_which_copies_its_servers_mount() {
        let cache = Cache::default();
        for (namespace, name, copy) in [
            ("ns", "one", "start-program.1"),
            ("ns", "two", "other-config-1"),
            ("nsx", "far", "start-program.2"),
        ] {
            cache.put_object(ObjectKind::Deployment, &deployment(namespace, name, copy));
        }
        assert_eq!(cache.mounted("ns"), BTreeSet::from(["start-program.1".into()]));
        assert!(cache.mounted("n").is_empty());
        assert!(cache.is_mounted("start-program.2") && !cache.is_mounted("start-program.3"));
        assert!(cache.lacks_programs("ns"));
    }

    #[test]
    fn what_the_resources_of_a_namespace_share_is_known_to_each_until_it_is_gone() {
        let cache = Cache::default();
        for (namespace, name) in [("a", "one"), ("ns", "llama"), ("ns", "other"), ("nsx", "far")] {
            let resource = json!({"metadata": {"name": name, "namespace": namespace, "uid": name}});
            cache.put_resource(&Key::new(namespace, name), resource);
        }
        let (llama, other) = (Key::new("ns", "llama"), Key::new("ns", "other"));
        assert_eq!(cache.resources_in("ns"), [llama.clone(), other.clone()]);
        let (kind, name) = (ObjectKind::ConfigMap, start_program::name());
        let copy = |version: &str| {
            json!({"metadata": {
                "name": name, "namespace": "ns", "uid": "1", "resourceVersion": version,
            }})
        };
        let woken = cache.put_object(kind, &copy("1"));
        assert_eq!(woken, Some(Key::of_namespace("ns")));
        for key in [&llama, &other] {
            assert!(cache.live(key)[0].is_named(kind, name));
        }
        assert!(cache.live(&Key::new("nsx", "far")).is_empty());
        cache.forget_missing(&llama, kind, name);
        assert!(cache.live(&other).is_empty() && cache.shared("ns").is_empty());
        cache.put_object(kind, &copy("2"));
        assert_eq!(cache.remove_object(kind, &copy("3")), Some(Key::of_namespace("ns")));
    }
}
