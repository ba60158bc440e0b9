//! What the stand-in of the quick tests is compared with: the same table of pods on the real node.

use std::time::Instant;

use llsd_node::NodeOptions;
use llsd_testkit::PodCase;

use crate::scene::{bare, kept};

#[tokio::test]
async fn pods_become_what_the_table_of_the_stand_in_says() {
    let Some(product) = bare(NodeOptions::default()).await else { return };
    let begun = Instant::now();
    let cases = PodCase::all();
    for case in cases.iter().filter(|case| case.claim) {
        let folder = product.node.folder().join(&case.name);
        std::fs::create_dir(&folder).unwrap();
        product.add_volume(&case.name, &folder, "1Gi").await.unwrap();
    }
    let (client, image) = (product.node.client().await.unwrap(), product.server_image());
    PodCase::run_all(&cases, &client, "default", image).await.unwrap();
    let measured = format!("{} pods", cases.len());
    kept("Pods become what the table for the stand-in says", begun, &measured);
    product.node.stop().unwrap();
}
