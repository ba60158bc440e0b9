//! The committed install files: what the code generates, and what a real API server makes of them.

mod cluster;

use std::time::Duration;

use cluster::{installed, installed_on, repository, resource};
use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;
use kube::Api;
use llsd_testkit::ControlPlane;
use serde_json::json;

#[test]
fn the_committed_files_are_what_the_code_generates() {
    for file in llsd::manifests::files() {
        let committed =
            std::fs::read_to_string(repository("deploy").join(file.name)).unwrap_or_default();
        assert!(
            committed == file.text(),
            "deploy/{} is not what the code generates; run `make generate` and commit it",
            file.name,
        );
    }
}

#[test]
fn the_crd_stays_below_128_kib() {
    let size = llsd_api::crd::manifest().to_string().len();
    assert!(size < 128 * 1024, "{size} bytes");
}

#[tokio::test]
async fn kubectl_explains_the_fields_of_a_provider() {
    let test = "kubectl_explains_the_fields_of_a_provider";
    let Some(cluster) = installed(test).await else { return };
    let args = ["explain", "llsd.spec.providers.inference", "--recursive"];
    let explained = explained(&cluster, &args).await;
    for field in
        ["provider", "endpoint", "apiKey", "secretKeyRef", "host", "secretRefs", "settings"]
    {
        assert!(explained.contains(&format!("{field}\t<")), "{field} is missing:\n{explained}");
    }
    let args = ["explain", "llsd.spec.networking.expose"];
    let explained = self::explained(&cluster, &args).await;
    assert!(
        explained.contains("hostname") && explained.contains("host name that clients use"),
        "{explained}"
    );
}

/// The API server publishes the documentation of a new kind a moment after it serves it.
async fn explained(cluster: &ControlPlane, args: &[&str]) -> String {
    let mut answer = cluster.kubectl(args, None).await.unwrap();
    for _ in 0..100 {
        if answer.success() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
        answer = cluster.kubectl(args, None).await.unwrap();
    }
    answer.expect_success()
}

/// The status of the policy is where the API server says what it could not make sense of.
#[tokio::test]
async fn the_policy_type_checks_without_a_warning() {
    let test = "the_policy_type_checks_without_a_warning";
    let builder = ControlPlane::builder().with_controller_manager();
    let Some(cluster) = installed_on(builder, test).await else { return };
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(cluster.client());
    for _ in 0..300 {
        let policy = policies.get(llsd_api::policy::NAME).await.unwrap();
        if let Some(checked) = policy.status.filter(|status| status.observed_generation.is_some()) {
            let warnings = checked.type_checking.and_then(|checks| checks.expression_warnings);
            assert_eq!(warnings.unwrap_or_default(), []);
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("the policy was not checked within 30 s");
}

/// Until the operator's webhook answers, the other version cannot be had, and nothing is lost.
#[tokio::test]
async fn without_the_webhook_v1alpha1_requests_fail_and_stored_objects_stay_whole() {
    let test = "without_the_webhook_v1alpha1_requests_fail_and_stored_objects_stay_whole";
    let Some(cluster) = installed(test).await else { return };
    let spec = json!({
        "distribution": {"name": "starter"},
        "providers": {"inference": {"provider": "vllm", "endpoint": "http://vllm:8000"}},
    });
    let object = resource("whole", &spec).to_string();
    cluster.kubectl(&["create", "-f", "-"], Some(&object)).await.unwrap().expect_success();
    let old_name = "llamastackdistributions.v1alpha1.llamastack.io";
    let read = cluster.kubectl(&["get", old_name, "whole"], None).await.unwrap();
    assert!(!read.success(), "v1alpha1 was served without conversion");
    let patch = ["patch", old_name, "whole", "--type=merge", "-p", r#"{"spec":{"replicas":2}}"#];
    assert!(!cluster.kubectl(&patch, None).await.unwrap().success());
    let args = ["get", "llsd", "whole", "-o", "jsonpath={.spec}"];
    let stored = cluster.kubectl(&args, None).await.unwrap().expect_success();
    assert_eq!(serde_json::from_str::<serde_json::Value>(&stored).unwrap(), spec);
}
