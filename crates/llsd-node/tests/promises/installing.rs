//! Each way to install the operator, up to a server that answers, and away again.

use std::path::Path;
use std::time::Instant;

use llsd_install::names::{DEFINITION, NAMESPACE};
use llsd_node::NodeOptions;
use llsd_node::product::{Product, repository};
use serde_json::json;

use crate::scene::{PATIENCE, bare, is_ready, kept, resource, team, url};

const NAME: &str = "first";

#[tokio::test]
async fn every_way_to_install_leads_to_a_server_that_answers_and_nothing_is_left_afterwards() {
    let Some(product) = bare(NodeOptions::default()).await else { return };

    let begun = Instant::now();
    product.install().await.unwrap();
    a_server_answers(&product, "one").await;
    kept("Installed from one file", begun, "");
    let begun = Instant::now();
    let files = product.llsd(&["manifests", "--image", product.operator_image()]).unwrap();
    delete(&product, &files).await;
    nothing_is_left(&product, "one").await;
    kept("Uninstalled: no object of the operator or of a server is left", begun, "");

    let begun = Instant::now();
    let folder = tempfile::tempdir().unwrap();
    kustomization(&product, folder.path());
    let files = product.kubectl(&["kustomize", folder.path().to_str().unwrap()]).await.unwrap();
    product.apply(NAMESPACE, &files).await.unwrap();
    product.configure(NAMESPACE).await.unwrap();
    a_server_answers(&product, "two").await;
    kept("Installed with kustomize", begun, "");
    delete(&product, &files).await;
    nothing_is_left(&product, "two").await;

    let begun = Instant::now();
    for file in ["deploy/crd.yaml", "deploy/policy.yaml", "deploy/operator-policy.yaml"] {
        let file = std::fs::read_to_string(repository(file)).unwrap();
        product.apply("default", &file).await.unwrap();
    }
    team(&product, "three").await;
    let own = ["manifests", "--namespaced", "three", "--image", product.operator_image()];
    product.apply("three", &product.llsd(&own).unwrap()).await.unwrap();
    product.configure("three").await.unwrap();
    serves(&product, "three").await;
    kept("Installed for one namespace, with Roles alone", begun, "");
    product.node.stop().unwrap();
}

async fn a_server_answers(product: &Product, namespace: &str) {
    team(product, namespace).await;
    serves(product, namespace).await;
}

async fn serves(product: &Product, namespace: &str) {
    product.apply(namespace, &resource(NAME, json!({})).to_string()).await.unwrap();
    let ready = product.until(namespace, NAME, PATIENCE, is_ready).await.unwrap();
    let answer = product.chat(url(&ready), "Who answers?").unwrap();
    assert!(answer.contains("Who answers?"), "{answer}");
}

async fn delete(product: &Product, files: &str) {
    let delete = ["delete", "--ignore-not-found", "--timeout=3m", "-f", "-"];
    let done = product.node.kubectl(&delete, Some(files)).await.unwrap();
    assert!(done.success(), "{}", done.stderr);
}

/// No definition, no policy, no webhook, no role, and nothing in the namespace of the server but what is not ours.
async fn nothing_is_left(product: &Product, namespace: &str) {
    let gone = ["wait", "--for=delete", "--timeout=2m"];
    let definition = format!("crd/{DEFINITION}");
    for object in [definition.as_str(), &format!("namespace/{NAMESPACE}")] {
        product.kubectl(&[&gone[..], &[object]].concat()).await.unwrap();
    }
    let ours = "app.kubernetes.io/managed-by=llama-stack-operator";
    let kinds = "deployments,services,configmaps,serviceaccounts,jobs,pods,networkpolicies,secrets";
    let wait = ["wait", kinds, "-n", namespace, "-l", ours];
    product.kubectl(&[&wait[..], &gone[1..]].concat()).await.unwrap();
    let cluster = "clusterroles,clusterrolebindings,validatingwebhookconfigurations,\
                   validatingadmissionpolicies,validatingadmissionpolicybindings";
    let left = product.kubectl(&["get", cluster, "-o", "name"]).await.unwrap();
    let left: Vec<&str> =
        left.lines().filter(|name| name.contains("llama") || name.contains("llsd")).collect();
    assert!(left.is_empty(), "{left:?}");
}

/// A kustomization over `deploy` that names the image, as docs/install.md shows it.
fn kustomization(product: &Product, folder: &Path) {
    let image = product.operator_image();
    let (name, tag) = image.rsplit_once(':').unwrap();
    let deploy = folder.join("deploy");
    copy(&repository("deploy"), &deploy);
    let text = format!(
        r#"resources: [deploy]
images: [{{name: docker.io/llamastack/llsd-operator, newName: "{name}", newTag: {tag}}}]
patches:
  - target: {{kind: Deployment, name: llama-stack-k8s-operator-controller-manager}}
    patch: |
      - {{op: replace, path: /spec/template/spec/containers/0/env/2/value, value: "{image}"}}
"#
    );
    std::fs::write(folder.join("kustomization.yaml"), text).unwrap();
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_file() {
            std::fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
        }
    }
}
