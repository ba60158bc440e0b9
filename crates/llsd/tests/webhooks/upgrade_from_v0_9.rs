//! User story 7 on the real API server: resources that v0.9 stored and ran, the definition and the
//! operator upgraded under them, and everything that v0.9's clients do through v1alpha1 afterwards.

use http::Method;
use llsd_install::{cluster_wide, files, names};
use llsd_testkit::{ControlPlane, InUse, Kubelet, PodState, WhileUsed, free_port};
use serde_json::{Value, json};

use crate::versioned::Versioned;
use llsd_testbed::access::eventually;
use llsd_testbed::authority::authority;
use llsd_testbed::install::{apply, file, install};
use llsd_testbed::namespace::Namespace;
use llsd_testbed::operator::Operator;
use llsd_testbed::stub_server::StubServer;
use llsd_testbed::v0_9::installation::Installation;
use llsd_testbed::v0_9::stage::{Before, NAME};
use llsd_testbed::webhooks::definition_path;

/// A cluster in which v0.9 worked, after the upgrade.
struct Upgraded {
    cluster: ControlPlane,
    _operator: Operator,
    _kubelet: Kubelet,
    server: StubServer,
    old: String,
    before: Before,
}

const ENVIRONMENT: &str = "VLLM_URL";

/// As v0.9's users write it.
fn v1alpha1(name: &str, server: Value) -> Value {
    let mut server = server;
    server["distribution"] = json!({"name": "starter"});
    json!({
        "apiVersion": "llamastack.io/v1alpha1", "kind": "LlamaStackDistribution",
        "metadata": {"name": name}, "spec": {"replicas": 1, "server": server},
    })
}

fn stored_by_v0_9() -> Value {
    v1alpha1(
        NAME,
        json!({
            "containerSpec": {"env": [{"name": ENVIRONMENT, "value": "http://vllm:8000/v1"}]},
            "storage": {"size": "10Gi"},
        }),
    )
}

impl Upgraded {
    async fn shared() -> Option<InUse<Self>> {
        static SHARED: WhileUsed<Upgraded> = WhileUsed::new();
        SHARED.get(Self::make).await
    }

    async fn make() -> Option<Self> {
        let builder = ControlPlane::builder().with_controller_manager();
        let cluster = builder.start_or_skip().await?;
        let kubelet = cluster.kubelet(|_| PodState::Ready).await.unwrap();
        let definition = llsd_testbed::v0_9::definition::definition().to_string();
        let args = ["apply", "--server-side", "-f", "-"];
        cluster.kubectl(&args, Some(&definition)).await.unwrap().expect_success();
        let args = ["wait", "--for=condition=Established", "crd", names::DEFINITION];
        cluster.kubectl(&args, None).await.unwrap().expect_success();
        let namespace =
            Namespace { cluster: &cluster, name: cluster.namespace("old").await.unwrap() };
        let before = run_by_v0_9(&cluster, &namespace).await;
        let old = namespace.name;

        let user = install(&cluster).await;
        apply(&cluster, file(&cluster_wide(), "webhook.yaml")).await;
        apply(&cluster, file(&files(), "storage-migration.yaml")).await;
        let server = StubServer::plain();
        let port = free_port().unwrap();
        let arguments = [
            format!("--webhook-bind-address=127.0.0.1:{port}"),
            format!("--webhook-url=https://127.0.0.1:{port}"),
            format!("--server-url-template=http://{}/{{namespace}}", server.host()),
            "--migrate-storage".to_owned(),
        ];
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        let operator = Operator::start(&cluster, &user, names::NAMESPACE, &arguments);
        let versioned = Versioned::new(cluster.client(), &old);
        let probe = v1alpha1("probe", json!({}));
        eventually("both versions are served", async || {
            versioned.send(Method::POST, "v1alpha1", "?dryRun=All", &probe).await.code < 300
                && versioned.list("v1alpha2").await.is_ok()
        })
        .await;
        Some(Self { cluster, _operator: operator, _kubelet: kubelet, server, old, before })
    }

    /// A new namespace, its resources in either version, and a server that answers for it.
    async fn namespace(&self, prefix: &str) -> (Namespace<'_>, Versioned) {
        let name = self.cluster.namespace(prefix).await.unwrap();
        let provider = json!({
            "api": "inference", "provider_id": "vllm", "provider_type": "remote::vllm",
            "config": {}, "health": {"status": "OK", "message": ""},
        });
        self.server.healthy(&format!("/{name}"), &json!([provider]));
        let versioned = Versioned::new(self.cluster.client(), &name);
        (Namespace { cluster: &self.cluster, name }, versioned)
    }
}

/// A resource that v0.9 stored, with its objects, its pods and its word that all is well.
async fn run_by_v0_9(cluster: &ControlPlane, namespace: &Namespace<'_>) -> Before {
    let versioned = Versioned::new(cluster.client(), &namespace.name);
    let stored = versioned.create("v1alpha1", &stored_by_v0_9()).await;
    let uid = stored["metadata"]["uid"].as_str().unwrap();
    let old = Installation::known(namespace.clone(), NAME, uid);
    for object in [old.account(), old.claim(), old.service(), old.deployment(true)] {
        old.write(object).await;
    }
    namespace
        .until("Deployment", NAME, "runs", |object| object["status"]["availableReplicas"] == 1)
        .await;
    let status = json!({"status": {"phase": "Ready", "availableReplicas": 1}});
    let (kind, rest) = ("application/merge-patch+json", format!("/{NAME}/status"));
    versioned.send_as(kind, Method::PATCH, "v1alpha1", &rest, &status).await.expect("status");
    Before::now(namespace).await
}

/// Waits until a resource is Ready as a client of v1alpha1 sees it.
async fn until_ready(versioned: &Versioned, name: &str) -> Value {
    until(versioned, name, "is Ready", |object| {
        object["status"]["phase"] == "Ready"
            && object["status"]["conditions"].as_array().is_some_and(|conditions| {
                conditions.iter().any(|condition| {
                    condition["type"] == "Ready"
                        && condition["status"] == "True"
                        && condition["observedGeneration"] == object["metadata"]["generation"]
                })
            })
    })
    .await
}

async fn until(
    versioned: &Versioned,
    name: &str,
    what: &str,
    holds: impl Fn(&Value) -> bool,
) -> Value {
    let mut last = Value::Null;
    for _ in 0..600 {
        let rest = format!("/{name}");
        last = versioned.send(Method::GET, "v1alpha1", &rest, &Value::Null).await.body;
        if holds(&last) {
            return last;
        }
        tokio::time::sleep(std::time::Duration::from_millis(100)).await;
    }
    panic!("{name}: {what}, not within a minute: {last:#}");
}

#[tokio::test]
async fn what_v0_9_ran_stays_ready_and_no_pod_changes() {
    let Some(upgraded) = Upgraded::shared().await else { return };
    let namespace = Namespace { cluster: &upgraded.cluster, name: upgraded.old.clone() };
    let versioned = Versioned::new(upgraded.cluster.client(), &upgraded.old);
    until_ready(&versioned, NAME).await;
    let adopted = namespace
        .until("Deployment", NAME, "is adopted", |object| {
            object["metadata"]["annotations"]["llamastack.io/adopted"].is_string()
        })
        .await;
    assert_eq!(adopted["spec"]["template"].to_string(), upgraded.before.template);
    assert_eq!(Before::now(&namespace).await, upgraded.before);
    // Both versions tell the same, each in its own fields.
    let older = versioned.get("v1alpha1", NAME).await;
    assert_eq!(older["spec"]["server"]["containerSpec"]["env"][0]["name"], ENVIRONMENT);
    assert_eq!(older["spec"]["server"]["storage"]["size"], "10Gi");
    let newer = versioned.get("v1alpha2", NAME).await;
    assert_eq!(newer["spec"]["distribution"]["name"], "starter");
    assert_eq!(newer["spec"]["workload"]["overrides"]["env"][0]["name"], ENVIRONMENT);
    assert_eq!(newer["status"]["phase"], "Ready");
}

#[tokio::test]
async fn stored_objects_are_migrated_when_the_operator_is_asked_to() {
    let Some(upgraded) = Upgraded::shared().await else { return };
    let namespace = Namespace { cluster: &upgraded.cluster, name: "default".to_owned() };
    eventually("only v1alpha2 is stored", async || {
        let path = definition_path();
        let request = http::Request::get(path).body(Vec::new()).unwrap();
        let definition: Value = namespace.cluster.client().request(request).await.unwrap();
        definition["status"]["storedVersions"] == json!(["v1alpha2"])
    })
    .await;
}

#[tokio::test]
async fn v0_9s_clients_create_scale_and_delete() {
    let Some(upgraded) = Upgraded::shared().await else { return };
    let (namespace, versioned) = upgraded.namespace("clients").await;
    versioned.create("v1alpha1", &v1alpha1("plain", json!({}))).await;
    let stored = json!({"storage": {"size": "20Gi", "mountPath": "/.llama"}});
    versioned.create("v1alpha1", &v1alpha1("stored", stored)).await;
    for name in ["plain", "stored"] {
        until_ready(&versioned, name).await;
        assert!(namespace.get("Deployment", name).await.is_some());
        assert!(namespace.get("Service", &format!("{name}-service")).await.is_some());
    }
    // A claim where one is asked for, of that size, and pods that never share it.
    assert!(namespace.get("PersistentVolumeClaim", "plain-pvc").await.is_none());
    let claim = namespace.get("PersistentVolumeClaim", "stored-pvc").await.unwrap();
    assert_eq!(claim["spec"]["resources"]["requests"]["storage"], "20Gi");
    let stored = namespace.get("Deployment", "stored").await.unwrap();
    assert_eq!(stored["spec"]["strategy"]["type"], "Recreate");

    // Somebody scales the Deployment: it is put back. The resource scales it for good.
    namespace.patch("Deployment", "plain", &json!({"spec": {"replicas": 3}})).await;
    namespace
        .until("Deployment", "plain", "is put back", |object| object["spec"]["replicas"] == 1)
        .await;
    versioned.merge("v1alpha1", "plain", &json!({"spec": {"replicas": 2}})).await.expect("scale");
    let scaled = until(&versioned, "plain", "has two", |object| {
        object["status"]["availableReplicas"] == 2 && object["status"]["phase"] == "Ready"
    })
    .await;
    assert_eq!(scaled["spec"]["replicas"], 2);

    // What the server says of itself.
    let told = until(&versioned, "plain", "tells its providers", |object| {
        object["status"]["distributionConfig"]["providers"][0]["health"]["status"] == "OK"
    })
    .await;
    let distribution = &told["status"]["distributionConfig"];
    assert_eq!(distribution["activeDistribution"], "starter");
    let provider = &distribution["providers"][0];
    assert_eq!(
        (&provider["api"], &provider["provider_id"], &provider["provider_type"]),
        (&json!("inference"), &json!("vllm"), &json!("remote::vllm"))
    );

    versioned.delete("v1alpha1", "plain").await;
    for (kind, suffix) in [("Deployment", ""), ("Service", "-service"), ("ServiceAccount", "-sa")] {
        namespace.until_gone(kind, &format!("plain{suffix}")).await;
    }
    namespace.until_gone("LlamaStackDistribution", "plain").await;
}

#[tokio::test]
async fn v0_9s_clients_set_accounts_and_certificate_authorities() {
    let Some(upgraded) = Upgraded::shared().await else { return };
    let (namespace, versioned) = upgraded.namespace("settings").await;
    let account =
        json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "own"}});
    namespace.apply(&account.to_string()).await;
    let authorities = json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "custom-ca-bundle"},
        "data": {"ca-bundle.crt": authority("v0.9's clients")},
    });
    namespace.apply(&authorities.to_string()).await;
    let server = json!({
        "podOverrides": {"serviceAccountName": "own"},
        "tlsConfig": {"caBundle": {"configMapName": "custom-ca-bundle"}},
    });
    versioned.create("v1alpha1", &v1alpha1("set", server)).await;
    until_ready(&versioned, "set").await;
    let deployment = namespace.get("Deployment", "set").await.unwrap();
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], "own");
    let volume = pod["volumes"].as_array().unwrap().iter().find(|volume| {
        volume["configMap"]["name"].as_str().is_some_and(|name| name.starts_with("set-ca-bundle-"))
    });
    assert!(volume.is_some(), "{pod:#}");
    let container = &pod["containers"][0];
    let variable = container["env"].as_array().unwrap().iter();
    let file = variable.clone().find(|entry| entry["name"] == "SSL_CERT_FILE").unwrap();
    let mounted = container["volumeMounts"].as_array().unwrap().iter().any(|mount| {
        file["value"].as_str().unwrap().starts_with(mount["mountPath"].as_str().unwrap())
    });
    assert!(mounted, "{container:#}");
}
