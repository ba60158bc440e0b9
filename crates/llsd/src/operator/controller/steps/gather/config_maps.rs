//! Reads the ConfigMaps that a resource refers to, and says which ones to watch for it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use llsd_plan::facts::ConfigMapFacts;
use llsd_plan::objects::ca_bundle::OPENSHIFT_AI_BUNDLE;
use llsd_plan::plan::references::References;
use llsd_plan::resource::Key;

use crate::operator::controller::context::Context;
use crate::operator::controller::state::{Denials, Watched};

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
    context: &Context,
    key: &Key,
    references: &References,
    denials: &Denials<'_>,
) -> Result<BTreeMap<String, ConfigMapFacts>, kube::Error> {
    let mut facts = BTreeMap::new();
    // Most namespaces have no bundle, and the watch knows, if it is up to date.
    let has_no_bundle = context.synced.is_in_sync(Watched::ConfigMaps, &key.namespace)
        && !context.bundles.is_in(&key.namespace);
    for named in &references.config_maps {
        if named == OPENSHIFT_AI_BUNDLE && has_no_bundle {
            continue;
        }
        let (namespace, name) = place(named, &key.namespace);
        let config_maps: Api<ConfigMap> = Api::namespaced(context.client.clone(), namespace);
        let found = match config_maps.get_opt(name).await {
            Ok(Some(found)) => {
                let data = found.data.unwrap_or_default();
                let binary_data = found.binary_data.unwrap_or_default();
                ConfigMapFacts { data, binary_data, ..ConfigMapFacts::default() }
            }
            Ok(None) => ConfigMapFacts { missing: true, ..ConfigMapFacts::default() },
            Err(error) => {
                let why = context.rights.lacking(&error).ok_or(error)?;
                denials.add(why.clone());
                ConfigMapFacts { forbidden: Some(why), ..ConfigMapFacts::default() }
            }
        };
        facts.insert(named.clone(), found);
    }
    Ok(facts)
}
