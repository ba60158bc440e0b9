//! The kinds of others that we write, with the definitions that their projects publish.

use llsd_testkit::skip;

use super::{CLUSTER, OWNER, recognise, within};
use crate::planned::{everything, is_of_others};
use llsd_testbed::definitions;

#[tokio::test]
async fn routes_are_recognised_with_the_defaults_of_their_definitions() {
    let Some(cluster) = CLUSTER.get_or_skip().await else { return };
    let client = cluster.client();
    for installed in [definitions::both(&client).await, definitions::prometheus(&client).await] {
        if let Err(why) = installed {
            return skip(&why);
        }
    }
    let mut recognised = 0;
    for (about, objects) in everything(Some(OWNER)) {
        for object in objects.into_iter().filter(is_of_others) {
            let namespace = cluster.namespace("routes").await.unwrap();
            recognise(&client, &about, &within(&namespace, object)).await;
            recognised += 1;
        }
    }
    assert!(recognised > 5, "{recognised}");
}
