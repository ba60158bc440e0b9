//! The earlier states of a server, which the ReplicaSets of its Deployment keep.

use k8s_openapi::api::apps::v1::ReplicaSet;
use kube::Api;
use kube::api::ListParams;
use llsd_plan::objects::labels;
use llsd_plan::resource::Key;
use llsd_plan::rollout;
use serde_json::Value;

use crate::operator::controller::context::Context;

/// The ReplicaSets that have the labels of a server's pods.
pub async fn replica_sets(context: &Context, key: &Key) -> Result<Vec<ReplicaSet>, kube::Error> {
    let api: Api<ReplicaSet> = Api::namespaced(context.client.clone(), &key.namespace);
    let own = ListParams::default().labels(&labels::selector_text(&key.name));
    Ok(api.list(&own).await?.items)
}

/// The pod template with this hash, if a ReplicaSet of the Deployment with this uid keeps it.
pub async fn template(
    context: &Context,
    key: &Key,
    deployment: &str,
    hash: &str,
) -> Result<Option<Value>, kube::Error> {
    let listed = replica_sets(context, key).await?;
    let mut own = listed.into_iter().filter(|set| {
        let mut owners = set.metadata.owner_references.iter().flatten();
        owners.any(|owner| owner.uid == deployment)
    });
    Ok(own.find_map(|set| rollout::template_of(&serde_json::to_value(set).ok()?, hash)))
}
