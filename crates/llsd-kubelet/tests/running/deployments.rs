//! A pod's processes see exactly the files, variables and neighbours that its spec describes.

use std::collections::BTreeSet;

use k8s_openapi::api::{
    apps::v1::Deployment,
    core::v1::{ConfigMap, PersistentVolumeClaim, Pod, Secret, Service},
};
use kube::{
    Api, ResourceExt,
    api::{Patch, PatchParams},
};
use llsd_testkit::OpenAiStub;
use serde_json::{Value, json};

use crate::setup::{SERVER, bare_pod, create, get, is_ready, pods, ready, running, until, web};

#[tokio::test(flavor = "multi_thread")]
async fn a_deployment_runs_with_its_files_and_variables_and_rolls_to_others() {
    let Some((cluster, kubelet, namespace)) = running().await else { return };
    let client = cluster.client();
    for (name, text) in [("config-1", "version: 1"), ("config-2", "version: 2")] {
        create::<ConfigMap>(
            &client,
            &namespace,
            json!({
                "metadata": { "name": name },
                "data": { "run.yaml": text, "other.yaml": "not mounted" },
            }),
        )
        .await;
    }
    create::<Secret>(
        &client,
        &namespace,
        json!({ "metadata": { "name": "creds" }, "stringData": { "token": "sk-1", "X": "from" } }),
    )
    .await;
    create::<PersistentVolumeClaim>(
        &client,
        &namespace,
        json!({ "metadata": { "name": "state" }, "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": "1Gi" } },
        }}),
    )
    .await;
    create::<Service>(
        &client,
        &namespace,
        json!({ "metadata": { "name": "web-service" }, "spec": {
            "selector": { "app": "web" }, "ports": [{ "port": 80, "targetPort": "http" }],
        }}),
    )
    .await;
    create::<Deployment>(&client, &namespace, web("config-1")).await;
    let first = until(&client, &namespace, "the pod is ready", async || {
        let pods = pods(&client, &namespace).await;
        pods.iter().find(|pod| is_ready(pod)).map(ResourceExt::name_any)
    })
    .await;

    let address = kubelet.address(&namespace, &first, 8321).unwrap();
    let seen = get(&format!("http://{address}/")).await;
    assert_eq!(seen["config"], "version: 1", "{seen}");
    assert_eq!(seen["left out"], "FileNotFoundError");
    assert_eq!(seen["writable config"], false);
    assert_eq!(seen["from init"], "made by init sk-1");
    assert_eq!(seen["arguments"], json!(["sk-1", "$(NOBODY)", "$(TOKEN)"]));
    assert_eq!(seen["hostname"], first.as_str());
    assert_eq!(seen["home of the host"], false);
    let ids = seen["ids"].as_array().unwrap();
    assert_eq!((&ids[0], &ids[1], &ids[3]), (&json!(1001), &json!(0), &json!(1)));
    let env = seen["env"].as_object().unwrap();
    assert_eq!(env["TOKEN"], "sk-1");
    assert_eq!(env["ALL_X"], "from");
    assert_eq!(env["POD"], first.as_str());
    assert_eq!(env["URL"], "http://sk-1");
    assert_eq!(env["OF_THE_IMAGE"], "yes");
    let names: BTreeSet<&str> = env.keys().map(String::as_str).collect();
    let expected =
        ["ALL_X", "ALL_token", "HOME", "HOSTNAME", "OF_THE_IMAGE", "PATH", "POD", "TOKEN", "URL"];
    let python = BTreeSet::from(["LC_CTYPE"]);
    assert_eq!(&names - &python, BTreeSet::from(expected), "nothing of this process is passed on");

    // The other file, in a rolling update: both pods hold the same port for a while.
    let deployments: Api<Deployment> = Api::namespaced(client.clone(), &namespace);
    let patch = Patch::Merge(web("config-2"));
    deployments.patch("web", &PatchParams::default(), &patch).await.unwrap();
    let second = until(&client, &namespace, "another pod is the only one", async || {
        let pods = pods(&client, &namespace).await;
        let [pod] = pods.as_slice() else { return None };
        (pod.name_any() != first && is_ready(pod)).then(|| pod.name_any())
    })
    .await;
    assert_eq!(kubelet.address(&namespace, &first, 8321), None);
    let service = format!("{}/{namespace}/web-service/", kubelet.proxy_url());
    let seen = until(&client, &namespace, "connections leave the pod that is gone", async || {
        let text = reqwest::get(&service).await.unwrap().text().await.unwrap();
        let seen: Value = serde_json::from_str(&text).ok()?;
        (seen["hostname"] == second.as_str()).then_some(seen)
    })
    .await;
    assert_eq!(seen["config"], "version: 2");
    assert_eq!(seen["starts"], 2, "what is on the claim outlives the pod");

    let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), &namespace);
    until(&client, &namespace, "the claim is bound", async || {
        let phase = claims.get("state").await.unwrap().status?.phase?;
        (phase == "Bound").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_reach_what_they_are_let_and_services_are_reached_from_outside() {
    let Some((cluster, kubelet, namespace)) = running().await else { return };
    let client = cluster.client();
    create::<Service>(
        &client,
        &namespace,
        json!({ "metadata": { "name": "web-service" }, "spec": {
            "selector": { "app": "web" }, "ports": [{ "port": 8321 }],
        }}),
    )
    .await;
    create::<Pod>(
        &client,
        &namespace,
        bare_pod("web", &json!({ "command": ["python3", "-c", SERVER] })),
    )
    .await;
    ready(&client, &namespace, "web").await;

    let proxy = format!("{}/{namespace}/web-service", kubelet.proxy_url());
    assert_eq!(
        kubelet.server_url_template().replace("{namespace}", &namespace).replace("{name}", "web"),
        proxy,
    );
    let stub = OpenAiStub::start(&["a-model"]).await.unwrap();
    let target = stub.url().trim_start_matches("http://").parse().unwrap();
    kubelet.let_pods_reach("vllm", 8000, target).unwrap();
    let models = until(&client, &namespace, "the running pod reaches the stub", async || {
        let answer = reqwest::get(format!("{proxy}/stub")).await.ok()?;
        serde_json::from_str::<Value>(&answer.text().await.ok()?).ok()
    })
    .await;
    assert_eq!(models["data"][0]["id"], "a-model");

    let posted = reqwest::Client::new().post(format!("{proxy}/x?y=1")).body("body").send();
    assert_eq!(posted.await.unwrap().text().await.unwrap(), "got body");
    let address = kubelet.service(&namespace, "web-service").unwrap();
    assert_eq!(kubelet.service(&namespace, "web-service").unwrap(), address);
    assert_eq!(get(&format!("http://{address}/")).await["hostname"], "web");
    let unknown =
        reqwest::get(format!("{}/{namespace}/unknown/", kubelet.proxy_url())).await.unwrap();
    assert_eq!(unknown.status().as_u16(), 503);
}
