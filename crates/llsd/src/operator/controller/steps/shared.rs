//! Requests about what the resources of a namespace share: which copies of the start programs pod templates
//! mount, what there is of those, and the deletion of one.

use std::collections::BTreeSet;

use kube::Api;
use kube::api::{DeleteParams, ListParams, Preconditions};
use kube::core::ApiResource;
use llsd_plan::live::LiveObject;
use llsd_plan::objects::{ObjectKind, start_program};
use llsd_plan::resource::Key;
use llsd_plan::rollout::{ClusterState, WriteFailure, shared};

use super::writer::ObjectRequests;
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

/// Looks up the copies among `mounted` that are not known to be as they should be, and adds to `state` what there is
/// of them, what can be made, and what is lost. Nothing is asked for one that is known, or whose content is: whoever
/// makes it finds out.
pub async fn look_up<'a>(
    context: &Context,
    requests: ObjectRequests<'_>,
    mounted: impl IntoIterator<Item = &'a str>,
    state: &mut ClusterState,
) -> Result<(), WriteFailure> {
    let namespace = &*requests.resource.key.namespace;
    for name in shared::unusable(&state.objects, mounted) {
        let is_known = state.objects.iter().any(|live| live.is_shared() && *live.name == *name);
        let mut remade = context.programs.remade(namespace, name);
        if !is_known && remade.is_none() {
            match requests.fetch(ObjectKind::ConfigMap, name).await? {
                Some(found) => {
                    context.learn_programs(ObjectKind::ConfigMap, &found);
                    remade = context.programs.remade(namespace, name);
                    let live = LiveObject::parse(ObjectKind::ConfigMap, &found);
                    state.objects.extend(live.map(|(_, live)| live));
                }
                None => {
                    state.lacking.lost.insert(name.to_owned());
                }
            }
        }
        state.lacking.known.retain(|copy| copy.name != name);
        state.lacking.known.extend(remade);
    }
    Ok(())
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
