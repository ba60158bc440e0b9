//! What a user sees of admission, through the real kubectl and a real API server: all problems at
//! once, remarks on what is accepted, and no say in what does not concern it.

use std::sync::{LazyLock, OnceLock};

use http::Method;
use llsd_testkit::{ControlPlane, Kubectl, SharedControlPlane};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::registration::{install_conversion, register_admission};
use crate::server::{Identity, Server};
use crate::versioned::Versioned;
use llsd_testbed::webhook_client::{WebhookClient, callers};

/// By which the webhooks know the API server.
static CLIENT: LazyLock<WebhookClient> = LazyLock::new(WebhookClient::new);
static CLUSTER: SharedControlPlane =
    SharedControlPlane::new(|| ControlPlane::builder().api_server_flag(CLIENT.api_server_flag()));
static INSTALLED: OnceCell<()> = OnceCell::const_new();
static SERVER: OnceLock<(Identity, Server)> = OnceLock::new();

/// Stored before there was any admission: two providers of one id.
const OLD: &str = "old";

/// A cluster without the policy, which would answer first where it can.
async fn installed() -> Option<(&'static ControlPlane, Versioned)> {
    let cluster = CLUSTER.get_or_skip().await?;
    let resources = Versioned::new(cluster.client(), "default");
    let install = async || {
        let (identity, server) = SERVER.get_or_init(|| {
            let identity = Identity::new();
            let config = cluster.config_for("operator", &["system:masters"]);
            let server = Server::start(&identity, Some((config, callers(&CLIENT))));
            (identity, server)
        });
        install_conversion(cluster, server.address, identity).await;
        resources.create("v1alpha2", &v1alpha2(OLD, &two_of_one_id())).await;
        register_admission(cluster, server.address, identity).await;
    };
    INSTALLED.get_or_init(install).await;
    Some((cluster, resources))
}

fn v1alpha2(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
        "metadata": {"name": name}, "spec": spec,
    })
}

fn two_of_one_id() -> Value {
    json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": {"id": "one", "provider": "ollama"},
                      "safety": {"id": "one", "provider": "llama-guard"}},
    })
}

async fn kubectl(cluster: &ControlPlane, args: &[&str], object: &Value) -> Kubectl {
    cluster.kubectl(&[args, &["-f", "-"]].concat(), Some(&object.to_string())).await.unwrap()
}

#[tokio::test]
async fn kubectl_shows_every_problem_with_its_field_and_what_to_do() {
    let Some((cluster, resources)) = installed().await else { return };
    let mut spec = two_of_one_id();
    spec["providers"]["safety"]["endpont"] = json!("http://guard");
    spec["resources"] = json!({"models": [{"name": "e", "modelType": "embedding"}]});
    let bad = v1alpha2("bad", &spec);
    let expected = "The LlamaStackDistribution \"bad\" is invalid: \n\
        * spec.providers.safety.endpont: unknown field; did you mean endpoint?\n\
        * spec.providers.safety.id: provider ids must be unique over all APIs: inference/one, safety/one; give each provider an id of its own\n\
        * spec.resources.models[0].embeddingDimension: modelType embedding needs embeddingDimension; set embeddingDimension to the length of the model's vectors\n";
    for args in [&["create"][..], &["apply", "--server-side"][..]] {
        let refused = kubectl(cluster, args, &bad).await;
        assert!(!refused.success());
        assert_eq!(refused.stderr, expected, "{args:?}");
    }
    let answer = resources.send(Method::POST, "v1alpha2", "", &bad).await;
    assert_eq!((answer.code, &answer.body["reason"]), (422, &json!("Invalid")));
    let reasons: Vec<&Value> = answer.body["details"]["causes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|cause| &cause["reason"])
        .collect();
    assert_eq!(reasons, ["FieldValueForbidden", "FieldValueDuplicate", "FieldValueRequired"]);
}

#[tokio::test]
async fn a_v1alpha1_resource_is_told_in_its_own_fields() {
    let Some((cluster, _)) = installed().await else { return };
    let bad = json!({
        "apiVersion": "llamastack.io/v1alpha1", "kind": "LlamaStackDistribution",
        "metadata": {"name": "1st"},
        "spec": {"server": {
            "distribution": {"name": "starter"},
            "autoscaling": {"minReplicas": 3, "maxReplicas": 2},
        }},
    });
    let refused = kubectl(cluster, &["create"], &bad).await;
    assert!(!refused.success());
    for said in ["* metadata.name: ", "* spec.server.autoscaling"] {
        assert!(refused.stderr.contains(said), "{}", refused.stderr);
    }
}

#[tokio::test]
async fn what_was_wrong_before_blocks_no_other_change() {
    let Some((_, resources)) = installed().await else { return };
    for patch in [
        json!({"metadata": {"labels": {"a": "b"}}}),
        json!({"metadata": {"finalizers": ["example.com/hold"]}}),
        json!({"metadata": {"finalizers": null}}),
    ] {
        let answer = resources.merge("v1alpha2", OLD, &patch).await;
        assert_eq!((answer.code, answer.warnings.len()), (200, 0), "{answer:?}");
    }
    let other = json!({"spec": {"workload": {"replicas": 2}}});
    let answer = resources.merge("v1alpha2", OLD, &other).await;
    assert_eq!(answer.code, 200, "{answer:?}");
    let is_of_before = |warning: &String| warning.contains("provider ids must be unique");
    assert!(answer.warnings.iter().any(is_of_before), "{answer:?}");
    let worse = json!({"spec": {"providers": {"safety": {"endpont": "x"}}}});
    let answer = resources.merge("v1alpha2", OLD, &worse).await;
    assert_eq!(answer.code, 422);
    assert_eq!(answer.body["details"]["causes"].as_array().unwrap().len(), 1, "{answer:?}");
    let status = json!({"status": {"phase": "Failed"}});
    let rest = format!("/{OLD}/status");
    let kind = "application/merge-patch+json";
    let answer = resources.send_as(kind, Method::PATCH, "v1alpha2", &rest, &status).await;
    assert_eq!((answer.code, answer.warnings.len()), (200, 0), "{answer:?}");
    resources.delete("v1alpha2", OLD).await;
}

#[tokio::test]
async fn what_is_accepted_and_looks_wrong_is_remarked_on() {
    let Some((cluster, _)) = installed().await else { return };
    let secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "creds"},
        "stringData": {"token": "never-shown"},
    });
    kubectl(cluster, &["create"], &secret).await.expect_success();
    let key = |name: &str, key: &str| json!({"name": name, "key": key});
    let odd = v1alpha2(
        "odd",
        &json!({
            "distribution": {"name": "startr"},
            "disabled": ["safety"],
            "providers": {
                "inference": [
                    {"id": "a", "provider": "vllm", "apiKey": key("creds", "token")},
                    {"id": "b", "provider": "vllm", "apiKey": key("creds", "tokn")},
                    {"id": "c", "provider": "vllm", "apiKey": key("nowhere", "token")},
                ],
                "safety": {"provider": "llama-guard"},
            },
            "workload": {"overrides": {"serviceAccountName": "nobody"}},
        }),
    );
    let accepted = kubectl(cluster, &["create", "--dry-run=server"], &odd).await;
    assert!(accepted.success(), "{accepted:?}");
    let warnings: Vec<&str> = accepted.stderr.lines().collect();
    let expected = [
        "Warning: spec.providers.safety: safety is disabled, so its providers are ignored; remove safety from disabled, or remove its providers",
        "Warning: spec.distribution.name: no distribution `startr` is known, so no server is started; did you mean starter? known are ",
        "Warning: spec.providers.inference[1].apiKey: Secret creds has no key tokn; create it; the server starts when it is there",
        "Warning: spec.providers.inference[2].apiKey: Secret not found: nowhere; create it; the server starts when it is there",
        "Warning: spec.workload.overrides.serviceAccountName: ServiceAccount not found: nobody; create it; the server starts when it is there",
    ];
    assert_eq!(warnings.len(), expected.len(), "{warnings:#?}");
    for (warning, expected) in warnings.iter().zip(expected) {
        assert!(warning.starts_with(expected), "{warnings:#?}");
        assert!(warning.chars().count() <= "Warning: ".len() + 256);
    }
    assert!(!accepted.stderr.contains("never-shown"));
}

#[tokio::test]
async fn a_bare_replace_through_v1alpha1_says_what_it_takes_away() {
    let Some((cluster, resources)) = installed().await else { return };
    let spec = json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": {"provider": "vllm", "endpoint": "http://vllm:8000"}},
        "networking": {"expose": {"hostname": "llama.example.com"}},
    });
    resources.create("v1alpha2", &v1alpha2("bare", &spec)).await;
    let bare = json!({
        "apiVersion": "llamastack.io/v1alpha1", "kind": "LlamaStackDistribution",
        "metadata": {"name": "bare"},
        "spec": {"replicas": 2, "server": {"distribution": {"name": "starter"}},
                 "network": {"exposeRoute": true}},
    });
    let lost = "Warning: metadata.annotations[llamastack.io/v1alpha2-extras]: its removal removes \
                spec.providers";
    let migrate = "Warning: apiVersion: llamastack.io/v1alpha1 stays served";
    // An apply leaves the annotation alone.
    let applied = kubectl(cluster, &["apply", "--server-side", "--dry-run=server"], &bare).await;
    assert!(applied.success() && !applied.stderr.contains(lost), "{applied:?}");
    assert!(applied.stderr.contains(migrate) && applied.stderr.contains("llsd migrate"));
    let replaced = kubectl(cluster, &["replace"], &bare).await;
    assert!(replaced.success() && replaced.stderr.contains(lost), "{replaced:?}");
    let now = resources.get("v1alpha2", "bare").await;
    assert_eq!(now["spec"].get("providers"), None);
}

/// A client that knows v1alpha1 alone must not open a server to everybody.
#[tokio::test]
async fn a_bare_replace_through_v1alpha1_that_would_drop_access_is_denied() {
    let Some((cluster, resources)) = installed().await else { return };
    let access = json!({"authentication": {"kubernetes": {}}});
    let spec = json!({"distribution": {"name": "starter"}, "access": access});
    resources.create("v1alpha2", &v1alpha2("guarded", &spec)).await;
    let bare = json!({
        "apiVersion": "llamastack.io/v1alpha1", "kind": "LlamaStackDistribution",
        "metadata": {"name": "guarded"},
        "spec": {"replicas": 2, "server": {"distribution": {"name": "starter"}}},
    });
    let replaced = kubectl(cluster, &["replace"], &bare).await;
    let said = llsd_api::rules::ACCESS_IS_CARRIED.message;
    assert!(!replaced.success() && replaced.stderr.contains(said), "{replaced:?}");
    // An apply leaves the annotation alone.
    let applied = kubectl(cluster, &["apply", "--server-side"], &bare).await;
    assert!(applied.success(), "{applied:?}");
    let now = resources.get("v1alpha2", "guarded").await;
    assert_eq!(now["spec"]["access"], access);
    assert_eq!(now["spec"]["workload"]["replicas"], 2);
}
