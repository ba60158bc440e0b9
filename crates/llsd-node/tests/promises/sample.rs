//! A file of `deploy/samples` as a resource, and the volumes that some of them claim.

use llsd_node::product::{Product, repository};
use serde_json::Value;

/// A sample by the name of its file, with what a test changes of it as a merge patch.
pub async fn sample(product: &Product, file: &str, changes: &Value) -> Value {
    let path = repository("deploy/samples").join(file);
    let (path, changes) = (path.display().to_string(), changes.to_string());
    let patch = ["patch", "--local", "--type=merge", "-o", "json", "-f", &path, "-p", &changes];
    let mut resource: Value =
        serde_json::from_str(&product.kubectl(&patch).await.unwrap()).unwrap();
    let metadata = resource["metadata"].as_object_mut().unwrap();
    metadata.remove("namespace");
    resource
}

/// So many volumes on the first machine, for the claims of samples.
pub async fn volumes(product: &Product, count: usize) {
    let folder = product.node.folder().join("volumes");
    for number in 0..count {
        let path = folder.join(number.to_string());
        std::fs::create_dir_all(&path).unwrap();
        product.add_volume(&format!("volume-{number}"), &path, "20Gi").await.unwrap();
    }
}
