//! `llsd-crds`: the resource and its admission rules, which a cluster has once. They are templates, so
//! that `helm upgrade` upgrades them, and outlive an uninstall, because deleting the definition would
//! delete every resource.

use llsd_api::{crd, policy};
use serde_json::{Value as Json, json};

use super::contents::Chart;
use super::operator_values::certificates;
use super::template::{Places, fields, file};
use super::value::Value;
use crate::names::NAMESPACE;
use crate::operator_policy;
use crate::variants::{CERT_MANAGER_INJECTION, OPENSHIFT_INJECTION, certificate};

const ABOUT: &str = "The resource `LlamaStackDistribution` and its admission rules, which a cluster has \
once. Install it before `llsd`, upgrade it before `llsd`.\n\n```sh\nhelm install llsd-crds charts/llsd-crds\n\
```\n\n`helm uninstall` leaves both in place: with the definition every resource would be deleted. While no \
operator runs, resources are read and written as v1alpha2 only.";

pub(super) fn chart() -> Chart {
    Chart {
        name: "llsd-crds",
        description: "The LlamaStackDistribution resource of the operator for Llama Stack servers",
        about: ABOUT,
        values: vec![
            Value::text(
                "operatorNamespace",
                NAMESPACE,
                "The namespace of the operator, which converts between the versions of the resource.",
            ),
            certificates(),
            Value::choice(
                "namedSecrets",
                &["Warn", "Deny"],
                "How to treat a resource that names Secrets when its author has neither `get secrets` nor \
                 `create pods` in the namespace.",
            ),
        ],
        templates: vec![
            (
                "crd.yaml",
                file("The LlamaStackDistribution resource, both versions.", &[definition()]),
            ),
            (
                "policy.yaml",
                file(
                    "Admission rules that the resource definition cannot hold.",
                    &policy::manifests().into_iter().map(judging).collect::<Vec<_>>(),
                ),
            ),
            (
                "operator-policy.yaml",
                file(
                    "Keeps operators from writing what is not their own.",
                    &operator_policy::manifests().into_iter().map(judging).collect::<Vec<_>>(),
                ),
            ),
        ],
    }
}

fn definition() -> String {
    let (cert_manager, [openshift, on]) = (CERT_MANAGER_INJECTION, OPENSHIFT_INJECTION);
    let certificate = certificate("{{ $.Values.operatorNamespace }}");
    let injected = format!(
        "{{{{- if eq .Values.certificates \"cert-manager\" }}}}\n    {cert_manager}: {certificate}\n\
         {{{{- else if eq .Values.certificates \"openshift\" }}}}\n    {openshift}: {on:?}\n{{{{- end }}}}"
    );
    let mut definition = crd::manifest();
    let namespace = definition
        .pointer_mut("/spec/conversion/webhook/clientConfig/service/namespace")
        .expect("the definition names the operator's Service");
    let mut places = Places::default();
    *namespace = places.inline("{{ .Values.operatorNamespace | quote }}");
    kept_with(definition, &injected, places)
}

/// A policy, or its binding: what becomes of Secrets that are named is a choice.
fn judging(mut object: Json) -> String {
    let mut places = Places::default();
    if object["spec"]["policyName"] == policy::SECRETS {
        let denied =
            "{{ if eq .Values.namedSecrets \"Deny\" }}[Deny]{{ else }}[Warn, Audit]{{ end }}";
        object["spec"]["validationActions"] = places.inline(denied);
    }
    kept_with(object, "", places)
}

/// With the annotation by which Helm leaves it where it is, and more of them.
fn kept_with(mut object: Json, more: &str, mut places: Places) -> String {
    let metadata = object.pointer_mut("/metadata").expect("an object has metadata");
    let annotations = fields(metadata).entry("annotations").or_insert_with(|| json!({}));
    annotations["helm.sh/resource-policy"] = json!("keep");
    if !more.is_empty() {
        places.field(annotations, more);
    }
    places.document(&object)
}
