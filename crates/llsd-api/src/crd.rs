//! The CustomResourceDefinition with both versions.

use schemars::JsonSchema;
use serde_json::{Value, json};

use crate::rules::RESOURCE_NAME;
use crate::schema::{described, document_first_only, structural};
use crate::{GROUP, KIND, PLURAL, v1alpha1, v1alpha2};

/// The namespace that the install files use.
pub const OPERATOR_NAMESPACE: &str = "llama-stack-k8s-operator-system";
/// The Service in front of the operator's webhooks.
pub const WEBHOOK_SERVICE: &str = "llama-stack-k8s-operator-webhook-service";
/// The port of that Service.
pub const WEBHOOK_SERVICE_PORT: u16 = 443;
/// The path at which the operator converts.
pub const CONVERT_PATH: &str = "/convert";

/// The described schema of a whole v1alpha2 resource, metadata aside.
pub fn described_v1alpha2() -> Value {
    root::<v1alpha2::LlamaStackDistributionSpec, v1alpha2::LlamaStackDistributionStatus>()
}

/// The described schema of a whole v1alpha1 resource, metadata aside.
pub fn described_v1alpha1() -> Value {
    root::<v1alpha1::LlamaStackDistributionSpec, v1alpha1::LlamaStackDistributionStatus>()
}

/// The CRD as JSON, in the order in which a person reads it.
///
/// `conversion` is a webhook from the start: with strategy `None` the API server would prune what
/// the other version does not know. Its `caBundle` is absent because the operator writes it.
pub fn manifest() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{PLURAL}.{GROUP}")},
        "spec": {
            "group": GROUP,
            "names": {
                "kind": KIND,
                "listKind": format!("{KIND}List"),
                "plural": PLURAL,
                "singular": KIND.to_lowercase(),
                "shortNames": ["llsd"],
            },
            "scope": "Namespaced",
            "conversion": {
                "strategy": "Webhook",
                "webhook": {
                    "conversionReviewVersions": ["v1"],
                    "clientConfig": {"service": {
                        "namespace": OPERATOR_NAMESPACE, "name": WEBHOOK_SERVICE,
                        "path": CONVERT_PATH, "port": WEBHOOK_SERVICE_PORT,
                    }},
                },
            },
            "versions": [v1alpha2_version(), v1alpha1_version()],
        },
    })
}

fn v1alpha2_version() -> Value {
    json!({
        "name": "v1alpha2",
        "served": true,
        "storage": true,
        "subresources": {
            "status": {},
            "scale": {
                "specReplicasPath": ".spec.workload.replicas",
                "statusReplicasPath": ".status.replicas",
                "labelSelectorPath": ".status.selector",
            },
        },
        "additionalPrinterColumns": [
            {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
            {"name": "Providers", "type": "integer", "jsonPath": ".status.configGeneration.providerCount"},
            {"name": "Available", "type": "integer", "jsonPath": ".status.availableReplicas"},
            {"name": "Distribution", "type": "string", "priority": 1,
             "jsonPath": ".status.distributionConfig.activeDistribution"},
            {"name": "Config", "type": "string", "priority": 1,
             "jsonPath": ".status.configGeneration.configMapName"},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
        "schema": {"openAPIV3Schema": v1alpha2_schema()},
    })
}

fn v1alpha1_version() -> Value {
    json!({
        "name": "v1alpha1",
        "served": true,
        "storage": false,
        "subresources": {"status": {}},
        "additionalPrinterColumns": [
            {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
            {"name": "Operator Version", "type": "string", "jsonPath": ".status.version.operatorVersion"},
            {"name": "Server Version", "type": "string",
             "jsonPath": ".status.version.llamaStackServerVersion"},
            {"name": "Available", "type": "integer", "jsonPath": ".status.availableReplicas"},
            {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
        ],
        "selectableFields": [
            {"jsonPath": ".spec.server.userConfig.configMapName"},
            {"jsonPath": ".spec.server.userConfig.configMapNamespace"},
            {"jsonPath": ".spec.server.tlsConfig.caBundle.configMapName"},
            {"jsonPath": ".spec.server.tlsConfig.caBundle.configMapNamespace"},
        ],
        "schema": {"openAPIV3Schema": structural(&described_v1alpha1())},
    })
}

fn root<Spec: JsonSchema, Status: JsonSchema>() -> Value {
    json!({
        "description": "A Llama Stack server that the operator configures and runs.",
        "type": "object",
        "required": ["spec"],
        "properties": {
            "apiVersion": {"type": "string"},
            "kind": {"type": "string"},
            "metadata": {"type": "object"},
            "spec": described::<Spec>(),
            "status": described::<Status>(),
        },
    })
}

fn v1alpha2_schema() -> Value {
    let mut schema = structural(&described_v1alpha2());
    schema["x-kubernetes-validations"] = json!([{
        "rule": RESOURCE_NAME.cel,
        "message": format!("{}; {}", RESOURCE_NAME.message, RESOURCE_NAME.remedy),
        "optionalOldSelf": true,
    }]);
    // Fourteen APIs with the same fields: their descriptions alone would fill 20 KB.
    for section in ["providers", "externalProviders"] {
        document_first_only(&mut schema["properties"]["spec"]["properties"][section]);
    }
    schema
}
