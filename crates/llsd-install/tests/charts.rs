//! The committed charts are what the code makes, and what Helm makes of them is what `llsd manifests` prints. Helm itself runs in `make test-install`, which also keeps its output here.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use llsd_install::{NamedText, charts, cluster_wide, names, namespaced};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(path)
}

/// The files of a committed folder by their paths below it.
fn committed(folder: &Path, below: &str, found: &mut BTreeMap<String, String>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.unwrap().path();
        let name = format!("{below}{}", path.file_name().unwrap().to_str().unwrap());
        if path.is_dir() {
            committed(&path, &format!("{name}/"), found);
        } else {
            found.insert(name, fs::read_to_string(path).unwrap());
        }
    }
}

fn is_committed(folder: &str, made: Vec<NamedText>) {
    let mut found = BTreeMap::new();
    committed(&repository(folder), "", &mut found);
    let made: BTreeMap<String, String> =
        made.into_iter().map(|file| (file.name, file.text)).collect();
    let names = |files: &BTreeMap<String, String>| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&found), names(&made), "{folder}/: run `make generate` and commit it");
    for (name, text) in made {
        assert!(found[&name] == text, "{folder}/{name}: run `make generate` and commit it");
    }
}

#[test]
fn the_committed_charts_are_what_the_code_makes() {
    is_committed("charts", charts());
}

/// What Helm made of the charts, and of which charts: `# sha256 …` in its first line.
fn rendered(variant: &str) -> (String, Vec<Value>) {
    let path = repository(&format!("crates/llsd-install/tests/rendered/{variant}.yaml"));
    let text = fs::read_to_string(path).unwrap();
    let (first, _) = text.split_once('\n').unwrap();
    let objects: Vec<Value> = serde_saphyr::from_multiple(&text).unwrap();
    (first.to_owned(), objects.into_iter().filter(|object| !object.is_null()).collect())
}

fn fingerprint() -> String {
    let files: BTreeMap<String, String> =
        charts().into_iter().map(|file| (file.name, file.text)).collect();
    let mut hash = Sha256::new();
    for (name, text) in files {
        hash.update(format!("{name}\n{text}\n"));
    }
    hash.finalize().iter().fold(String::from("# sha256 "), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

/// By kind and name, without what only Helm needs.
fn by_name(objects: Vec<Value>) -> BTreeMap<String, Value> {
    let mut found = BTreeMap::new();
    for mut object in objects {
        // Compared where Helm runs, and too long to be kept.
        if object["kind"] == "CustomResourceDefinition" {
            object["spec"].as_object_mut().unwrap().remove("versions");
        }
        let metadata = object["metadata"].as_object_mut().unwrap();
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.remove("helm.sh/resource-policy");
            if annotations.is_empty() {
                metadata.remove("annotations");
            }
        }
        let key = format!("{} {}", object["kind"], object["metadata"]["name"]);
        assert!(found.insert(key.clone(), object).is_none(), "{key} twice");
    }
    found
}

fn printed(files: &[llsd_install::File]) -> BTreeMap<String, Value> {
    let texts: Vec<String> = files.iter().map(llsd_install::File::text).collect();
    let objects: Vec<Value> = serde_saphyr::from_multiple(&texts.join("---\n")).unwrap();
    // Helm makes the namespace, or finds it.
    by_name(objects.into_iter().filter(|object| object["kind"] != "Namespace").collect())
}

fn agree(helm: &BTreeMap<String, Value>, ours: &BTreeMap<String, Value>) {
    assert_eq!(helm.keys().collect::<Vec<_>>(), ours.keys().collect::<Vec<_>>());
    for (name, object) in ours {
        assert_eq!(&helm[name], object, "{name}");
    }
}

#[test]
fn what_helm_made_was_made_of_these_charts() {
    for variant in ["default", "namespaced", "cert-manager", "openshift", "everything"] {
        let (of, _) = rendered(variant);
        assert_eq!(
            of,
            fingerprint(),
            "{variant}: run `make test-install`, and look at what changed"
        );
    }
}

#[test]
fn with_default_values_the_charts_give_what_the_command_prints() {
    agree(&by_name(rendered("default").1), &printed(&cluster_wide()));
}

#[test]
fn namespaced_the_chart_gives_what_the_command_prints() {
    agree(&by_name(rendered("namespaced").1), &printed(&namespaced("team")));
}

#[test]
fn certificates_of_others_come_as_files_and_take_the_right_to_register_away() {
    for (variant, annotation) in [
        ("cert-manager", "cert-manager.io/inject-ca-from"),
        ("openshift", "service.beta.openshift.io/inject-cabundle"),
    ] {
        let (_, objects) = rendered(variant);
        let of = |kind: &str| objects.iter().find(|object| object["kind"] == kind).unwrap();
        for kind in ["CustomResourceDefinition", "ValidatingWebhookConfiguration"] {
            assert!(
                of(kind)["metadata"]["annotations"][annotation].is_string(),
                "{variant} {kind}"
            );
        }
        let pod = &of("Deployment")["spec"]["template"]["spec"];
        let folder = pod["containers"][0]["volumeMounts"][0]["mountPath"].as_str().unwrap();
        let flag = json!(format!("--webhook-cert-dir={folder}"));
        assert!(pod["containers"][0]["args"].as_array().unwrap().contains(&flag), "{variant}");
        assert_eq!(
            pod["volumes"][0]["secret"]["secretName"],
            "llama-stack-k8s-operator-webhook-tls"
        );
        let names: Vec<&Value> = objects.iter().map(|object| &object["metadata"]["name"]).collect();
        assert!(!names.contains(&&json!("llama-stack-k8s-operator-webhook-role")), "{variant}");
        let issued = objects.iter().filter(|object| object["kind"] == "Certificate").count();
        assert_eq!(issued, if variant == "cert-manager" { 2 } else { 0 });
    }
}

/// Every value that changes something, all at once.
#[test]
fn every_value_arrives_where_it_belongs() {
    let (_, objects) = rendered("everything");
    let of = |kind: &'static str| objects.iter().filter(move |object| object["kind"] == kind);
    let deployment = of("Deployment").next().unwrap();
    assert_eq!(deployment["metadata"]["namespace"], "elsewhere");
    assert_eq!(deployment["spec"]["replicas"], 3);
    let template = &deployment["spec"]["template"];
    assert_eq!(template["metadata"]["labels"]["team"], "ml");
    assert_eq!(template["metadata"]["annotations"]["note"], "x");
    let pod = &template["spec"];
    assert_eq!(pod["priorityClassName"], "system-cluster-critical");
    assert_eq!(pod["imagePullSecrets"], json!([{"name": "pull"}]));
    assert_eq!(pod["nodeSelector"], json!({"kubernetes.io/os": "linux"}));
    assert_eq!(pod["tolerations"][0]["operator"], "Exists");
    assert!(pod["affinity"]["nodeAffinity"].is_object());
    let container = &pod["containers"][0];
    let digest = format!("sha256:{}", "a".repeat(64));
    let image = json!(format!("mirror.internal:5000/ops/llsd@{digest}"));
    assert_eq!(container["image"], image);
    assert_eq!(container["imagePullPolicy"], "Always");
    assert_eq!(container["resources"]["limits"]["memory"], "512Mi");
    let arguments = container["args"].as_array().unwrap();
    for flag in ["--watch-secrets", "--migrate-storage", "--log-format=json"] {
        assert!(arguments.contains(&json!(flag)), "{flag}");
    }
    let variables: BTreeMap<&str, &Value> = container["env"]
        .as_array()
        .unwrap()
        .iter()
        .map(|variable| (variable["name"].as_str().unwrap(), &variable["value"]))
        .collect();
    assert_eq!(variables["OPERATOR_IMAGE"], &image);
    assert_eq!(variables["WATCH_NAMESPACE"], "team-a,team-b");
    assert_eq!(variables["HTTPS_PROXY"], "http://proxy:3128");
    assert_eq!(variables["HTTP_PROXY"], "http://proxy:3129");
    assert_eq!(variables["NO_PROXY"], "10.0.0.0/8,.svc");
    assert_eq!(variables["LOG_LEVEL"], "debug");
    // Rights hold where the operator looks, and nowhere else.
    let role = "llama-stack-k8s-operator-manager-role";
    let bound: Vec<&Value> = of("RoleBinding")
        .filter(|binding| binding["roleRef"]["name"] == role)
        .map(|binding| &binding["metadata"]["namespace"])
        .collect();
    assert_eq!(bound, ["team-a", "team-b"]);
    assert_eq!(of("ClusterRoleBinding").filter(|it| it["roleRef"]["name"] == role).count(), 0);
    assert_eq!(of("NetworkPolicy").count() + of("PodDisruptionBudget").count(), 0);
    let names = |name: &str| objects.iter().any(|object| object["metadata"]["name"] == name);
    assert!(names("llama-stack-k8s-operator-secret-watch-role"));
    assert!(names("llama-stack-k8s-operator-storage-migration-role"));
    // Figures are for all, and who names Secrets needs the right to them.
    assert!(!arguments.contains(&json!(names::METRICS_AUTHENTICATION)));
    assert!(!names(names::METRICS_READER));
    let denied = of("ValidatingAdmissionPolicyBinding")
        .find(|binding| binding["metadata"]["name"] == llsd_api::policy::SECRETS);
    assert_eq!(denied.unwrap()["spec"]["validationActions"], json!(["Deny"]));
    let configuration = of("ConfigMap").next().unwrap();
    assert_eq!(configuration["metadata"]["name"], names::CONFIG_MAP);
    assert_eq!(configuration["data"]["ingressDomain"], "apps.example.com");
    assert_eq!(configuration["data"]["image-overrides"], "starter: mirror.internal/starter:0.7.3");
    // The definition names the operator's Service where it runs.
    let text = serde_json::to_string(&objects).unwrap();
    assert!(!text.contains(names::NAMESPACE), "nothing stays behind");
}
