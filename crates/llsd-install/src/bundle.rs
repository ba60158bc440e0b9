//! The bundle for the Operator Lifecycle Manager (OLM): the operator as a ClusterServiceVersion, the resource,
//! and the role of users who read figures. OLM makes the certificates of the webhooks, registers them and
//! grants the rights; it takes no admission policies, which stand in a file beside the bundle.

use llsd_api::{GROUP, KIND, PLURAL, crd, policy};
use llsd_plan::releases::Distribution;
use serde_json::{Value, json};

use crate::file::yaml;
use crate::named_text::NamedText;
use crate::names::{
    CONVERT_PATH, DEFINITION, METRICS_READER, NAMESPACE, OLDEST_KUBERNETES, OPERATOR,
    VALIDATE_PATH, WEBHOOK_NAME, WEBHOOK_PORT, WEBHOOK_SERVICE_PORT,
};
use crate::roles::{self, Scope};
use crate::{manager, network_policy, operator_policy, rules};

const PACKAGE: &str = "llsd";
const CHANNEL: &str = "alpha";
/// Where OLM puts the certificates that it makes.
const CERTIFICATES: &str = "/tmp/k8s-webhook-server/serving-certs";

/// The files of the bundle with this image of the operator; paths are below `bundle/`.
pub fn bundle(image: &str) -> Vec<NamedText> {
    let mut definition = crd::manifest();
    // OLM writes it, with the Service that it makes.
    if let Some(spec) = definition["spec"].as_object_mut() {
        spec.shift_remove("conversion");
    }
    let beside: Vec<String> = policy::manifests()
        .iter()
        .chain(&operator_policy::manifests())
        .chain(&network_policy::all(NAMESPACE))
        .map(yaml)
        .collect();
    let made = "Made by `llsd manifests --bundle-dir`.";
    vec![
        NamedText::new(
            format!("manifests/{PACKAGE}.clusterserviceversion.yaml"),
            format!("# The operator, for OLM. {made}\n{}", yaml(&service_version(image))),
        ),
        NamedText::new(
            format!("manifests/{DEFINITION}.crd.yaml"),
            format!(
                "# The LlamaStackDistribution resource, both versions. {made}\n{}",
                yaml(&definition)
            ),
        ),
        NamedText::new(
            format!("manifests/{METRICS_READER}.clusterrole.yaml"),
            format!(
                "# The role of users who read the operator's figures. {made}\n{}",
                yaml(&roles::for_metrics_readers())
            ),
        ),
        NamedText::new(
            "metadata/annotations.yaml",
            format!("# What the bundle is. {made}\n{}", yaml(&annotations())),
        ),
        NamedText::new(
            "beside.yaml",
            format!(
                "# What OLM does not install: admission rules, and who may connect. {made}\n{}",
                beside.join("---\n")
            ),
        ),
        NamedText::new("Containerfile", container_file()),
    ]
}

fn service_version(image: &str) -> Value {
    let version = env!("CARGO_PKG_VERSION");
    json!({
        "apiVersion": "operators.coreos.com/v1alpha1",
        "kind": "ClusterServiceVersion",
        "metadata": {
            "name": format!("{PACKAGE}.v{version}"),
            "namespace": "placeholder",
            "annotations": {
                "alm-examples": example(),
                "capabilities": "Full Lifecycle",
                "categories": "AI/Machine Learning",
                "containerImage": image,
                "operatorframework.io/suggested-namespace": NAMESPACE,
            },
        },
        "spec": {
            "displayName": "Llama Stack operator",
            "description": "Runs Llama Stack servers: a few lines of YAML become the server's configuration \
                            and a deployment that is kept right.",
            "keywords": ["llama-stack", "ogx", "inference"],
            "maintainers": [{"name": "llsd", "email": "llsd@llamastack.io"}],
            "maturity": "alpha",
            "minKubeVersion": format!("{OLDEST_KUBERNETES}.0"),
            "provider": {"name": "llsd"},
            "version": version,
            // Conversion holds for the whole cluster, so no other mode can be had with it.
            "installModes": [mode("OwnNamespace", false), mode("SingleNamespace", false),
                             mode("MultiNamespace", false), mode("AllNamespaces", true)],
            "customresourcedefinitions": {"owned": [{
                "name": DEFINITION,
                "kind": KIND,
                "version": "v1alpha2",
                "displayName": "Llama Stack distribution",
                "description": "One Llama Stack server and its configuration.",
            }]},
            "install": {"strategy": "deployment", "spec": {
                "clusterPermissions": [
                    granted(&[rules::of_resources(), rules::of_the_cluster()].concat()),
                    granted(&rules::of_metrics()),
                ],
                "permissions": [granted(&[rules::of_the_operator(), rules::of_certificates()].concat())],
                "deployments": [deployment(image)],
            }},
            "webhookdefinitions": [conversion(), validation()],
            "relatedImages": related_images(image),
        },
    })
}

fn mode(kind: &str, supported: bool) -> Value {
    json!({"type": kind, "supported": supported})
}

fn granted(rules: &[Value]) -> Value {
    json!({"serviceAccountName": OPERATOR, "rules": rules})
}

/// The Deployment of the install files with OLM's certificates.
fn deployment(image: &str) -> Value {
    let mut deployment = manager::deployment(NAMESPACE, Scope::Cluster, image);
    let container = &mut deployment["spec"]["template"]["spec"]["containers"][0];
    let flag = json!(format!("--webhook-cert-dir={CERTIFICATES}"));
    container["args"].as_array_mut().expect("a list").push(flag);
    json!({
        "name": OPERATOR,
        "label": deployment["metadata"]["labels"],
        "spec": deployment["spec"],
    })
}

fn conversion() -> Value {
    json!({
        "type": "ConversionWebhook",
        "generateName": "conversion.llamastack.io",
        "admissionReviewVersions": ["v1"],
        "containerPort": WEBHOOK_SERVICE_PORT,
        "targetPort": WEBHOOK_PORT,
        "conversionCRDs": [DEFINITION],
        "deploymentName": OPERATOR,
        "sideEffects": "None",
        "webhookPath": CONVERT_PATH,
    })
}

fn validation() -> Value {
    json!({
        "type": "ValidatingAdmissionWebhook",
        "generateName": WEBHOOK_NAME,
        "admissionReviewVersions": ["v1"],
        "containerPort": WEBHOOK_SERVICE_PORT,
        "targetPort": WEBHOOK_PORT,
        "deploymentName": OPERATOR,
        "failurePolicy": "Ignore",
        "rules": [{
            "apiGroups": [GROUP],
            "apiVersions": ["v1alpha1", "v1alpha2"],
            "operations": ["CREATE", "UPDATE"],
            "resources": [PLURAL],
        }],
        "sideEffects": "None",
        "webhookPath": VALIDATE_PATH,
    })
}

/// For mirrors: the operator's image, and those of the distributions that a resource can name.
fn related_images(image: &str) -> Vec<Value> {
    let mut images = vec![json!({"name": "operator", "image": image})];
    for (name, distribution) in Distribution::all() {
        images.push(json!({"name": name, "image": distribution.image}));
    }
    images
}

/// What OpenShift's console offers to begin with.
fn example() -> String {
    json!([{
        "apiVersion": format!("{GROUP}/v1alpha2"),
        "kind": KIND,
        "metadata": {"name": "simple"},
        "spec": {
            "distribution": {"name": "starter"},
            "providers": {"inference": {"provider": "vllm", "endpoint": "http://vllm:8000"}},
            "resources": {"models": ["llama3.2-8b"]},
        },
    }])
    .to_string()
}

fn annotations() -> Value {
    let labels: serde_json::Map<String, Value> =
        labels().into_iter().map(|(name, value)| (name, json!(value))).collect();
    json!({"annotations": labels})
}

fn labels() -> Vec<(String, String)> {
    [
        ("mediatype.v1", "registry+v1"),
        ("manifests.v1", "manifests/"),
        ("metadata.v1", "metadata/"),
        ("package.v1", PACKAGE),
        ("channels.v1", CHANNEL),
        ("channel.default.v1", CHANNEL),
    ]
    .map(|(name, value)| {
        (format!("operators.operatorframework.io.bundle.{name}"), value.to_owned())
    })
    .into()
}

fn container_file() -> String {
    let labels: Vec<String> =
        labels().iter().map(|(name, value)| format!("LABEL {name}={value}\n")).collect();
    format!(
        "# The bundle as an image. Made by `llsd manifests --bundle-dir`.\nFROM scratch\n{}\
         COPY manifests /manifests/\nCOPY metadata /metadata/\n",
        labels.concat()
    )
}
