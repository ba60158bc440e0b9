//! Whether a resource may use certificate authorities of another namespace: where the operator's
//! configuration opens that namespace, or where its server runs with them already. That is remembered in
//! a grant, which only whoever has the operator's key can make: users may write the ConfigMap that
//! carries it, and must not be able to open other people's namespaces.

use llsd_plan::facts::Facts;
use llsd_plan::live::LiveObject;
use llsd_plan::plan::references::References;
use llsd_plan::resource::Resource;
use llsd_plan::rollout::{ca_bundle_elsewhere, granted, runs_with_bundle};

use crate::operator::controller::secrets::hash_key::HashKey;

/// Adds to the facts what the resource may use; what it may not is no longer referred to, and so never
/// read.
pub fn settle(
    key: &HashKey,
    resource: &Resource,
    live: &[LiveObject],
    facts: &mut Facts,
    references: &mut References,
) {
    let Some(from) = ca_bundle_elsewhere(resource) else { return };
    let own = key.grant(&[resource.owner(), from]);
    // Who cannot make grants takes the one that is there for the operator's.
    let grant = own.or_else(|| granted(resource, live).map(str::to_owned)).unwrap_or_default();
    if runs_with_bundle(resource, live, &grant)
        && let Some(open) = &mut facts.operator.ca_bundle_namespaces
    {
        open.insert(from.to_owned());
    }
    if facts.operator.allows_ca_bundle_of(from) {
        facts.ca_bundle_grant = Some(grant).filter(|grant| !grant.is_empty());
    } else {
        let elsewhere = format!("{from}/");
        references.config_maps.retain(|named| !named.starts_with(&elsewhere));
    }
}
