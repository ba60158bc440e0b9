//! Reads the volume claims that a resource names itself. They are somebody else's, so no watch shows them.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use kube::{Api, Client};
use llsd_plan::facts::ClaimFacts;
use llsd_plan::plan::references::References;
use llsd_plan::resource::Key;

pub async fn facts(
    client: &Client,
    key: &Key,
    references: &References,
) -> Result<BTreeMap<String, ClaimFacts>, kube::Error> {
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), &key.namespace);
    let mut facts = BTreeMap::new();
    for name in &references.claims {
        let found = claims.get_opt(name).await?;
        let missing = found.is_none();
        let spec = found.and_then(|claim| claim.spec);
        let access_modes = spec.and_then(|spec| spec.access_modes).unwrap_or_default();
        facts.insert(name.clone(), ClaimFacts { missing, access_modes });
    }
    Ok(facts)
}
