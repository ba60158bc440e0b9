//! What the operator v0.9 leaves behind for one resource: its objects, written as it writes them.
//! It creates under the name of its program, and applies under that of the resource.

use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};

use crate::namespace::Namespace;

const PROGRAM: &str = "manager";

/// The objects of one resource.
#[derive(Clone, Debug)]
pub struct Installation<'a> {
    pub namespace: Namespace<'a>,
    pub name: String,
    uid: String,
}

impl<'a> Installation<'a> {
    /// Of a resource that exists.
    pub async fn for_resource(namespace: Namespace<'a>, name: &str) -> Self {
        let resource = namespace.get("LlamaStackDistribution", name).await.unwrap();
        let uid = resource["metadata"]["uid"].as_str().unwrap().to_owned();
        Self { namespace, name: name.to_owned(), uid }
    }

    /// Of a resource that only v1alpha1 can be asked for.
    pub fn known(namespace: Namespace<'a>, name: &str, uid: &str) -> Self {
        Self { namespace, name: name.to_owned(), uid: uid.to_owned() }
    }

    fn metadata(&self, suffix: &str, more: &[(&str, &str)]) -> Value {
        let mut labels = json!({
            "app.kubernetes.io/managed-by": "llama-stack-operator",
            "app.kubernetes.io/part-of": "llama-stack",
            "llamastack.io/watch": "true",
        });
        for (label, value) in more {
            labels[label] = json!(value);
        }
        json!({"name": format!("{}{suffix}", self.name), "labels": labels})
    }

    fn selector(&self) -> Value {
        json!({"app": "llama-stack", "app.kubernetes.io/instance": self.name})
    }

    fn owner(&self) -> Value {
        json!([{
            "apiVersion": "llamastack.io/v1alpha1", "kind": "LlamaStackDistribution",
            "name": self.name, "uid": self.uid, "controller": true, "blockOwnerDeletion": true,
        }])
    }

    /// The Deployment of a server with a claim or without.
    pub fn deployment(&self, with_claim: bool) -> Value {
        let volume = if with_claim {
            json!({"persistentVolumeClaim": {"claimName": format!("{}-pvc", self.name)}})
        } else {
            json!({"emptyDir": {}})
        };
        let mut storage = volume;
        storage["name"] = json!("lls-storage");
        let mut deployment = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": self.metadata("", &[]),
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": self.selector()},
                "template": {
                    "metadata": {
                        "labels": self.selector(),
                        "annotations": {"configmap.hash/user-config": "1234-old"},
                    },
                    "spec": {
                        "serviceAccountName": format!("{}-sa", self.name),
                        "securityContext": {"fsGroup": 1001},
                        "volumes": [
                            storage,
                            {"name": "user-config", "configMap": {"name": "old", "optional": true}},
                        ],
                        "containers": [{
                            "name": "llama-stack",
                            "image": "docker.io/llamastack/distribution-starter:old",
                            "env": [
                                {"name": "HF_HOME", "value": "/.llama"},
                                {"name": "OLD", "value": "x"},
                            ],
                            "ports": [{"containerPort": 8321}],
                            "resources": {"requests": {"cpu": "1", "memory": "1Gi"}},
                            "startupProbe": {
                                "httpGet": {"path": "/v1/health", "port": 8321},
                                "initialDelaySeconds": 15, "timeoutSeconds": 30,
                                "failureThreshold": 3, "successThreshold": 1,
                            },
                            "volumeMounts": [
                                {"name": "lls-storage", "mountPath": "/.llama"},
                                {
                                    "name": "user-config", "mountPath": "/etc/llama-stack/",
                                    "readOnly": true,
                                },
                            ],
                        }],
                    },
                },
            },
        });
        if with_claim {
            deployment["spec"]["strategy"] = json!({"type": "Recreate"});
        }
        deployment
    }

    pub fn service(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "Service", "metadata": self.metadata("-service", &[]),
            "spec": {
                "type": "ClusterIP", "selector": self.selector(),
                "ports": [
                    {"name": "http", "protocol": "TCP", "port": 8321, "targetPort": 8321},
                    {"name": "old", "protocol": "TCP", "port": 9999, "targetPort": 9999},
                ],
            },
        })
    }

    pub fn account(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "ServiceAccount", "metadata": self.metadata("-sa", &[]),
        })
    }

    pub fn claim(&self) -> Value {
        json!({
            "apiVersion": "v1", "kind": "PersistentVolumeClaim",
            "metadata": self.metadata("-pvc", &[]),
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "10Gi"}},
            },
        })
    }

    pub fn ca_bundle(&self) -> Value {
        let labels = [
            ("app.kubernetes.io/instance", &*self.name),
            ("app.kubernetes.io/component", "ca-bundle"),
        ];
        json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": self.metadata("-ca-bundle", &labels),
            "data": {"ca-bundle.crt": "old"},
        })
    }

    pub fn ingress(&self) -> Value {
        let service = json!({"name": format!("{}-service", self.name), "port": {"number": 8321}});
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
            "metadata": {
                "name": format!("{}-ingress", self.name),
                "labels": {
                    "app.kubernetes.io/managed-by": "llama-stack-operator",
                    "app.kubernetes.io/instance": self.name,
                },
            },
            "spec": {"rules": [{"http": {"paths": [
                {"path": "/", "pathType": "Prefix", "backend": {"service": service}},
            ]}}]},
        })
    }

    pub fn network_policy(&self) -> Value {
        json!({
            "apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy",
            "metadata": self.metadata("-network-policy", &[]),
            "spec": {
                "podSelector": {"matchLabels": self.selector()},
                "policyTypes": ["Ingress"],
                "ingress": [{"ports": [{"protocol": "TCP", "port": 8321}]}],
            },
        })
    }

    pub fn autoscaler(&self) -> Value {
        json!({
            "apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
            "metadata": self.metadata("-hpa", &NEVER_FILLED),
            "spec": {
                "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": self.name},
                "minReplicas": 1, "maxReplicas": 4,
            },
        })
    }

    pub fn disruption_budget(&self) -> Value {
        json!({
            "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": self.metadata("-pdb", &NEVER_FILLED),
            "spec": {"minAvailable": 1, "selector": {"matchLabels": self.selector()}},
        })
    }

    /// Creates an object with its owner, and applies it as the next passes do.
    pub async fn write(&self, object: Value) {
        self.create(&object).await;
        match object["kind"].as_str().unwrap() {
            // The first is written once, the others are replaced whole.
            "PersistentVolumeClaim" | "ConfigMap" | "Ingress" => {}
            _ => self.apply(&object).await,
        }
    }

    pub async fn create(&self, object: &Value) {
        let mut object = object.clone();
        object["metadata"]["ownerReferences"] = self.owner();
        self.create_without_owner(&object).await;
    }

    /// What is left of a Deployment that v0.9 replaced whole: a bug of its, by which the owner goes.
    pub async fn create_without_owner(&self, object: &Value) {
        let api = self.namespace.api(object["kind"].as_str().unwrap());
        let parameters = PostParams { field_manager: Some(PROGRAM.into()), ..Default::default() };
        let object = serde_json::from_value(object.clone()).unwrap();
        api.create(&parameters, &object).await.unwrap();
    }

    pub async fn apply(&self, object: &Value) {
        let api = self.namespace.api(object["kind"].as_str().unwrap());
        let name = object["metadata"]["name"].as_str().unwrap();
        let parameters = PatchParams::apply(&self.name).force();
        api.patch(name, &parameters, &Patch::Apply(object)).await.unwrap();
    }
}

/// Labels that v0.9 puts on some kinds and never fills in.
const NEVER_FILLED: [(&str, &str); 2] =
    [("app", "llama-stack"), ("app.kubernetes.io/instance", "")];

/// Managers of an object itself, as `name operation`.
pub fn managers(object: &Value) -> Vec<String> {
    let entries = object["metadata"]["managedFields"].as_array().unwrap();
    let whole = entries.iter().filter(|entry| entry.get("subresource").is_none());
    let mut managers: Vec<String> = whole
        .map(|entry| format!("{} {}", entry["manager"], entry["operation"]).replace('"', ""))
        .collect();
    managers.sort();
    managers
}
