//! What the program says of itself: its version, completions, and help as kubectl's plugin.

use std::fs::read_to_string;
use std::process::Command;

use crate::support::{repository, run};

#[test]
fn the_version_names_the_server_releases_that_are_known() {
    let said = run(&["version"], "");
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert!(said.stdout.starts_with(concat!("llsd ", env!("CARGO_PKG_VERSION"), "\n")));
    for words in ["llama-stack: 0.2.12, ", " 0.7.3\n", "OGX:         1.0.4, ", "1.33 and newer"] {
        assert!(said.stdout.contains(words), "{words}: {}", said.stdout);
    }
    let json = run(&["version", "-o", "json"], "").stdout;
    let known: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(known["version"], env!("CARGO_PKG_VERSION"));
    assert_eq!(known["servers"]["llama-stack"][0], "0.2.12");
    let yaml = run(&["version", "-o", "yaml"], "").stdout;
    assert_eq!(serde_saphyr::from_str::<serde_json::Value>(&yaml).unwrap(), known);
}

#[test]
fn shells_get_a_completion_that_asks_the_program() {
    for shell in ["bash", "zsh", "fish"] {
        let said = run(&["completion", shell], "");
        assert_eq!(said.code, 0, "{}", said.stderr);
        assert!(said.stdout.contains("LLSD_COMPLETE"), "{shell}: {}", said.stdout);
    }
}

/// Bash itself must understand it.
#[test]
fn bash_completes_a_command() {
    let script = run(&["completion", "bash"], "").stdout;
    let program = assert_cmd::cargo::cargo_bin!("llsd");
    let path =
        format!("{}:{}", program.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let ask = "COMP_WORDS=(llsd rend); COMP_CWORD=1; _clap_complete_llsd llsd rend llsd; echo \"${COMPREPLY[@]}\"";
    let asked = format!("{script}\n{ask}");
    let done = Command::new("bash").args(["-c", &asked]).env("PATH", path).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "render", "{done:?}");
}

#[test]
fn as_a_plugin_it_calls_itself_what_the_user_typed() {
    let folder = tempfile::tempdir().unwrap();
    let plugin = folder.path().join("kubectl-llsd");
    std::os::unix::fs::symlink(assert_cmd::cargo::cargo_bin!("llsd"), &plugin).unwrap();
    let done = Command::new(&plugin).args(["render", "--help"]).output().unwrap();
    let help = String::from_utf8_lossy(&done.stdout).into_owned();
    assert!(help.contains("Usage: kubectl llsd render"), "{help}");
    assert!(help.contains("Examples:\n"), "{help}");
    assert!(!help.contains('\u{1b}'), "no colours into a pipe");
}

#[test]
fn the_install_can_name_an_image_of_ones_own() {
    let image = "registry.example.com/ops/llsd:2";
    let said = run(&["manifests", "--image", image], "");
    assert_eq!(said.code, 0, "{}", said.stderr);
    assert_eq!(said.stdout.matches(image).count(), 2, "the container's, and the sidecar's");
    assert!(!said.stdout.contains("docker.io/llamastack/llsd-operator"));
    assert_eq!(said.stderr, "");
    let default = run(&["manifests"], "");
    assert_eq!(default.code, 0);
    let words = "warning: there is no image docker.io/llamastack/llsd-operator:";
    assert!(default.stderr.starts_with(words), "{}", default.stderr);
    assert!(default.stderr.ends_with("name it with --image\n"), "{}", default.stderr);
    let wrong = run(&["manifests", "--image", "not an image"], "");
    assert_eq!(wrong.code, 2, "{}", wrong.stdout);
}

#[test]
fn charts_bundle_and_definition_are_written_as_they_stand_in_the_repository() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).display().to_string();
    let said =
        run(&["manifests", "--charts-dir", &at("charts"), "--bundle-dir", &at("bundle")], "");
    assert_eq!(said.code, 0, "{}", said.stderr);
    for file in ["charts/llsd-crds/templates/crd.yaml", "charts/llsd/Chart.yaml"] {
        assert!(said.stdout.lines().any(|line| line == at(file)), "{file}: {}", said.stdout);
        assert_eq!(read_to_string(at(file)).unwrap(), read_to_string(repository(file)).unwrap());
    }
    assert!(said.stdout.contains(&at("bundle/manifests/")), "{}", said.stdout);
    let definition = run(&["crd"], "");
    assert_eq!(definition.stdout, read_to_string(repository("deploy/crd.yaml")).unwrap());
    let below_a_file = format!("{}/charts", at("charts/llsd/Chart.yaml"));
    let refused = run(&["manifests", "--charts-dir", &below_a_file], "");
    assert_eq!(refused.code, 2, "{}", refused.stdout);
    assert!(refused.stderr.contains(&below_a_file), "{}", refused.stderr);
}

#[test]
fn monitoring_comes_with_the_install_when_asked_for() {
    let plain = run(&["manifests"], "").stdout;
    let said = run(&["manifests", "--monitoring", "--namespaced", "team"], "");
    assert_eq!(said.code, 0, "{}", said.stderr);
    for kind in ["kind: PodMonitor", "kind: PrometheusRule"] {
        assert!(said.stdout.contains(kind) && !plain.contains(kind), "{kind}");
    }
}

#[test]
fn a_proxy_that_cannot_listen_says_so() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let target = "redis://redis.example.com:6379";
    let said = run(&["redis-proxy", "--listen", &address, "--target", target], "");
    assert_eq!(said.code, 2, "{}", said.stderr);
    assert!(said.stderr.contains(&format!("cannot listen on {address}")), "{}", said.stderr);
}
