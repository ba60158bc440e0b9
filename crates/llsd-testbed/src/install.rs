//! Installs the operator's files on a control plane, all but the Deployment, and says as whom the
//! operator then acts: a client certificate for that user is as good as the account's token.

use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use llsd_install::{File, cluster_wide, names, namespaced};
use llsd_testkit::ControlPlane;

use crate::access::{eventually, may};

/// For an operator of all namespaces; returns its user name.
pub async fn install(cluster: &ControlPlane) -> String {
    crate::cluster::install(cluster).await;
    for name in ["namespace.yaml", "rbac.yaml"] {
        apply(cluster, file(&cluster_wide(), name)).await;
    }
    let user = names::user(names::NAMESPACE);
    let client = cluster.client_for(&user, &[]);
    wait_until_granted(&client, names::NAMESPACE).await;
    wait_until_guarded(&client, names::NAMESPACE).await;
    user
}

/// For an operator of one namespace that is already there; returns its user name.
pub async fn install_namespaced(cluster: &ControlPlane, namespace: &str) -> String {
    crate::cluster::install(cluster).await;
    apply(cluster, file(&namespaced(namespace), "namespaced/rbac.yaml")).await;
    let user = names::user(namespace);
    let client = cluster.client_for(&user, &[]);
    wait_until_granted(&client, namespace).await;
    wait_until_guarded(&client, namespace).await;
    user
}

/// The file of that name among `files`.
pub fn file<'a>(files: &'a [File], name: &str) -> &'a File {
    files.iter().find(|file| file.name == name).expect("an install file of that name")
}

/// Applies a file as an administrator would.
pub async fn apply(cluster: &ControlPlane, file: &File) {
    let args = ["apply", "--server-side", "-f", "-"];
    cluster.kubectl(&args, Some(&file.text())).await.unwrap().expect_success();
}

async fn wait_until_granted(client: &Client, namespace: &str) {
    eventually("the roles are at work", async || {
        may(client, "list", ("", "pods"), namespace, "").await
            && may(client, "create", ("coordination.k8s.io", "leases"), namespace, "").await
    })
    .await;
}

/// The API server compiles policies some time after they were created; until then everything passes.
async fn wait_until_guarded(client: &Client, namespace: &str) {
    let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
    let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
    let dry_run = PostParams { dry_run: true, ..Default::default() };
    let metadata = ObjectMeta { name: Some("foreign".into()), ..Default::default() };
    let secret = Secret { metadata: metadata.clone(), ..Default::default() };
    let map = ConfigMap { metadata, ..Default::default() };
    eventually("the policies on the operator are at work", async || {
        secrets.create(&dry_run, &secret).await.is_err()
            && maps.create(&dry_run, &map).await.is_err()
    })
    .await;
}
