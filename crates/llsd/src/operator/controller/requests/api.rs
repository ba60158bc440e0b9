//! Where the API server keeps what the operator works on: owned objects by their kind, and the
//! operator's own resource.

use kube::core::ApiResource;
use kube::{Api, Client};
use llsd_plan::objects::ObjectKind;

use crate::operator::controller::requests::object::Object;

/// A kind of owned object as kube names it.
pub fn owned(kind: ObjectKind) -> ApiResource {
    ApiResource {
        group: kind.group().to_owned(),
        version: kind.version().to_owned(),
        api_version: kind.api_version(),
        kind: kind.name().to_owned(),
        plural: kind.plural().to_owned(),
    }
}

/// The objects of a kind in one namespace.
pub fn owned_in(client: &Client, namespace: &str, kind: ObjectKind) -> Api<Object> {
    Api::namespaced_with(client.clone(), namespace, &owned(kind))
}

/// The operator's own resource, as it is stored.
pub fn distribution() -> ApiResource {
    ApiResource {
        group: llsd_api::GROUP.to_owned(),
        version: "v1alpha2".to_owned(),
        api_version: format!("{}/v1alpha2", llsd_api::GROUP),
        kind: llsd_api::KIND.to_owned(),
        plural: "llamastackdistributions".to_owned(),
    }
}

/// The resources of one namespace.
pub fn distributions_in(client: &Client, namespace: &str) -> Api<Object> {
    Api::namespaced_with(client.clone(), namespace, &distribution())
}
