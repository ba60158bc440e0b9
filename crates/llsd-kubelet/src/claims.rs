//! Claims for storage: a folder each, which outlives pods, and a volume that the real controllers
//! bind the claim to.

use std::{fs, path::PathBuf};

use k8s_openapi::api::core::v1::{PersistentVolume, PersistentVolumeClaim, Pod};
use kube::{
    Api, Client, ResourceExt,
    api::{Patch, PatchParams},
};
use serde_json::json;

use llsd_testkit::node::FIELD_MANAGER;

use crate::refusal::Refusal;

/// Below which folder the claims have theirs.
#[derive(Debug)]
pub(crate) struct Claims(pub(crate) PathBuf);

impl Claims {
    /// The folder of a claim. It belongs to the claim's uid: one that was deleted and made again is
    /// empty.
    pub(crate) async fn folder(
        &self,
        client: &Client,
        pod: &Pod,
        name: &str,
    ) -> Result<PathBuf, Refusal> {
        let namespace = pod.namespace().unwrap_or_default();
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), &namespace);
        let claim = claims.get_opt(name).await.map_err(|error| refused(&error))?;
        let claim = claim.ok_or_else(|| {
            Refusal::preparing(format!("persistentvolumeclaim \"{name}\" not found"))
        })?;
        let folder = self.0.join(claim.uid().unwrap_or_default());
        if !folder.exists() {
            self.provide(client, &claim).await.map_err(|error| refused(&error))?;
            fs::create_dir_all(&folder).map_err(|error| Refusal::preparing(error.to_string()))?;
        }
        Ok(folder)
    }

    async fn provide(&self, client: &Client, claim: &PersistentVolumeClaim) -> kube::Result<()> {
        let spec = claim.spec.as_ref();
        if spec.is_some_and(|spec| spec.volume_name.is_some()) {
            return Ok(());
        }
        let uid = claim.uid().unwrap_or_default();
        let name = format!("stand-in-{uid}");
        let size = spec
            .and_then(|spec| spec.resources.as_ref()?.requests.as_ref()?.get("storage").cloned());
        let volume = json!({
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": { "name": name },
            "spec": {
                "capacity": { "storage": size },
                "accessModes": spec.and_then(|spec| spec.access_modes.clone()),
                "storageClassName": spec.and_then(|spec| spec.storage_class_name.clone()),
                "persistentVolumeReclaimPolicy": "Retain",
                "hostPath": { "path": self.0.join(&uid) },
                "claimRef": {
                    "apiVersion": "v1",
                    "kind": "PersistentVolumeClaim",
                    "namespace": claim.namespace(),
                    "name": claim.name_any(),
                    "uid": uid,
                },
            },
        });
        let volumes: Api<PersistentVolume> = Api::all(client.clone());
        let manager = PatchParams::apply(FIELD_MANAGER).force();
        volumes.patch(&name, &manager, &Patch::Apply(volume)).await?;
        Ok(())
    }
}

fn refused(error: &kube::Error) -> Refusal {
    Refusal::preparing(error.to_string())
}
