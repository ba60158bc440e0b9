//! A resource of the cluster by its name, with what the operator there would know of the world around it.

use llsd_offline::{Input, Source};
use llsd_plan::resource::Resource;

use super::Printout;
use super::cluster::{self, Cluster, NamespaceFlag};
use crate::operator::api_clock::ApiServer;
use crate::operator::controller::preview::{Previewer, key_of};

/// The resource as a file would hold it.
pub(super) async fn source(cluster: &Cluster, name: &str) -> Result<Source, String> {
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
    place: &NamespaceFlag,
    operator_namespace: &str,
) -> Result<Input, Printout> {
    cluster::run(async |cluster| {
        let cluster = cluster.at(place);
        let stored = cluster.resource(name).await?;
        let Cluster { client, clock, .. } = cluster.clone();
        let previewer = Previewer::new(ApiServer { client, clock }, operator_namespace);
        let previewer = Box::pin(previewer).await.map_err(|error| error.to_string())?;
        let key = key_of(&stored, &cluster.namespace);
        let resource = Resource::parse(&stored).known_as(&key);
        let preview =
            Box::pin(previewer.preview(&resource)).await.map_err(|error| error.to_string())?;
        let mut input = Input { facts: Some(preview.facts), ..Input::default() };
        input.add(&source(&cluster, name).await?);
        Ok(input)
    })
}
