//! The ServiceAccount of the pods, unless the resource names one. The server never talks to the
//! API server, so it gets no token.

use k8s_openapi::api::core::v1::ServiceAccount;

use llsd_api::v1alpha2::LlamaStackDistributionSpec;

use super::blueprint::{Blueprint, Owner};
use super::names;

/// The name that the resource gives, or that of the one we make.
pub(super) fn name(blueprint: &Blueprint) -> String {
    given(blueprint.spec).map_or_else(|| names::service_account(blueprint.name), str::to_owned)
}

pub(super) fn service_account(
    owner: &Owner,
    spec: &LlamaStackDistributionSpec,
) -> Option<ServiceAccount> {
    if given(spec).is_some() {
        return None;
    }
    Some(ServiceAccount {
        metadata: owner.owned(names::service_account(owner.name)),
        automount_service_account_token: Some(false),
        ..Default::default()
    })
}

fn given(spec: &LlamaStackDistributionSpec) -> Option<&str> {
    let overrides = spec.workload.as_ref()?.overrides.as_ref()?;
    overrides.service_account_name.as_deref().filter(|name| !name.is_empty())
}
