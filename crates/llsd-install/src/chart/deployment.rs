//! The operator's Deployment with places for the values of its pods.

use serde_json::{Value as Json, json};

use super::template::{ASKS_FOR_TOKENS, Places, fields, when};
use crate::file::yaml;
use crate::names::METRICS_AUTHENTICATION;
use crate::variants;

/// What stands for the image while the object is made.
pub(super) const IMAGE: &str = "LLSDIMAGE";

pub(super) fn deployment(mut object: Json) -> String {
    let mut places = Places::default();
    object["spec"]["replicas"] = places.inline("{{ .Values.replicas }}");
    let template = &mut object["spec"]["template"];
    for (map, value) in [("annotations", "podAnnotations"), ("labels", "podLabels")] {
        places.field(&mut template["metadata"][map], &with(value, "toYaml . | nindent INDENT"));
    }
    let pod = &mut template["spec"];
    container(&mut pod["containers"][0], &mut places);
    for value in ["imagePullSecrets", "nodeSelector", "tolerations", "affinity"] {
        let text = format!(
            "{{{{- with .Values.{value} }}}}\n      {value}:\n        {{{{- toYaml . | nindent 8 }}}}\n{{{{- end }}}}"
        );
        places.field(pod, &text);
    }
    places.field(
        pod,
        "{{- with .Values.priorityClassName }}\n      priorityClassName: {{ . }}\n{{- end }}",
    );
    let [volume, _] = variants::mounted();
    places.field(pod, &with_files(&format!("volumes:\n{}", yaml(&json!([volume]))), 6));
    places.document(&object)
}

fn container(container: &mut Json, places: &mut Places) {
    container["image"] = places.inline("{{ include \"llsd.image\" . | quote }}");
    let list = |container: &mut Json, field: &str, item: Json| {
        container[field].as_array_mut().expect("a list").push(item);
    };
    for argument in container["args"].as_array_mut().expect("a list") {
        if argument == METRICS_AUTHENTICATION {
            let flag = when(ASKS_FOR_TOKENS, &format!("        - {METRICS_AUTHENTICATION}\n"));
            *argument = places.item(flag.trim_end());
        }
    }
    let cert_dir = format!("- {}", variants::flag());
    for text in [
        with_files(&cert_dir, 8),
        "{{- if .Values.secretWatch }}\n        - --watch-secrets\n{{- end }}".to_owned(),
        "{{- if and .Values.storageMigration (not .Values.namespaced) }}\n        - --migrate-storage\n{{- end }}".to_owned(),
        with("arguments", "toYaml . | nindent INDENT"),
    ] {
        let item = places.item(&text);
        list(container, "args", item);
    }
    for variable in container["env"].as_array_mut().expect("a list") {
        if variable["value"] == IMAGE {
            variable["value"] = places.inline("{{ include \"llsd.image\" . | quote }}");
        }
    }
    for text in [
        WATCHED.to_owned(),
        variable("HTTPS_PROXY", "proxy.https"),
        variable("HTTP_PROXY", "proxy.http"),
        variable("NO_PROXY", "proxy.except"),
        with("environment", "toYaml . | nindent INDENT"),
    ] {
        let item = places.item(&text);
        list(container, "env", item);
    }
    for port in container["ports"].as_array_mut().expect("a list") {
        if port["name"] == "webhooks" {
            let text = indented(&yaml(&json!([port])), 8);
            *port = places.item(&served(&text));
        }
    }
    container["resources"] = places.inline("{{- toYaml .Values.resources | nindent 10 }}");
    let lifecycle = container["lifecycle"].take();
    fields(container).shift_remove("lifecycle");
    let lifecycle = indented(&yaml(&json!({"lifecycle": lifecycle})), 8);
    places.field(container, &served(&lifecycle));
    let policy = "{{- if ne .Values.image.pullPolicy \"IfNotPresent\" }}\n        imagePullPolicy: {{ .Values.image.pullPolicy }}\n{{- end }}";
    places.field(container, policy);
    let [_, mount] = variants::mounted();
    places.field(container, &with_files(&format!("volumeMounts:\n{}", yaml(&json!([mount]))), 8));
}

const WATCHED: &str = r#"{{- if .Values.namespaced }}
        - name: WATCH_NAMESPACE
          valueFrom:
            fieldRef:
              fieldPath: metadata.namespace
{{- else if .Values.watchNamespaces }}
        - name: WATCH_NAMESPACE
          value: {{ join "," .Values.watchNamespaces | quote }}
{{- end }}"#;

fn variable(name: &str, value: &str) -> String {
    format!(
        "{{{{- with .Values.{value} }}}}\n        - name: {name}\n          value: {{{{ . | quote }}}}\n{{{{- end }}}}"
    )
}

fn with(value: &str, inner: &str) -> String {
    format!("{{{{- with .Values.{value} }}}}\n{{{{- {inner} }}}}\n{{{{- end }}}}")
}

fn served(text: &str) -> String {
    format!("{{{{- if include \"llsd.webhooks\" . }}}}\n{}\n{{{{- end }}}}", text.trim_end())
}

/// Where somebody else makes the certificates.
fn with_files(text: &str, indent: usize) -> String {
    let condition = "and (include \"llsd.webhooks\" .) (ne .Values.certificates \"operator\")";
    format!("{{{{- if {condition} }}}}\n{}\n{{{{- end }}}}", indented(text, indent).trim_end())
}

pub(super) fn indented(text: &str, by: usize) -> String {
    let lines: Vec<String> =
        text.lines().map(|line| format!("{}{line}\n", " ".repeat(by))).collect();
    lines.concat()
}
