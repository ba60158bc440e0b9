//! The bundle for OLM holds what the install files hold. No validator of OLM can be had here.

use llsd_install::{File, bundle, cluster_wide, names};
use serde_json::{Value, json};

const IMAGE: &str = "registry.example.com/llsd@sha256:0000";

fn file(name: &str) -> Vec<Value> {
    let files = bundle(IMAGE);
    let file = files.iter().find(|file| file.name == name).expect("a file of that name");
    serde_saphyr::from_multiple(&file.text).unwrap()
}

fn service_version() -> Value {
    file("manifests/llsd.clusterserviceversion.yaml").remove(0)
}

fn installed() -> Vec<Value> {
    let texts: Vec<String> = cluster_wide().iter().map(File::text).collect();
    serde_saphyr::from_multiple(&texts.join("---\n")).unwrap()
}

fn find_object<'a>(objects: &'a [Value], kind: &str, name: &str) -> &'a Value {
    let is = |object: &&Value| object["kind"] == kind && object["metadata"]["name"] == name;
    objects.iter().find(is).unwrap_or_else(|| panic!("no {kind} {name}"))
}

#[test]
fn olm_runs_the_same_pods_with_its_own_certificates_and_the_named_image() {
    let (version, objects) = (service_version(), installed());
    let deployment = &version["spec"]["install"]["spec"]["deployments"][0];
    assert_eq!(deployment["name"], names::OPERATOR);
    let mut ours = find_object(&objects, "Deployment", names::OPERATOR)["spec"].clone();
    let container = &mut ours["template"]["spec"]["containers"][0];
    container["image"] = json!(IMAGE);
    container["env"][2]["value"] = json!(IMAGE);
    let flag = json!("--webhook-cert-dir=/tmp/k8s-webhook-server/serving-certs");
    container["args"].as_array_mut().unwrap().push(flag);
    assert_eq!(deployment["spec"], ours);
}

#[test]
fn olm_grants_the_rights_of_the_install_files_but_that_to_register() {
    let (version, objects) = (service_version(), installed());
    let install = &version["spec"]["install"]["spec"];
    for (field, kind, role) in [
        ("clusterPermissions", "ClusterRole", "llama-stack-k8s-operator-manager-role"),
        ("permissions", "Role", "llama-stack-k8s-operator-leader-election-role"),
    ] {
        let granted = &install[field][0];
        assert_eq!(granted["serviceAccountName"], names::OPERATOR);
        assert_eq!(granted["rules"], find_object(&objects, kind, role)["rules"], "{field}");
    }
}

/// The operator of the bundle asks for tokens, and users need a role that they can be given.
#[test]
fn olm_installs_the_role_of_those_who_read_figures() {
    let role = file(&format!("manifests/{}.clusterrole.yaml", names::METRICS_READER)).remove(0);
    assert_eq!(role, *find_object(&installed(), "ClusterRole", names::METRICS_READER));
    let deployment = &service_version()["spec"]["install"]["spec"]["deployments"][0];
    let args = &deployment["spec"]["template"]["spec"]["containers"][0]["args"];
    assert!(args.as_array().unwrap().contains(&json!(names::METRICS_AUTHENTICATION)), "{args}");
}

#[test]
fn olm_registers_conversion_and_validation_and_the_definition_leaves_it_to_olm() {
    let version = service_version();
    let webhooks = version["spec"]["webhookdefinitions"].as_array().unwrap();
    let paths: Vec<(&Value, &Value)> =
        webhooks.iter().map(|webhook| (&webhook["type"], &webhook["webhookPath"])).collect();
    assert_eq!(
        paths,
        [
            (&json!("ConversionWebhook"), &json!(names::CONVERT_PATH)),
            (&json!("ValidatingAdmissionWebhook"), &json!(names::VALIDATE_PATH)),
        ]
    );
    assert_eq!(webhooks[0]["conversionCRDs"], json!([names::DEFINITION]));
    let definition = file("manifests/llamastackdistributions.llamastack.io.crd.yaml").remove(0);
    assert!(definition["spec"]["conversion"].is_null());
    assert!(definition["spec"]["versions"].as_array().unwrap().len() == 2);
}

#[test]
fn what_olm_does_not_install_stands_beside() {
    let kinds: Vec<Value> =
        file("beside.yaml").iter().map(|object| object["kind"].clone()).collect();
    for kind in ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "NetworkPolicy"] {
        assert!(kinds.contains(&json!(kind)), "{kind}");
    }
    let related = service_version()["spec"]["relatedImages"].clone();
    assert_eq!(related[0], json!({"name": "operator", "image": IMAGE}));
    assert!(related.as_array().unwrap().iter().any(|image| image["name"] == "starter"));
}
