//! Every sample, and every example of the documents as written there, goes into a real API server.

use std::collections::BTreeMap;
use std::path::PathBuf;

use llsd_cases::files::yaml_files;
use llsd_plan::validate::validate;
use llsd_testkit::ControlPlane;
use serde_json::{Value, json};

use llsd_testbed::cluster::{NAMESPACE, create_when_served, installed};

fn v1alpha2_files(folder: &str) -> Vec<PathBuf> {
    files_of_version(folder, "v1alpha2")
}

/// The files of a folder that hold a resource of this version.
fn files_of_version(folder: &str, version: &str) -> Vec<PathBuf> {
    let api_version = format!("apiVersion: llamastack.io/{version}");
    let mut files = yaml_files(folder);
    files.retain(|path| std::fs::read_to_string(path).unwrap().contains(&api_version));
    files
}

/// One kubectl for all files: it needs longer to start than to send one.
async fn kubectl(cluster: &ControlPlane, verb: &str, files: &[PathBuf], flags: &[&str]) -> String {
    let files = files.iter().flat_map(|file| ["-f", file.to_str().unwrap()]);
    let args: Vec<&str> = [verb].into_iter().chain(files).chain(flags.iter().copied()).collect();
    cluster.kubectl(&args, None).await.unwrap().expect_success()
}

#[tokio::test]
async fn every_sample_is_applied_either_way_and_applying_it_again_changes_nothing() {
    let Some(cluster) = installed().await else { return };
    let namespace = cluster.namespace("samples").await.unwrap();
    let files = v1alpha2_files("deploy/samples");
    assert!(files.len() >= 20, "{} samples", files.len());
    for how in [&[][..], &["--server-side"][..]] {
        let how = [how, &["-n", &namespace]].concat();
        kubectl(cluster, "apply", &files, &how).await;
        let first = generations_and_specs(cluster, &files, &namespace).await;
        assert_eq!(first.len(), files.len(), "every sample has a name of its own");
        kubectl(cluster, "apply", &files, &how).await;
        assert_eq!(generations_and_specs(cluster, &files, &namespace).await, first);
        kubectl(cluster, "delete", &files, &["--wait=true", "-n", &namespace]).await;
    }
}

/// By the name of the resource.
async fn generations_and_specs(
    cluster: &ControlPlane,
    files: &[PathBuf],
    namespace: &str,
) -> BTreeMap<String, (i64, Value)> {
    let listed = kubectl(cluster, "get", files, &["-n", namespace, "-o", "json"]).await;
    let mut listed: Value = serde_json::from_str(&listed).unwrap();
    let resource = |resource: &mut Value| {
        let name = resource["metadata"]["name"].as_str().unwrap().to_owned();
        (name, (resource["metadata"]["generation"].as_i64().unwrap(), resource["spec"].take()))
    };
    listed["items"].as_array_mut().unwrap().iter_mut().map(resource).collect()
}

#[tokio::test]
async fn every_example_of_the_documents_is_accepted_as_it_stands_there() {
    let Some(cluster) = installed().await else { return };
    let files = v1alpha2_files("crates/llsd/tests/documents");
    assert!(files.len() >= 10, "{} examples", files.len());
    for how in [&["--dry-run=server"][..], &["--dry-run=server", "--server-side"][..]] {
        kubectl(cluster, "apply", &files, how).await;
    }
}

/// The schema of v1alpha1 by itself, as operator v0.9 has it: stored and without conversion.
#[tokio::test]
async fn every_v1alpha1_sample_fits_the_v1alpha1_schema() {
    let Some(cluster) = ControlPlane::start_or_skip().await else { return };
    let mut crd = llsd_api::crd::manifest();
    crd["spec"]["conversion"] = json!({"strategy": "None"});
    crd["spec"]["versions"].as_array_mut().unwrap().remove(0);
    crd["spec"]["versions"][0]["storage"] = json!(true);
    create_when_served(&cluster, &crd.to_string()).await;
    let files = files_of_version("deploy/samples", "v1alpha1");
    assert!(files.len() >= 8, "{} samples", files.len());
    for file in &files {
        create_when_served(&cluster, &std::fs::read_to_string(file).unwrap()).await;
    }
    let bare = json!({
        "apiVersion": "llamastack.io/v1alpha1",
        "kind": "LlamaStackDistribution",
        "metadata": {"name": "bare"},
        "spec": {"server": {"distribution": {"name": "starter"}, "containerSpec": {}}, "network": {}},
    });
    create_when_served(&cluster, &bare.to_string()).await;
    let args = ["get", "llsd", "bare", "-o", "jsonpath={.spec}"];
    let stored = cluster.kubectl(&args, None).await.unwrap().expect_success();
    let with_defaults = json!({
        "replicas": 1,
        "server": {"distribution": {"name": "starter"}, "containerSpec": {"name": "llama-stack"}},
        "network": {"exposeRoute": false},
    });
    assert_eq!(serde_json::from_str::<Value>(&stored).unwrap(), with_defaults);
}

#[test]
fn every_sample_and_example_is_valid_to_the_command_line_too() {
    for folder in ["deploy/samples", "crates/llsd/tests/documents"] {
        for file in v1alpha2_files(folder) {
            let text = std::fs::read_to_string(&file).unwrap();
            let resource: Value = serde_saphyr::from_str(&text).unwrap();
            assert_eq!(validate(&resource).problems, [], "{}", file.display());
        }
    }
}

/// What a user wrote in either of two shapes is stored as written.
#[tokio::test]
async fn a_field_of_two_shapes_is_stored_as_it_was_written() {
    let Some(cluster) = installed().await else { return };
    let yaml = r#"
apiVersion: llamastack.io/v1alpha2
kind: LlamaStackDistribution
metadata: {name: shapes}
spec:
  distribution: {name: starter}
  providers:
    inference: {provider: vllm, host: {name: creds, key: host}}
    safety: [{provider: llama-guard}]
    vectorIo: {provider: pgvector, host: db.example.com}
  resources:
    models: ["llama3.2", {name: bge, modelType: embedding, embeddingDimension: 384}]
  networking: {expose: {}}
"#;
    let written: Value = serde_saphyr::from_str(yaml).unwrap();
    let args = ["apply", "-f", "-"];
    cluster.kubectl(&args, Some(yaml)).await.unwrap().expect_success();
    let args = ["get", "llsd", "shapes", "-n", NAMESPACE, "-o", "json"];
    let stored = cluster.kubectl(&args, None).await.unwrap().expect_success();
    let stored: Value = serde_json::from_str(&stored).unwrap();
    for section in ["providers", "resources"] {
        assert_eq!(stored["spec"][section], written["spec"][section]);
    }
    assert_eq!(stored["spec"]["networking"]["expose"], written["spec"]["networking"]["expose"]);
    assert_eq!(stored["spec"]["networking"]["port"], 8321, "the port has its default");
}
