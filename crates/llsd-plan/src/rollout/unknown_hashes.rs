//! What is planned by a caller who may not read the operator's key: hashes of secrets under another key say
//! nothing, so what the Deployment has on record counts as unchanged.

use serde_json::Value;

use super::rename::rename;
use super::storage_secrets;
use crate::fingerprint;
use crate::objects::{ObjectKind, PlannedObject, labels};
use crate::resource::Key;
use crate::resource::template_inputs::Inputs;

/// Puts the names and hashes that the live Deployment has in the place of those that cannot be known.
pub fn keep_recorded(planned: &mut Vec<PlannedObject>, key: &Key, live: Option<&Value>) {
    keep_secret(planned, key, live);
    keep_hashes(planned, live);
}

/// The name of the Secret with a connection string holds a hash, and its content never changes: the one that is
/// in use stays, and none is planned.
fn keep_secret(planned: &mut Vec<PlannedObject>, key: &Key, live: Option<&Value>) {
    let secret = planned.iter().position(|object| object.kind == ObjectKind::Secret);
    let in_use = live.and_then(|live| storage_secrets::in_use(&key.name, live));
    let (Some(secret), Some(in_use)) = (secret, in_use) else { return };
    let unknown = planned.remove(secret).name;
    for object in planned {
        rename(&mut object.json, &unknown, &in_use);
    }
}

fn keep_hashes(planned: &mut [PlannedObject], live: Option<&Value>) {
    let deployment = planned.iter_mut().find(|object| object.kind == ObjectKind::Deployment);
    let Some(deployment) = deployment else { return };
    for path in ["/metadata/annotations", "/spec/template/metadata/annotations"] {
        let live = live.and_then(|live| live.pointer(path));
        let annotations = deployment.json.pointer_mut(path).and_then(Value::as_object_mut);
        let Some(annotations) = annotations else { continue };
        for name in [labels::SECRET_HASH, labels::VARIABLES_HASH] {
            match live.and_then(|live| live.get(name)) {
                Some(hash) => drop(annotations.insert(name.into(), hash.clone())),
                None => drop(annotations.shift_remove(name)),
            }
        }
    }
    let template = fingerprint::of_template(&deployment.json["spec"]["template"]);
    let annotations = &mut deployment.json["metadata"]["annotations"];
    if let Some(now) = annotations[labels::INPUTS].as_str().map(Inputs::parse) {
        let recorded =
            live.and_then(|live| live["metadata"]["annotations"][labels::INPUTS].as_str());
        let recorded = recorded.map(Inputs::parse).unwrap_or_default();
        annotations[labels::INPUTS] = now.with_secrets_of(&recorded).text().into();
        annotations[labels::TEMPLATE_HASH] = template.to_string().into();
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn deployment(secret: &str, hash: &str) -> Value {
        let from = json!({"secretKeyRef": {"name": secret, "key": "host"}});
        let container = json!({"name": "server", "env": [{"name": "HOST", "valueFrom": from}]});
        let inputs = format!("key={hash} pods=a secret:keys/dsn={hash}");
        json!({
            "metadata": {"annotations": {labels::INPUTS: inputs, labels::SECRET_HASH: hash}},
            "spec": {"template": {
                "metadata": {"annotations": {labels::SECRET_HASH: hash}},
                "spec": {"containers": [container]},
            }},
        })
    }

    #[test]
    fn a_connection_string_under_another_key_is_neither_a_new_secret_nor_another_template() {
        let object = |kind, name: &str, json| PlannedObject { kind, name: name.to_owned(), json };
        let secret = json!({"metadata": {"name": "llama-storage-b"}, "data": {"host": "bmV3"}});
        let mut planned = vec![
            object(ObjectKind::Secret, "llama-storage-b", secret),
            object(ObjectKind::Deployment, "llama", deployment("llama-storage-b", "b")),
        ];
        let live = deployment("llama-storage-a", "a");
        keep_recorded(&mut planned, &Key::new("ns", "llama"), Some(&live));
        let [kept] = &planned[..] else { panic!("{planned:?}") };
        assert_eq!(kept.json["spec"], live["spec"]);
        let inputs =
            |deployment: &Value| deployment["metadata"]["annotations"][labels::INPUTS].clone();
        assert_eq!(inputs(&kept.json), inputs(&live));
    }
}
