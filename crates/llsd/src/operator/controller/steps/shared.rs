//! Requests about what the resources of a namespace share: which copies of the start programs pod templates
//! mount and whether those hold what they should, and the deletion of one.

use std::collections::BTreeSet;

use kube::Api;
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::core::ApiResource;
use llsd_plan::live::LiveObject;
use llsd_plan::objects::{ObjectKind, start_program};
use llsd_plan::resource::Key;
use serde_json::Value;

use crate::operator::controller::context::Context;
use crate::operator::controller::requests::api;
use crate::operator::controller::requests::object::Object;

/// Objects of one answer.
const PAGE: u32 = 50;

/// The copies that any Deployment, ReplicaSet or Job of a namespace mounts. A ReplicaSet without pods counts:
/// the server may go back to it.
pub async fn mounted(context: &Context, namespace: &str) -> kube::Result<BTreeSet<String>> {
    let replica_sets = ApiResource {
        kind: "ReplicaSet".to_owned(),
        plural: "replicasets".to_owned(),
        ..api::owned(ObjectKind::Deployment)
    };
    let kinds = [api::owned(ObjectKind::Deployment), replica_sets, api::owned(ObjectKind::Job)];
    let mut mounted = BTreeSet::new();
    for kind in kinds {
        let api: Api<Object> = Api::namespaced_with(context.client.clone(), namespace, &kind);
        let mut page = ListParams::default().limit(PAGE);
        loop {
            let listed = api.list(&page).await?;
            for object in &listed.items {
                let copies = start_program::mounted(&object.json["spec"]["template"]);
                mounted.extend(copies.map(str::to_owned));
            }
            let Some(next) = listed.metadata.continue_.filter(|next| !next.is_empty()) else {
                break;
            };
            page = page.continue_token(&next);
        }
    }
    Ok(mounted)
}

/// Whether each copy that pods of a template mount holds what its name says. What is missing of this
/// operator's own is made again.
pub async fn are_intact(
    context: &Context,
    namespace: &str,
    template: &Value,
) -> kube::Result<bool> {
    let known = context.cache.shared(namespace);
    let api = api::owned_in(&context.client, namespace, ObjectKind::ConfigMap);
    for name in start_program::mounted(template) {
        if known.iter().any(|live| *live.name == *name && live.is_intact()) {
            continue;
        }
        let is_intact = match api.get_opt(name).await? {
            Some(found) => start_program::is_intact(&found.json),
            None => name == start_program::name(),
        };
        if !is_intact {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Deletes a copy, unless it is another one by now.
pub async fn delete(context: &Context, key: &Key, copy: &LiveObject) -> kube::Result<()> {
    let is_same = Preconditions { uid: Some(copy.uid.to_string()), resource_version: None };
    let parameters = DeleteParams { preconditions: Some(is_same), ..DeleteParams::background() };
    match api::owned_in(&context.client, &key.namespace, copy.kind)
        .delete(&copy.name, &parameters)
        .await
    {
        Ok(_) => {}
        Err(kube::Error::Api(status)) if status.code == 404 || status.code == 409 => {}
        Err(error) => return Err(error),
    }
    context.cache.forget_object(key, copy.kind, &copy.name, &copy.uid);
    Ok(())
}
