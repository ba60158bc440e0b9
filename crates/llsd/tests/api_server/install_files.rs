//! The committed install files: what the code generates, and what a real API server makes of them.

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::ValidatingAdmissionPolicy;
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use llsd_install::{File, cluster_wide, files, names, namespaced};
use llsd_testkit::ControlPlane;
use serde_json::{Value, json};

use llsd_cases::files::repository;
use llsd_testbed::access::eventually;
use llsd_testbed::cluster::{install, installed, resource};

#[test]
fn the_committed_files_are_what_the_code_generates() {
    for file in files() {
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
fn no_install_file_is_left_over_that_the_code_does_not_generate() {
    let generated: Vec<&str> = files().iter().map(|file| file.name).collect();
    for folder in ["", "namespaced/", "cert-manager/", "openshift/", "monitoring/"] {
        for entry in std::fs::read_dir(repository("deploy").join(folder)).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{folder}{}", entry.file_name().to_str().unwrap());
            let known = generated.contains(&name.as_str());
            assert!(known || entry.file_type().unwrap().is_dir(), "deploy/{name}");
        }
    }
}

#[test]
fn the_page_on_installing_names_every_file() {
    let page = std::fs::read_to_string(repository("docs/install.md")).unwrap();
    for file in files() {
        assert!(page.contains(&format!("`{}`", file.name)), "{}", file.name);
    }
}

#[test]
fn the_command_prints_one_install_and_writes_all_files() {
    let run = |arguments: &[&str]| {
        let done = assert_cmd::Command::new(env!("CARGO_BIN_EXE_llsd")).args(arguments).output();
        String::from_utf8(done.unwrap().stdout).unwrap()
    };
    let stream =
        |files: &[File]| files.iter().map(File::text).collect::<Vec<String>>().join("---\n");
    assert_eq!(run(&["manifests"]), stream(&cluster_wide()));
    assert_eq!(run(&["manifests", "--namespaced", "team"]), stream(&namespaced("team")));
    let folder = tempfile::tempdir().unwrap();
    run(&["manifests", "--output-dir", folder.path().to_str().unwrap()]);
    for file in files() {
        let written = std::fs::read_to_string(folder.path().join(file.name)).unwrap();
        assert!(written == file.text(), "{}", file.name);
    }
}

/// A client-side apply can hold 256 KiB.
#[test]
fn the_crd_stays_below_200_kib() {
    let size = llsd_api::crd::manifest().to_string().len();
    assert!(size < 200 * 1024, "{size} bytes");
}

#[tokio::test]
async fn kubectl_explains_the_fields_of_a_provider() {
    let Some(cluster) = installed().await else { return };
    let args = ["explain", "llsd.spec.providers.inference", "--recursive"];
    let explained = explained(cluster, &args).await;
    for field in
        ["provider", "endpoint", "apiKey", "secretKeyRef", "host", "secretRefs", "settings"]
    {
        assert!(explained.contains(&format!("{field}\t<")), "{field} is missing:\n{explained}");
    }
    let args = ["explain", "llsd.spec.networking.expose"];
    let explained = self::explained(cluster, &args).await;
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
async fn the_policies_type_check_without_a_warning() {
    let builder = ControlPlane::builder().with_controller_manager();
    let Some(cluster) = builder.start_or_skip().await else { return };
    install(&cluster).await;
    let policies: Api<ValidatingAdmissionPolicy> = Api::all(cluster.client());
    for name in [llsd_api::policy::NAME, llsd_api::policy::PODS, llsd_api::policy::SECRETS] {
        eventually(&format!("{name} is checked"), async || {
            let policy = policies.get(name).await.unwrap();
            let checked = policy.status.filter(|status| status.observed_generation.is_some());
            let Some(checked) = checked else { return false };
            let warnings = checked.type_checking.and_then(|checks| checks.expression_warnings);
            assert_eq!(warnings.unwrap_or_default(), []);
            true
        })
        .await;
    }
}

/// Until the operator's webhook answers, the other version cannot be had, and nothing is lost.
#[tokio::test]
async fn without_the_webhook_v1alpha1_requests_fail_and_stored_objects_stay_whole() {
    let Some(cluster) = installed().await else { return };
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

/// The namespaces enforce what the operator's pods are meant to meet; it is the pods that are then
/// refused, not the Deployment.
#[tokio::test]
async fn one_kubectl_installs_an_operator_whose_pods_are_admitted_as_restricted() {
    let builder = ControlPlane::builder().with_controller_manager();
    let Some(cluster) = builder.start_or_skip().await else { return };
    for namespace in [names::NAMESPACE, "team"] {
        let args = ["create", "namespace", namespace];
        cluster.kubectl(&args, None).await.unwrap().expect_success();
        let enforced = "pod-security.kubernetes.io/enforce=restricted";
        let args = ["label", "namespace", namespace, enforced];
        cluster.kubectl(&args, None).await.unwrap().expect_success();
    }
    let folder = repository("deploy");
    let args = ["apply", "--server-side", "-k", folder.to_str().unwrap()];
    let applied = cluster.kubectl(&args, None).await.unwrap();
    assert_eq!(applied.stderr, "", "a warning");
    applied.expect_success();
    let texts: Vec<String> = namespaced("team").iter().map(File::text).collect();
    let args = ["apply", "--server-side", "-f", "-"];
    let applied = cluster.kubectl(&args, Some(&texts.join("---\n"))).await.unwrap();
    assert_eq!(applied.stderr, "", "a warning");
    applied.expect_success();
    for namespace in [names::NAMESPACE, "team"] {
        wait_until_pods_exist(&cluster, namespace).await;
    }
}

/// The namespace as the install files make it.
#[tokio::test]
async fn the_operators_namespace_takes_restricted_pods_alone() {
    let Some(cluster) = installed().await else { return };
    let file = cluster_wide().into_iter().find(|file| file.name == "namespace.yaml").unwrap();
    let args = ["apply", "--server-side", "-f", "-"];
    cluster.kubectl(&args, Some(&file.text())).await.unwrap().expect_success();
    let privileged = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": names::NAMESPACE},
        "spec": {"containers": [{
            "name": "c", "image": "i", "securityContext": {"privileged": true},
        }]},
    });
    let args = ["create", "--dry-run=server", "-f", "-"];
    let refused = cluster.kubectl(&args, Some(&privileged.to_string())).await.unwrap();
    assert!(!refused.success() && refused.stderr.contains("violates PodSecurity"), "{refused:?}");
}

/// With certificates of somebody else the operator has files, and no right to say whom to trust.
#[tokio::test]
async fn variants_take_their_certificates_from_somebody_else() {
    let Some(cluster) = installed().await else { return };
    for (variant, annotation) in [
        ("cert-manager", "cert-manager.io/inject-ca-from"),
        ("openshift", "service.beta.openshift.io/inject-cabundle"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        // Kustomize takes relative paths alone.
        let up = "../".repeat(folder.path().canonicalize().unwrap().components().count() - 1);
        let deploy = repository("deploy").canonicalize().unwrap();
        let deploy = format!("{up}{}", deploy.to_str().unwrap().trim_start_matches('/'));
        let own = json!({"resources": [deploy], "components": [format!("{deploy}/{variant}")]});
        std::fs::write(folder.path().join("kustomization.yaml"), own.to_string()).unwrap();
        let args = ["kustomize", folder.path().to_str().unwrap()];
        let made = cluster.kubectl(&args, None).await.unwrap().expect_success();
        let objects: Vec<Value> = serde_saphyr::from_multiple(&made).unwrap();
        let of = |kind: &str| -> Vec<&Value> {
            objects.iter().filter(|object| object["kind"] == kind).collect()
        };
        for kind in ["CustomResourceDefinition", "ValidatingWebhookConfiguration"] {
            assert!(of(kind)[0]["metadata"]["annotations"][annotation].is_string(), "{kind}");
        }
        let container = &of("Deployment")[0]["spec"]["template"]["spec"]["containers"][0];
        let folder = &container["volumeMounts"][0]["mountPath"];
        let flag = format!("--webhook-cert-dir={}", folder.as_str().unwrap());
        assert!(container["args"].as_array().unwrap().contains(&json!(flag)), "{container}");
        assert!(!made.contains("llama-stack-k8s-operator-webhook-role"), "{variant}");
        let rest = objects.len() - of("Certificate").len() - of("Issuer").len();
        let whole: usize =
            cluster_wide().iter().map(|file| file.text().matches("\nkind: ").count()).sum();
        assert_eq!(rest, whole - 2, "{variant}");
    }
}

async fn wait_until_pods_exist(cluster: &ControlPlane, namespace: &str) {
    let deployments: Api<Deployment> = Api::namespaced(cluster.client(), namespace);
    let mut last = None;
    for _ in 0..300 {
        last = deployments.get(names::OPERATOR).await.unwrap().status;
        if last.as_ref().is_some_and(|status| status.replicas == Some(2)) {
            return;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("{namespace}: no two pods within 30 s: {last:?}");
}

/// What is left of v0.9 would still run, select or allow: another program, a second disruption
/// budget, rights that nobody needs.
#[tokio::test]
async fn an_install_over_v0_9_replaces_it() {
    let folder = repository("deploy");
    for server_side in ["--server-side=true", "--server-side=false"] {
        let Some(cluster) = ControlPlane::start_or_skip().await else { return };
        let old = std::fs::read_to_string(repository("crates/llsd/tests/data/v0.9-install.yaml"));
        let args = ["apply", "-f", "-"];
        cluster.kubectl(&args, Some(&old.unwrap())).await.unwrap().expect_success();
        let args = ["apply", server_side, "-k", folder.to_str().unwrap()];
        cluster.kubectl(&args, None).await.unwrap().expect_success();
        let deployment = fetch_object(&cluster, "deployment", names::OPERATOR).await;
        let pod = &deployment["spec"]["template"]["spec"];
        assert_eq!(pod["containers"].as_array().unwrap().len(), 1);
        let container = &pod["containers"][0];
        assert_eq!(
            (&container["command"], container["args"][0].as_str()),
            (&json!(["llsd"]), Some("run"))
        );
        assert_eq!(container["image"], llsd_plan::objects::DEFAULT_OPERATOR_IMAGE);
        assert_eq!(container["resources"]["limits"], json!({"memory": "256Mi"}));
        let service = format!("{}-metrics-service", names::OPERATOR);
        let ports = &fetch_object(&cluster, "service", &service).await["spec"]["ports"];
        assert_eq!(ports.as_array().unwrap().len(), 1);
        let budgets = fetch_object(&cluster, "poddisruptionbudgets", "").await;
        assert_eq!(budgets["items"].as_array().unwrap().len(), 1);
        for (kind, name) in [
            ("clusterrole", "llama-stack-k8s-operator-manager-role"),
            ("role", "llama-stack-k8s-operator-leader-election-role"),
        ] {
            let rules = fetch_object(&cluster, kind, name).await["rules"].to_string();
            assert!(!rules.contains("clusterrolebindings") && !rules.contains("\"*\""), "{rules}");
        }
    }
}

/// An object of the operator's namespace, or a list of them, as kubectl prints it.
async fn fetch_object(cluster: &ControlPlane, kind: &str, name: &str) -> Value {
    let mut args = vec!["get", "-o", "json", "-n", names::NAMESPACE, kind];
    args.extend(Some(name).filter(|name| !name.is_empty()));
    let text = cluster.kubectl(&args, None).await.unwrap().expect_success();
    serde_json::from_str(&text).unwrap()
}
