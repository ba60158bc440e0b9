//! A resource of the cluster by its name, with what the operator there would know of the world around it.

use llsd_offline::{Input, Source};
use llsd_plan::resource::Resource;

use super::Printout;
use super::cluster::{self, Cluster, ClusterFlags};
use super::cluster_error::ClusterError;
use crate::operator::controller::preview::{Previewer, key_of};

/// The resource as a file would hold it.
pub(super) async fn source(cluster: &Cluster, name: &str) -> Result<Source, ClusterError> {
    let mut resource = cluster.resource(name).await?;
    if let Some(fields) = resource.as_object_mut() {
        fields.shift_remove("status");
    }
    // Who applies an object must not say who wrote it before.
    if let Some(fields) = resource["metadata"].as_object_mut() {
        fields.shift_remove("managedFields");
    }
    let shown = format!("{}/{name}", cluster.namespace);
    Ok(Source::new(shown, resource.to_string().into_bytes()))
}

/// The resource, and the facts that its operator would plan with.
pub(super) fn input(
    name: &str,
    place: &ClusterFlags,
    operator_namespace: &str,
) -> Result<Input, Printout> {
    cluster::run(place, async |cluster| {
        let stored = cluster.resource(name).await?;
        let previewer = Box::pin(Previewer::new(cluster.api_server(), operator_namespace)).await?;
        let key = key_of(&stored, &cluster.namespace);
        let resource = Resource::parse(&stored).known_as(&key);
        let preview = Box::pin(previewer.preview(&resource)).await?;
        let mut input = Input { facts: Some(preview.facts), ..Input::default() };
        input.add(&source(&cluster, name).await?);
        Ok(input)
    })
}
