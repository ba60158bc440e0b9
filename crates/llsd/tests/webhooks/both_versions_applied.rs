//! Both applies of the real kubectl, of every sample and through either version: what one wrote, the
//! other finds in order, and applying again changes nothing.

use llsd_api::conversion::{Version, convert};
use llsd_testkit::ControlPlane;
use serde_json::{Value, json};

use crate::registration::install_conversion;
use crate::server::{Identity, Server};
use crate::versioned::{Versioned, lasting, samples};

const CLIENT_SIDE: &[&str] = &["apply", "-f", "-"];
const SERVER_SIDE: &[&str] = &["apply", "--server-side", "-f", "-"];

#[tokio::test]
async fn every_sample_is_applied_through_either_version_and_rests() {
    let Some(cluster) = ControlPlane::start_or_skip().await else { return };
    let identity = Identity::new();
    let server = Server::start(&identity, None);
    install_conversion(&cluster, server.address, &identity).await;
    for (number, how) in [CLIENT_SIDE, SERVER_SIDE].into_iter().enumerate() {
        for version in Version::ALL {
            let namespace = cluster.namespace("applied").await.unwrap();
            let resources = Versioned::new(cluster.client(), &namespace);
            let written = all_as(version, &namespace);
            let list = json!({"apiVersion": "v1", "kind": "List", "items": written}).to_string();
            cluster.kubectl(how, Some(&list)).await.unwrap().expect_success();
            let first = both(&resources).await;
            assert_eq!(first[0].len(), written.len());
            for (object, found) in written.iter().zip(&first[version as usize]) {
                assert_holds(&found["spec"], &object["spec"], &found["metadata"]["name"]);
            }
            // Once more, in the same way and in the other, as two authors would.
            for how in [how, [SERVER_SIDE, CLIENT_SIDE][number]] {
                let again = cluster.kubectl(how, Some(&list)).await.unwrap();
                if how == SERVER_SIDE && number == 0 {
                    assert!(again.success() || again.stderr.contains("conflict"), "{again:?}");
                } else {
                    again.expect_success();
                }
                let now = both(&resources).await;
                for (before, after) in first.iter().flatten().zip(now.iter().flatten()) {
                    assert_eq!(before["spec"], after["spec"]);
                    assert_eq!(before["metadata"]["generation"], after["metadata"]["generation"]);
                }
            }
        }
    }
}

/// Every sample in one version, by name.
fn all_as(version: Version, namespace: &str) -> Vec<Value> {
    let samples = samples().into_iter().enumerate().map(|(number, (_, mut sample))| {
        sample["metadata"]["name"] = json!(format!("sample-{number:02}"));
        sample["metadata"]["namespace"] = json!(namespace);
        convert(sample, version)
    });
    samples.collect()
}

/// All resources in both versions, by name.
async fn both(resources: &Versioned) -> [Vec<Value>; 2] {
    let mut all =
        [resources.list("v1alpha1").await.unwrap(), resources.list("v1alpha2").await.unwrap()];
    for list in &mut all {
        for object in list.iter_mut() {
            *object = lasting(object.take());
        }
        list.sort_by_key(|object| object["metadata"]["name"].as_str().unwrap().to_owned());
    }
    all
}

/// Whether everything that was written is there; the API server adds defaults.
fn assert_holds(found: &Value, written: &Value, about: &Value) {
    match (found, written) {
        (Value::Object(found), Value::Object(written)) => {
            for (field, value) in written {
                let there = found.get(field).unwrap_or_else(|| panic!("{about}: {field} is lost"));
                assert_holds(there, value, about);
            }
        }
        (Value::Array(found), Value::Array(written)) => {
            assert_eq!(found.len(), written.len(), "{about}");
            for (found, written) in found.iter().zip(written) {
                assert_holds(found, written, about);
            }
        }
        _ => assert_eq!(found, written, "{about}"),
    }
}
