//! Reads the ConfigMaps that a resource refers to, and says which ones to watch for it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::{Api, Client};
use llsd_plan::facts::ConfigMapFacts;
use llsd_plan::objects::ca_bundle::OPENSHIFT_AI_BUNDLE;
use llsd_plan::references::References;
use llsd_plan::resource::Key;

use super::super::bundles::Bundles;

/// Facts name ConfigMaps of other namespaces as `namespace/name`.
fn place<'a>(named: &'a str, namespace: &'a str) -> (&'a str, &'a str) {
    named.split_once('/').unwrap_or((namespace, named))
}

/// The ConfigMaps that a change of wakes the resource.
pub fn watched(references: &References, key: &Key) -> Vec<Box<str>> {
    let places = references.config_maps.iter().map(|named| place(named, &key.namespace));
    places.map(|(namespace, name)| format!("{namespace}/{name}").into()).collect()
}

/// The facts about every ConfigMap that a resource refers to.
pub async fn facts(
    client: &Client,
    key: &Key,
    references: &References,
    bundles: &Bundles,
) -> Result<BTreeMap<String, ConfigMapFacts>, kube::Error> {
    let mut facts = BTreeMap::new();
    for named in &references.config_maps {
        // Most namespaces have none, and the watch knows.
        if named == OPENSHIFT_AI_BUNDLE && !bundles.is_in(&key.namespace) {
            continue;
        }
        let (namespace, name) = place(named, &key.namespace);
        let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        let found = match config_maps.get_opt(name).await {
            Ok(Some(found)) => {
                ConfigMapFacts { missing: false, data: found.data.unwrap_or_default() }
            }
            Ok(None) => ConfigMapFacts { missing: true, ..ConfigMapFacts::default() },
            // Of a namespace that the operator may not read: to the resource it is not there.
            Err(kube::Error::Api(status)) if status.code == 403 => {
                ConfigMapFacts { missing: true, ..ConfigMapFacts::default() }
            }
            Err(error) => return Err(error),
        };
        facts.insert(named.clone(), found);
    }
    Ok(facts)
}
