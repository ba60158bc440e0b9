//! Which objects a resource no longer asks for, and which of those must stay for a while: what the plan
//! still refers to under whichever field, and what pods of an earlier rollout cannot start without.

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::ReplicaSet;
use k8s_openapi::api::core::v1::{Container, PodSpec, Volume};

use crate::live::{Detail, LiveObject};
use crate::objects::{ObjectKind, Role, image_record, names};
use crate::plan::Plan;
use crate::plan::references;
use crate::problems::Problem;
use crate::resource::Resource;

/// How many generated configurations are kept, whatever refers to them.
const CONFIGS_KEPT: usize = 2;

/// Objects by kind and name.
pub type Names = BTreeSet<(ObjectKind, String)>;

/// One ReplicaSet of a resource.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PodSet {
    /// It has pods or wants some, as the old one has while a rollout is under way or stuck.
    pub has_pods: bool,
    /// What its pods cannot start without.
    pub needs: Names,
}

impl PodSet {
    pub fn from_replica_set(replica_set: ReplicaSet) -> Self {
        let running = replica_set.status.map_or(0, |status| status.replicas);
        let spec = replica_set.spec.unwrap_or_default();
        let pod = spec.template.and_then(|template| template.spec);
        Self {
            has_pods: running > 0 || spec.replicas.is_none_or(|wanted| wanted > 0),
            needs: pod.as_ref().map(needs).unwrap_or_default(),
        }
    }
}

/// What a plan refers to, its own objects and those that the resource names.
pub fn referred(resource: &Resource, plan: &Plan) -> Names {
    let template = plan.objects.deployment.spec.as_ref().map(|spec| &spec.template);
    let mut names =
        template.and_then(|template| template.spec.as_ref()).map_or_else(Names::new, needs);
    let named = resource.spec.as_ref().map(references::walk).unwrap_or_default();
    let here = |namespace: &Option<String>| {
        namespace.as_deref().is_none_or(|namespace| *namespace == *resource.key.namespace)
    };
    let named = named.into_iter().filter(|reference| here(&reference.namespace));
    names.extend(named.map(|reference| (reference.kind, reference.name)));
    names.extend(plan.objects.in_order().into_iter().map(|object| (object.kind, object.name)));
    names
}

/// The resource's objects that a plan does not refer to, but for the newest generated configurations.
/// `withheld` is what the plan could not contain for want of a kind.
/// Claims are never among them: data goes only with a resource that asks for that.
pub fn unplanned<'a>(
    resource: &Resource,
    referred: &Names,
    withheld: &[Problem],
    live: &'a [LiveObject],
) -> Vec<&'a LiveObject> {
    let is_referred =
        |object: &LiveObject| referred.contains(&(object.kind, object.name.to_string()));
    let mut unplanned: Vec<&LiveObject> = live
        .iter()
        .filter(|object| object.controller.as_deref() == Some(resource.owner()) && !object.deleting)
        .filter(|object| object.kind.role() != Role::Data && !is_referred(object))
        .filter(|object| !object.is_shared())
        .filter(|object| !is_image_record(object, resource))
        // What leads to the server stays until what shall take its place can be made.
        .filter(|object| withheld.is_empty() || object.kind.role() != Role::Exposure)
        .collect();
    let is_config = |object: &&LiveObject| is_generated(object, resource);
    let mut configs: Vec<&LiveObject> = unplanned.iter().copied().filter(is_config).collect();
    configs.sort_by(|one, other| other.created.cmp(&one.created).then(one.name.cmp(&other.name)));
    let others = live.iter().filter(is_config).count() - configs.len();
    configs.truncate(CONFIGS_KEPT.saturating_sub(others));
    unplanned.retain(|object| !configs.iter().any(|kept| kept.uid == object.uid));
    unplanned
}

/// Whether pods of an earlier rollout may need some of these objects.
pub fn may_be_needed(objects: &[&LiveObject]) -> bool {
    objects.iter().any(|object| matches!(object.kind.role(), Role::PodInput | Role::Data))
}

/// Whether an object must stay for the pods of these sets. What is named by its content stays as long as a
/// set names it, pods or not: whoever goes back to that set needs the very one.
pub fn is_needed(object: &LiveObject, resource: &Resource, pod_sets: &[PodSet]) -> bool {
    let always = is_generated(object, resource)
        || is_ca_bundle(object, resource)
        || is_named_by_content(object, resource, "-start-");
    pod_sets.iter().any(|set| {
        (always || set.has_pods) && set.needs.contains(&(object.kind, object.name.to_string()))
    })
}

/// Whether an object is the record of what was read of the resource's images. It is no part of a plan, and
/// pruned by whoever keeps it.
pub fn is_image_record(object: &LiveObject, resource: &Resource) -> bool {
    object.kind == ObjectKind::ConfigMap
        && !object.deleting
        && object.controller.as_deref() == Some(resource.owner())
        && image_record::is_record(&object.name, &resource.key.name)
}

/// Whether an object holds certificate authorities of the resource's server.
pub(super) fn is_ca_bundle(object: &LiveObject, resource: &Resource) -> bool {
    object.kind == ObjectKind::ConfigMap
        && object.name.starts_with(&names::ca_bundles(&resource.key.name))
}

fn is_generated(object: &LiveObject, resource: &Resource) -> bool {
    is_named_by_content(object, resource, "-config-")
        && matches!(object.detail, Detail::Config { hash: Some(_), .. })
}

/// Whether a ConfigMap has a name that stands for its content, with this word before the hash.
fn is_named_by_content(object: &LiveObject, resource: &Resource, word: &str) -> bool {
    let rest = object.name.strip_prefix(&*resource.key.name);
    object.kind == ObjectKind::ConfigMap && rest.is_some_and(|rest| rest.starts_with(word))
}

/// What a pod cannot start without.
pub(super) fn needs(pod: &PodSpec) -> Names {
    let mut names = Names::new();
    let mut add = |kind: ObjectKind, name: Option<&str>| {
        names.extend(name.map(|name| (kind, name.to_owned())));
    };
    add(ObjectKind::ServiceAccount, pod.service_account_name.as_deref());
    for volume in pod.volumes.iter().flatten() {
        of_volume(volume, &mut add);
    }
    for container in pod.init_containers.iter().flatten().chain(&pod.containers) {
        of_container(container, &mut add);
    }
    names
}

fn of_volume(volume: &Volume, add: &mut impl FnMut(ObjectKind, Option<&str>)) {
    let config_map = volume.config_map.as_ref().map(|source| source.name.as_str());
    add(ObjectKind::ConfigMap, config_map);
    let secret = volume.secret.as_ref().and_then(|source| source.secret_name.as_deref());
    add(ObjectKind::Secret, secret);
    let claim = volume.persistent_volume_claim.as_ref().map(|source| source.claim_name.as_str());
    add(ObjectKind::VolumeClaim, claim);
    let projected =
        volume.projected.iter().flat_map(|projected| projected.sources.iter().flatten());
    for source in projected {
        add(ObjectKind::ConfigMap, source.config_map.as_ref().map(|source| source.name.as_str()));
        add(ObjectKind::Secret, source.secret.as_ref().map(|source| source.name.as_str()));
    }
}

fn of_container(container: &Container, add: &mut impl FnMut(ObjectKind, Option<&str>)) {
    for variable in container.env.iter().flatten() {
        let Some(from) = &variable.value_from else { continue };
        let config_map = from.config_map_key_ref.as_ref().map(|source| source.name.as_str());
        add(ObjectKind::ConfigMap, config_map);
        add(ObjectKind::Secret, from.secret_key_ref.as_ref().map(|source| source.name.as_str()));
    }
    for source in container.env_from.iter().flatten() {
        add(ObjectKind::ConfigMap, source.config_map_ref.as_ref().map(|from| from.name.as_str()));
        add(ObjectKind::Secret, source.secret_ref.as_ref().map(|from| from.name.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config_map(name: &str, hash: Option<&str>) -> LiveObject {
        let mut object = json!({
            "metadata": {
                "name": name, "namespace": "here", "uid": name,
                "ownerReferences": [{
                    "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
                    "name": "llama", "uid": "1", "controller": true,
                }],
            },
        });
        if let Some(hash) = hash {
            object["metadata"]["annotations"] = json!({"llamastack.io/config-hash": hash});
        }
        LiveObject::parse(ObjectKind::ConfigMap, &object).unwrap().1
    }

    fn resource() -> Resource {
        Resource::parse(&json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
            "metadata": {"name": "llama", "namespace": "here", "uid": "1"},
            "spec": {"distribution": {"name": "starter"}},
        }))
    }

    fn replica_set(wanted: i32, volume: &str) -> PodSet {
        let replica_set = json!({
            "metadata": {"name": "set"},
            "spec": {
                "replicas": wanted, "selector": {},
                "template": {"spec": {
                    "containers": [],
                    "volumes": [{"name": "a", "configMap": {"name": volume}}],
                }},
            },
            "status": {"replicas": wanted},
        });
        PodSet::from_replica_set(serde_json::from_value(replica_set).unwrap())
    }

    #[test]
    fn what_is_named_by_its_content_stays_while_it_is_named_and_the_rest_while_pods_mount_it() {
        let resource = resource();
        let needed =
            |object, wanted| is_needed(object, &resource, &[replica_set(wanted, &object.name)]);
        let by_content = [
            config_map("llama-ca-bundle-1", None),
            config_map("llama-config-1", Some("1")),
            config_map("llama-start-1", None),
        ];
        for object in &by_content {
            assert!(needed(object, 1) && needed(object, 0), "{}", object.name);
            assert!(!is_needed(object, &resource, &[replica_set(1, "other")]), "{}", object.name);
        }
        let of_a_user = config_map("roots", None);
        assert!(needed(&of_a_user, 1), "pods of a stuck rollout mount it");
        assert!(!needed(&of_a_user, 0), "nobody does");
    }

    #[test]
    fn the_newest_configurations_and_what_is_referred_to_stay() {
        let resource = resource();
        let live = ["llama-config-1", "llama-config-2", "llama-config-3"]
            .map(|name| config_map(name, Some("1")));
        let referred = Names::from([(ObjectKind::ConfigMap, "llama-config-1".to_owned())]);
        let names: Vec<&str> = unplanned(&resource, &referred, &[], &live)
            .iter()
            .map(|object| &*object.name)
            .collect();
        assert_eq!(names.len(), 1, "one of the two beside the one in use: {names:?}");
    }
}
