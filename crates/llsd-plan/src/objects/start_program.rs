//! The ConfigMap with the programs of `pod-programs` that start servers and check their configuration.
//! All resources of a namespace share one copy. Its name is a hash of its content, by which a copy is
//! verified, and it never changes: pods that were made with another one can still start.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;

use serde_json::{Value, json};

use super::blueprint::{Blueprint, ConfigSource};
use super::kind::ObjectKind;
use super::labels;
use crate::fingerprint::{self, Fingerprint};
use crate::releases::ServerFamily;
use crate::values::sha256;

/// The keys, and so the names of the files. `launch.py` starts the server, and where a start has failed
/// calls `preflight.py`, which also checks what is to be rolled out; `models.py` waits for models.
pub const FILES: [(&str, &str); 9] = [
    ("launch.py", include_str!("../../pod-programs/launch.py")),
    ("installed.py", include_str!("../../pod-programs/installed.py")),
    ("registrations.py", include_str!("../../pod-programs/registrations.py")),
    ("workers.py", include_str!("../../pod-programs/workers.py")),
    ("event_loops.py", include_str!("../../pod-programs/event_loops.py")),
    ("access.py", include_str!("../../pod-programs/access.py")),
    ("preflight.py", include_str!("../../pod-programs/preflight.py")),
    ("preflight_checks.py", PREFLIGHT_CHECKS),
    ("models.py", include_str!("../../pod-programs/models.py")),
];

/// What a release says of a file, without the program around it.
pub const PREFLIGHT_CHECKS: &str = include_str!("../../pod-programs/preflight_checks.py");

/// What stands before the hash. No name that an object has for its resource holds a dot.
pub const PREFIX: &str = "start-program.";
/// Digits of the hash in the name. With these, another content of the same name cannot be made.
const DIGITS: usize = 32;

static NAME: LazyLock<String> = LazyLock::new(|| name_for(&FILES.into()));

static FINGERPRINT: LazyLock<Fingerprint> = LazyLock::new(|| {
    let planned = serde_json::to_value(of_namespace("")).expect("it has string keys only");
    fingerprint::of_desired(&planned)
});

/// The name of a copy with this content.
pub fn name_for(data: &BTreeMap<&str, &str>) -> String {
    let text = serde_json::to_string(data).expect("a map of texts");
    format!("{PREFIX}{}", &sha256::hex(&text)[..DIGITS])
}

/// The name of the ConfigMap, the same in each namespace.
pub fn name() -> &'static str {
    &NAME
}

/// Whether a ConfigMap of this name is a copy of the programs, of this operator or another.
pub fn is_copy(name: &str) -> bool {
    name.starts_with(PREFIX)
}

/// Whether a copy holds what its name says and nothing else, and keeps it: a further file could take the
/// place of a module that the programs import.
pub fn is_intact(copy: &Value) -> bool {
    let is_empty = |value: &Value| value.as_object().is_none_or(serde_json::Map::is_empty);
    let data: Option<BTreeMap<&str, &str>> = copy["data"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(file, text)| Some((file.as_str(), text.as_str()?)))
        .collect();
    let named = data.map(|data| name_for(&data));
    copy["immutable"] == true
        && is_empty(&copy["binaryData"])
        && named.is_some_and(|named| copy["metadata"]["name"] == named)
}

/// The copies that pods of a template mount.
pub fn mounted(template: &Value) -> impl Iterator<Item = &str> {
    let volumes = template["spec"]["volumes"].as_array().into_iter().flatten();
    let names = volumes.filter_map(|volume| volume["configMap"]["name"].as_str());
    names.filter(|name| is_copy(name))
}

/// Of the ConfigMap as it is planned, whatever its namespace.
pub(crate) fn fingerprint() -> Fingerprint {
    *FINGERPRINT
}

/// Whether the server is started by this operator's program. A command of the user's own wins, and
/// the image's entrypoint stays where it can do what is asked.
pub(super) fn is_used(blueprint: &Blueprint) -> bool {
    let commands = blueprint.overrides().command.as_ref().is_some_and(|words| !words.is_empty());
    let starts_itself = match blueprint.config {
        // The entrypoint of OGX's images ends with success when the server does not start.
        ConfigSource::Default => {
            blueprint.server == ServerFamily::LlamaStack && !blueprint.listens_otherwise()
        }
        ConfigSource::Generated { .. } | ConfigSource::Override { .. } => false,
    };
    !commands && !starts_itself
}

/// The ConfigMap. Programs of 70 KB are not copied for each of many plans.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct StartProgram {
    api_version: &'static str,
    kind: &'static str,
    pub data: BTreeMap<&'static str, &'static str>,
    immutable: bool,
    metadata: ObjectMeta,
}

pub(super) fn start_program(blueprint: &Blueprint) -> Option<StartProgram> {
    is_used(blueprint).then(|| of_namespace(blueprint.namespace))
}

/// A copy of this or other programs as it is applied. `data` is what one of that name holds.
pub fn with_content(namespace: &str, name: &str, data: &Value) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": ObjectKind::ConfigMap.name(),
        "data": data,
        "immutable": true,
        "metadata": {
            "name": name,
            "namespace": namespace,
            "labels": labels::of_shared(labels::START_PROGRAM),
        },
    })
}

/// Of a shared object as it is planned. That of this operator's own copy is known, and takes long to compute.
pub(crate) fn fingerprint_of(planned: &Value) -> Fingerprint {
    if planned["metadata"]["name"] == name() {
        fingerprint()
    } else {
        fingerprint::of_desired(planned)
    }
}

/// The ConfigMap itself, also where nothing but the preflight needs it. It has no owner: whoever is deleted,
/// the cluster takes it from no other server.
pub(super) fn of_namespace(namespace: &str) -> StartProgram {
    let metadata = ObjectMeta {
        name: Some(name().to_owned()),
        namespace: Some(namespace.to_owned()),
        labels: Some(labels::of_shared(labels::START_PROGRAM)),
        ..ObjectMeta::default()
    };
    StartProgram {
        api_version: "v1",
        kind: ObjectKind::ConfigMap.name(),
        data: FILES.into(),
        immutable: true,
        metadata,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn copy() -> Value {
        serde_json::to_value(of_namespace("ns")).unwrap()
    }

    #[test]
    fn a_copy_is_intact_only_with_the_very_content_that_its_name_says() {
        assert!(is_intact(&copy()) && is_copy(name()));
        let changed = |change: fn(&mut Value)| {
            let mut copy = copy();
            change(&mut copy);
            is_intact(&copy)
        };
        assert!(!changed(|copy| copy["data"]["launch.py"] = json!("print('mine')")));
        assert!(!changed(|copy| copy["data"]["json.py"] = json!("a module before Python's own")));
        assert!(!changed(|copy| copy["binaryData"] = json!({"json.pyc": "AAAA"})));
        assert!(!changed(|copy| drop(copy["data"].as_object_mut().unwrap().remove("access.py"))));
        assert!(!changed(|copy| copy["immutable"] = json!(false)));
        assert!(!changed(|copy| copy["metadata"]["name"] = json!("start-program.0a1b2c3d")));
        assert!(!changed(|copy| *copy = json!({"metadata": {"name": name()}})));
        assert!(changed(|copy| copy["metadata"]["labels"] = json!({"theirs": "too"})));
    }

    #[test]
    fn a_copy_of_another_operator_is_verified_by_its_name_too() {
        let data = BTreeMap::from([("launch.py", "an earlier one")]);
        let mut earlier = copy();
        earlier["data"] = json!(data);
        assert!(!is_intact(&earlier));
        earlier["metadata"]["name"] = json!(name_for(&data));
        assert!(is_intact(&earlier));
    }

    #[test]
    fn a_copy_that_is_made_again_is_as_it_was() {
        let whole = copy();
        let again = with_content("ns", name(), &whole["data"]);
        assert_eq!(again, whole);
        assert!(is_intact(&again));
        assert_eq!(fingerprint_of(&again), fingerprint::of_desired(&again));
    }

    #[test]
    fn it_belongs_to_no_resource() {
        let copy = copy();
        assert!(copy["metadata"].get("ownerReferences").is_none(), "{copy}");
        assert_eq!(ObjectKind::ConfigMap.resource_named(name()), None);
        assert!(!is_copy("a-start-0a1b2c3d") && !is_copy("start-program-config-0a1b2c3d"));
    }

    #[test]
    fn a_template_names_the_copies_that_its_pods_mount() {
        let volume = |name: &str| json!({"name": "a", "configMap": {"name": name}});
        let volumes = [volume("llama-config-1"), volume(name()), json!({"emptyDir": {}})];
        let template = json!({"spec": {"volumes": volumes}});
        assert_eq!(mounted(&template).collect::<Vec<_>>(), [name()]);
        assert_eq!(mounted(&json!({"spec": {"containers": []}})).count(), 0);
    }
}
