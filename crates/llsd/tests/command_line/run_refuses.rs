//! `llsd run` that cannot start says why, and ends with a code that tells wrong flags from a cluster that is
//! not there.

use std::net::TcpListener;
use std::path::Path;
use std::time::Duration;

use assert_cmd::Command;

const NOT_SERVED: [&str; 2] = ["--metrics-bind-address=0", "--health-probe-bind-address=0"];

/// Runs the operator with the folder's kubeconfig; its exit code and all that it wrote.
fn started(folder: &Path, flags: &[&str]) -> (i32, String) {
    let output = Command::new(assert_cmd::cargo::cargo_bin!("llsd"))
        .arg("run")
        .args(flags)
        .env("KUBECONFIG", folder.join("kubeconfig"))
        .timeout(Duration::from_mins(1))
        .output()
        .unwrap();
    let text = [output.stdout, output.stderr].concat();
    (output.status.code().unwrap(), String::from_utf8(text).unwrap())
}

#[test]
fn flags_that_cannot_be_meant_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    for (flags, why) in [
        (&["--log-level=loud"][..], "`loud` is no log level"),
        (&["--otlp-endpoint=collector"], "collector"),
        (&["--watch-namespace=team", "--webhook-bind-address=127.0.0.1:0"], "--webhook-cert-dir"),
    ] {
        let (code, text) = started(folder.path(), flags);
        assert_eq!(code, 2, "{flags:?}: {text}");
        assert!(text.contains(why), "{flags:?}: {text}");
    }
}

#[test]
fn without_a_cluster_it_ends_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    for format in ["--log-format=text", "--log-format=json"] {
        let (code, text) = started(folder.path(), &[&NOT_SERVED[..], &[format]].concat());
        assert_eq!(code, 3, "{text}");
        assert!(text.contains("there is no cluster to work in"), "{text}");
    }
}

#[test]
fn an_address_that_is_taken_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let flags = ["--metrics-bind-address=0", "--health-probe-bind-address", &address];
    let (code, text) = started(folder.path(), &flags);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("health and metrics cannot be served"), "{text}");
    assert!(text.contains(&address), "{text}");
}

#[test]
fn all_that_is_wrong_with_credential_plugins_is_told_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = "apiVersion: v1\nkind: Config\ncurrent-context: here\n\
        clusters: [{name: here, cluster: {server: 'http://127.0.0.1:1'}}]\n\
        contexts: [{name: here, context: {cluster: here, user: me}}]\n\
        users: [{name: me, user: {}}]\n";
    std::fs::write(folder.path().join("kubeconfig"), kubeconfig).unwrap();
    let plugins = "apiVersion: kubelet.config.k8s.io/v1\nkind: CredentialProviderConfig\n\
        providers:\n- {name: one/two, matchImages: [], apiVersion: v7}\n";
    let file = folder.path().join("plugins.yaml");
    std::fs::write(&file, plugins).unwrap();
    let config = format!("--image-credential-provider-config={}", file.display());
    let programs = format!("--image-credential-provider-bin-dir={}", folder.path().display());
    let flags = [&NOT_SERVED[..], &[&config, &programs]].concat();
    let (code, text) = started(folder.path(), &flags);
    assert_eq!(code, 3, "{text}");
    assert!(text.contains("the credential plugins cannot be used"), "{text}");
    for field in ["name", "apiVersion", "matchImages", "defaultCacheDuration"] {
        assert!(text.contains(&format!("providers[0].{field}: ")), "{field}: {text}");
    }
}
