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
pub fn keep_recorded(planned: &mut [PlannedObject], key: &Key, live: Option<&Value>) {
    keep_name(planned, key, live);
    keep_hashes(planned, live);
}

/// The name of the Secret with a connection string holds a hash; the one that is in use stays.
fn keep_name(planned: &mut [PlannedObject], key: &Key, live: Option<&Value>) {
    let secret = planned.iter_mut().find(|object| object.kind == ObjectKind::Secret);
    let in_use = live.and_then(|live| storage_secrets::in_use(&key.name, live));
    let (Some(secret), Some(in_use)) = (secret, in_use) else { return };
    let unknown = std::mem::replace(&mut secret.name, in_use.clone());
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
