//! `--image-config`: an image's labels as its OCI configuration holds them, without a registry.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};

use crate::support::{Files, resource, run, starter_base, with_vllm};

const LAYER: &str = "sha256:0000000000000000000000000000000000000000000000000000000000000000";

fn own_image(text: &str) -> String {
    text.replace("{name: starter}", "{image: registry.example.com/own:1}")
}

fn render(image_config: &Value, more: &[&str]) -> crate::support::Run {
    let files = Files::new();
    let file = files.add("image.json", &image_config.to_string());
    let all = [&["render", "-f", "-", "-o", "config", "--image-config", &file], more].concat();
    run(&all, &own_image(&with_vllm("a", "")))
}

fn labelled(labels: &Value) -> Value {
    json!({"architecture": "amd64", "os": "linux", "config": {"Labels": labels}, "rootfs": {}})
}

fn base(release: &str) -> String {
    std::fs::read_to_string(starter_base(release)).unwrap()
}

#[test]
fn a_configuration_in_a_label_is_the_base() {
    let encoded = BASE64_STANDARD.encode(base("0.4.7"));
    for labels in [
        json!({"io.llamastack.config.base64": encoded}),
        json!({
            "com.llamastack.distribution.default-config": "run.yaml",
            "com.llamastack.config.run.yaml": encoded,
        }),
    ] {
        let rendered = render(&labelled(&labels), &[]);
        assert_eq!(rendered.code, 0, "{}", rendered.stderr);
        assert!(rendered.stdout.contains("base_url: http://vllm:8000/v1\n"), "{}", rendered.stdout);
    }
}

#[test]
fn a_configuration_in_a_layer_is_not_available_offline() {
    let labels = json!({
        "io.llamastack.config.layer": LAYER,
        "io.llamastack.config.path": "/app/config.yaml",
    });
    let rendered = render(&labelled(&labels), &[]);
    assert_eq!((rendered.code, rendered.stdout.as_str()), (3, ""));
    let words = "points to the file app/config.yaml in the layer sha256:00";
    assert!(rendered.stderr.contains(words), "{}", rendered.stderr);
    assert!(rendered.stderr.contains("→ give the file itself with --base"), "{}", rendered.stderr);
    let files = Files::new();
    let base = files.add("base.yaml", &base("0.6.1"));
    let given = render(&labelled(&labels), &["--base", &base]);
    assert_eq!(given.code, 0, "{}", given.stderr);
}

#[test]
fn an_image_without_labels_is_refused_with_the_way_to_add_them() {
    let rendered = render(&labelled(&json!({"maintainer": "x"})), &[]);
    assert_eq!(rendered.code, 1);
    assert!(
        rendered.stderr.contains(
            "Distribution image registry.example.com/own:1 missing config labels. Add labels using \
             `crane mutate` or use `overrideConfig` to provide configuration manually. See \
             docs/configuration.md for details."
        ),
        "{}",
        rendered.stderr
    );
}

#[test]
fn the_release_is_the_one_that_the_image_names() {
    let files = Files::new();
    let release = |release: &str| {
        let labels = json!({
            "io.llamastack.config.base64": BASE64_STANDARD.encode(base("0.6.1")),
            "com.llamastack.distribution.version": release,
        });
        let file = files.add("image.json", &labelled(&labels).to_string());
        let text = own_image(&with_vllm("a", ""));
        let told = run(&["explain", "-f", "-", "--image-config", &file], &text);
        let chosen = ["explain", "-f", "-", "--image-config", &file, "--release", "0.6.1"];
        (first_line(&told.stdout), first_line(&run(&chosen, &text).stdout))
    };
    let (told, chosen) = release("0.5.4");
    assert_eq!(told, "# config.yaml of demo/a, for Llama Stack 0.5.4");
    assert_eq!(chosen, "# config.yaml of demo/a, for Llama Stack 0.6.1");
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn labels_that_cannot_be_used_are_problems() {
    for (labels, words) in [
        (json!({"io.llamastack.config.base64": "***"}), "it is not base64"),
        (json!({"io.llamastack.config.layer": LAYER}), "the path label beside it is missing"),
        (json!({"com.ogx.distribution.default-config": "x"}), "names a file that has no label"),
    ] {
        let rendered = render(&labelled(&labels), &[]);
        assert_eq!(rendered.code, 1);
        assert!(rendered.stderr.contains(words), "{}", rendered.stderr);
    }
}

#[test]
fn json_that_is_no_image_configuration_is_a_problem() {
    for (content, words) in [
        (json!([]), "not an OCI image configuration"),
        (json!({"schemaVersion": 2, "layers": []}), "neither `config` nor `rootfs`"),
        (json!({"config": {"Labels": {"a": 1}}}), "not an OCI image configuration"),
    ] {
        let rendered = render(&content, &[]);
        assert_eq!((rendered.code, rendered.stdout.as_str()), (1, ""), "{content}");
        assert!(rendered.stderr.contains(words), "{}", rendered.stderr);
        assert!(rendered.stderr.contains("crane config IMAGE"), "{}", rendered.stderr);
    }
}

/// A provider of the base that depends on a variable is there where the image sets it.
#[test]
fn variables_that_the_image_sets_count_and_their_values_are_not_shown() {
    let files = Files::new();
    let text = own_image(&with_vllm("a", "  resources: {models: [{name: m, provider: ollama}]}\n"));
    let render = |env: Value| {
        let labels = json!({"io.llamastack.config.base64": BASE64_STANDARD.encode(base("0.6.1"))});
        let config = json!({"config": {"Labels": labels, "Env": env}, "rootfs": {}});
        let file = files.add("image.json", &config.to_string());
        run(&["render", "-f", "-", "--image-config", &file], &text)
    };
    let without = render(json!(["PATH=/usr/bin", "OLLAMA_URL="]));
    assert_eq!(without.code, 1);
    assert!(without.stderr.contains("exists only where OLLAMA_URL is set"), "{}", without.stderr);
    let with = render(json!(["PATH=/usr/bin", "OLLAMA_URL=http://hidden:11434"]));
    assert_eq!(with.code, 0, "{}", with.stderr);
    assert!(!with.stdout.contains("hidden"));
}

#[test]
fn an_image_that_runs_its_default_needs_no_labels() {
    let files = Files::new();
    let file = files.add("image.json", &labelled(&json!(null)).to_string());
    let text = own_image(&resource("demo", "a"));
    assert_eq!(run(&["render", "-f", "-", "--image-config", &file], &text).code, 0);
}
