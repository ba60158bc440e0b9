//! Volumes of the first machine, for claims that name no storage class.

use std::path::Path;

use serde_json::json;

use super::on_node::Product;

impl Product {
    /// A folder of this machine, or what is mounted there in the node, as a volume.
    pub async fn add_volume(&self, name: &str, folder: &Path, size: &str) -> anyhow::Result<()> {
        let first =
            json!({"key": "kubernetes.io/hostname", "operator": "In", "values": ["node-1"]});
        let volume = json!({
            "apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": size},
                "accessModes": ["ReadWriteOnce", "ReadWriteMany"],
                "persistentVolumeReclaimPolicy": "Retain",
                "local": {"path": folder},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [first]}]}},
            },
        });
        self.apply("default", &volume.to_string()).await
    }
}
