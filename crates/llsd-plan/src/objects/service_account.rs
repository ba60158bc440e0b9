//! The ServiceAccount of the pods, unless the resource names one. The server never talks to the
//! API server, so it gets no token.

use k8s_openapi::api::core::v1::ServiceAccount;

use super::blueprint::Blueprint;
use super::names;

/// The name that the resource gives, or that of the one we make.
pub(super) fn name(blueprint: &Blueprint) -> String {
    given(blueprint).map_or_else(|| names::service_account(blueprint.name), str::to_owned)
}

pub(super) fn service_account(blueprint: &Blueprint) -> Option<ServiceAccount> {
    if given(blueprint).is_some() {
        return None;
    }
    Some(ServiceAccount {
        metadata: blueprint.owned(names::service_account(blueprint.name)),
        automount_service_account_token: Some(false),
        ..Default::default()
    })
}

fn given<'a>(blueprint: &Blueprint<'a>) -> Option<&'a str> {
    blueprint.overrides().service_account_name.as_deref().filter(|name| !name.is_empty())
}
