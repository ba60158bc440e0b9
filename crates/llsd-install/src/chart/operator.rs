//! `llsd`: the operator. Its objects are those of the install files, with places for values.

use serde_json::{Value as Json, json};

use super::contents::Chart;
use super::deployment::{IMAGE, deployment, indented};
use super::operator_values::rows;
use super::template::{ASKS_FOR_TOKENS, Places, file, when};
use crate::file::yaml;
use crate::names::{METRICS_READER, METRICS_ROLE, ROLE, WEBHOOK_ROLE};
use crate::roles::{self, Scope};
use crate::variants::{self, CERT_MANAGER_INJECTION, OPENSHIFT_INJECTION, OPENSHIFT_SERVING};
use crate::{manager, monitoring, network_policy, webhook};

const ABOUT: &str = "The operator for Llama Stack servers. Its resource is in the chart `llsd-crds`, which \
is installed first.\n\n```sh\nhelm install llsd-crds charts/llsd-crds\nhelm install llsd charts/llsd \
--namespace llama-stack-k8s-operator-system --create-namespace\n```\n\nWith default values it installs what \
`llsd manifests` prints. One release for each cluster, or with `namespaced` one for each namespace; names of \
objects do not depend on the release's name, because an install over operator v0.9 replaces it.";

/// What stands for the namespace while objects are made.
const HERE: &str = "LLSDNAMESPACE";

pub(super) fn chart() -> Chart {
    Chart {
        name: "llsd",
        description: "The operator for Llama Stack servers",
        about: ABOUT,
        values: rows(),
        templates: vec![
            ("_helpers.tpl", include_str!("templates/_helpers.tpl").to_owned()),
            ("NOTES.txt", include_str!("templates/NOTES.txt").to_owned()),
            ("rbac.yaml", file("What the operator may do.", &rbac())),
            ("webhook.yaml", file("The operator's webhooks.", &webhooks())),
            (
                "certificate.yaml",
                file(
                    "The webhooks' certificate of cert-manager.",
                    &all(
                        &variants::issued(HERE),
                        "and (include \"llsd.webhooks\" .) (eq .Values.certificates \"cert-manager\")",
                    ),
                ),
            ),
            (
                "network-policy.yaml",
                file(
                    "Who may connect to the operator.",
                    &all(&network_policy::all(HERE), ".Values.networkPolicy"),
                ),
            ),
            ("monitoring.yaml", file("What watches the operator.", &monitored())),
            // The operator makes the ConfigMap where there is none, so it is a choice here.
            ("configuration.yaml", include_str!("templates/configuration.yaml").to_owned()),
            ("manager.yaml", file("The operator.", &manager())),
        ],
    }
}

/// Objects of the release's namespace, where a condition holds.
fn all(objects: &[Json], condition: &str) -> Vec<String> {
    let document = |object: &Json| here(&Places::default().document(object));
    objects.iter().map(|object| when(condition, &document(object))).collect()
}

/// A namespace that is all digits must stay a text.
fn here(text: &str) -> String {
    let whole = format!(": {HERE}\n");
    text.replace(&whole, ": {{ .Release.Namespace | quote }}\n")
        .replace(HERE, "{{ .Release.Namespace }}")
}

fn rbac() -> Vec<String> {
    let mut documents = Vec::new();
    let account = |object: &Json| object["kind"] == "ServiceAccount";
    let (own, cluster): (Vec<Json>, Vec<Json>) =
        roles::all(HERE, Scope::Cluster).into_iter().partition(account);
    documents.extend(own.iter().map(|object| here(&Places::default().document(object))));
    for object in cluster {
        let text = here(&Places::default().document(&object));
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let [_, binding] = ROLE;
        if name == binding {
            documents
                .push(when("and (not .Values.namespaced) (not .Values.watchNamespaces)", &text));
            documents.push(bound_in_each(&object));
        } else if WEBHOOK_ROLE.contains(&name) {
            documents.push(when("include \"llsd.ownCertificates\" .", &text));
        } else if METRICS_ROLE.contains(&name) || name == METRICS_READER {
            documents.push(when(ASKS_FOR_TOKENS, &text));
        } else {
            documents.push(when("not .Values.namespaced", &text));
        }
    }
    let namespaced = roles::all(HERE, Scope::Namespace).into_iter().filter(|it| !account(it));
    documents.extend(all(&namespaced.collect::<Vec<Json>>(), ".Values.namespaced"));
    for (scope, condition) in [
        (Scope::Cluster, "and .Values.secretWatch (not .Values.namespaced)"),
        (Scope::Namespace, "and .Values.secretWatch .Values.namespaced"),
    ] {
        documents.extend(all(&roles::secret_watch(HERE, scope), condition));
    }
    let migration = "and .Values.storageMigration (not .Values.namespaced)";
    documents.extend(all(&roles::storage_migration(HERE), migration));
    documents
}

/// The same role, bound in each namespace that is looked after.
fn bound_in_each(binding: &Json) -> String {
    let mut binding = binding.clone();
    binding["kind"] = json!("RoleBinding");
    let mut places = Places::default();
    binding["metadata"]["namespace"] = places.inline("{{ . | quote }}");
    let text = places.document(&binding).replace(HERE, "{{ $.Release.Namespace }}");
    format!(
        "{{{{- if not .Values.namespaced }}}}\n{{{{- range .Values.watchNamespaces }}}}\n---\n{text}{{{{- end }}}}\n{{{{- end }}}}\n"
    )
}

fn webhooks() -> Vec<String> {
    let [inject, on] = OPENSHIFT_INJECTION;
    let [serve, secret] = OPENSHIFT_SERVING;
    let certificate = variants::certificate("{{ $.Release.Namespace }}");
    let injected = format!(
        "{{{{- if eq .Values.certificates \"cert-manager\" }}}}\n  annotations:\n    {CERT_MANAGER_INJECTION}: {certificate}\n\
         {{{{- else if eq .Values.certificates \"openshift\" }}}}\n  annotations:\n    {inject}: {on:?}\n{{{{- end }}}}"
    );
    let served = format!(
        "{{{{- if eq .Values.certificates \"openshift\" }}}}\n  annotations:\n    {serve}: {secret}\n{{{{- end }}}}"
    );
    let annotated = |mut object: Json| {
        let mut places = Places::default();
        let text = if object["kind"] == "Service" { &served } else { &injected };
        places.field(&mut object["metadata"], text);
        when("include \"llsd.webhooks\" .", &here(&places.document(&object)))
    };
    webhook::all(HERE).into_iter().map(annotated).collect()
}

/// Each with the labels that somebody asks for.
fn monitored() -> Vec<String> {
    let address = "LLSDRUNBOOKS";
    let labels =
        "{{- with .Values.monitoring.labels }}\n{{ toYaml . | indent INDENT }}\n{{- end }}";
    let labelled = |mut object: Json, switch: &str| {
        let mut places = Places::default();
        places.field(&mut object["metadata"]["labels"], labels);
        if object["kind"] == "PodMonitor" {
            let shown = yaml(&json!({"authorization": monitoring::authorization()}));
            let shown = when(ASKS_FOR_TOKENS, &indented(&shown, 4)).trim_end().to_owned();
            places.field(&mut object["spec"]["podMetricsEndpoints"][0], &shown);
        }
        let text = here(&places.document(&object));
        let text = text.replace(address, "{{ $.Values.monitoring.runbooks }}");
        when(&format!(".Values.monitoring.{switch}"), &text)
    };
    let mut documents = vec![
        labelled(monitoring::pod_monitor(HERE, false), "podMonitor"),
        labelled(monitoring::rule(HERE, address), "alerts"),
        labelled(monitoring::dashboard_map(HERE), "dashboard"),
    ];
    let condition = format!("and .Values.monitoring.podMonitor ({ASKS_FOR_TOKENS})");
    documents.extend(all(&roles::metrics_reader(HERE), &condition));
    documents
}

fn manager() -> Vec<String> {
    let mut documents = Vec::new();
    for object in manager::all(HERE, Scope::Cluster, IMAGE) {
        let text = here(&Places::default().document(&object));
        documents.push(match object["kind"].as_str() {
            Some("Deployment") => here(&deployment(object)),
            Some("PodDisruptionBudget") => when(".Values.disruptionBudget", &text),
            _ => text,
        });
    }
    documents
}
