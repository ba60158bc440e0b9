//! What the preflight, which runs in a container of the server's image, says of files that the server of
//! each release would start with, and of files that it would not.

use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;
use std::{fs, process::Command, process::Stdio};

use llsd_plan::objects::start_program;
use llsd_testkit::{Release, Venv};
use serde_json::{Value, json};
use tempfile::TempDir;

use super::pod::{Pod, Secrets};

/// An image with the preflight in it.
struct Image {
    venv: Venv,
    folder: TempDir,
}

impl Image {
    fn for_release(release: Release) -> Self {
        let folder = TempDir::new().unwrap();
        for (name, text) in start_program::FILES {
            fs::write(folder.path().join(name), text).unwrap();
        }
        Self { venv: release.install().unwrap(), folder }
    }

    /// The result for this text, which is also what Kubernetes gets.
    fn check(&self, text: &str, env: &[(&str, &str)]) -> Value {
        let file = |name: &str| self.folder.path().join(name);
        fs::write(file("config.yaml"), text).unwrap();
        fs::create_dir_all(file("home")).unwrap();
        let done = as_anybody(&self.venv.python())
            .arg(file("preflight.py"))
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", file("home"))
            .env("TIKTOKEN_CACHE_DIR", self.venv.tokenizers())
            .env("LLAMA_STACK_CONFIG", file("config.yaml"))
            .env("LLS_TERMINATION_LOG", file("result"))
            .envs(env.iter().copied())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        let result = fs::read_to_string(file("result")).unwrap();
        assert!(result.is_ascii() && result.len() <= 4096, "{result}");
        // Nothing else was written.
        let written = fs::read_dir(file("home")).unwrap().count();
        assert_eq!(written, 0, "{result}");
        serde_json::from_str(&result).unwrap()
    }
}

/// Root may write everything, unless this right of it is taken away.
fn as_anybody(program: &Path) -> Command {
    if fs::metadata("/proc/self").unwrap().uid() != 0 {
        return Command::new(program);
    }
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-dac_override"]).arg(program);
    command
}

/// A file of the release with a model of vLLM, as the operator generates it.
fn good(release: Release) -> String {
    let spec = json!({
        "providers": {"inference": {"provider": "vllm", "endpoint": "http://vllm:8000"}},
        "resources": {"models": ["llama3.2-8b"]},
    });
    Pod::planned(release, spec, &Secrets::new()).config().to_owned()
}

/// The place of the provider in the file.
fn place(text: &str, release: Release) -> String {
    let file = release.read_yaml(&[text]).unwrap().remove(0).unwrap();
    let entries = file["providers"]["inference"].as_array().unwrap().clone();
    let index = entries.iter().position(|entry| entry["provider_id"] == "vllm").unwrap();
    format!("providers.inference[{index}]")
}

fn only(result: &Value, kind: &str) -> (String, String) {
    let problems = result["problems"].as_array().unwrap();
    let found: Vec<&Value> = problems.iter().filter(|one| one["kind"] == kind).collect();
    assert_eq!(found.len(), 1, "{result:#}");
    let text = |field: &str| found[0][field].as_str().unwrap_or_default().to_owned();
    (text("path"), text("message"))
}

#[test]
fn each_release_says_what_is_wrong_with_a_file_and_where() {
    for release in Release::under_test().unwrap() {
        if !release.install_or_skip() {
            return;
        }
        let image = Image::for_release(release);
        let text = good(release);
        let provider = place(&text, release);

        let result = image.check(&text, &[]);
        assert_eq!(result["verdict"], "good", "{result:#}");
        assert_eq!(result["problems"], json!([]), "{result:#}");
        assert_eq!(result["server"], release.to_string());

        let result = image.check(&format!("{text}logging: [1]\n"), &[]);
        assert_eq!(result["verdict"], "refused", "{result:#}");
        assert_eq!(only(&result, "schema").0, "logging");

        let result = image.check(&text.replace("remote::vllm", "remote::vlllm"), &[]);
        assert_eq!(result["verdict"], "refused", "{result:#}");
        let (path, message) = only(&result, "provider");
        assert_eq!(path, format!("{provider}.provider_type"));
        assert!(message.contains("remote::vlllm"), "{message}");

        let result = image.check(&text.replace("remote::vllm", "remote::together"), &[]);
        assert_eq!(result["verdict"], "refused", "{result:#}");
        let (path, message) = only(&result, "package");
        assert_eq!(path, format!("{provider}.provider_type"));
        assert!(message.contains("No module named 'together'"), "{message}");

        let result = image.check(&format!("{text}nobody_reads_this: 1\n"), &[]);
        assert_eq!(result["verdict"], "good", "{result:#}");
        assert_eq!(only(&result, "dropped").0, "nobody_reads_this");
        eprintln!("{release} checks");
    }
}

#[test]
fn a_value_that_a_variable_gives_is_not_quoted() {
    for release in [Release::newest(), Release::newest_ogx()] {
        if !release.install_or_skip() {
            return;
        }
        let text = good(release).replace("http://vllm:8000/v1", "${env.ADDRESS}");
        let result = Image::for_release(release).check(&text, &[("ADDRESS", "sk-7d1f secret")]);
        assert_eq!(result["verdict"], "refused", "{result:#}");
        assert!(only(&result, "schema").0.ends_with(".config.base_url"), "{result:#}");
        assert!(!result.to_string().contains("sk-7d1f"), "{result:#}");
        let result = Image::for_release(release).check(&text, &[]);
        let (path, message) = only(&result, "schema");
        assert!(path.ends_with(".config.base_url") && message.contains("ADDRESS"), "{result:#}");
    }
}

#[test]
fn what_cannot_be_checked_is_not_refused() {
    let release = Release::newest();
    if !release.install_or_skip() {
        return;
    }
    let image = Image::for_release(release);
    let result = image.check(&good(release), &[("LLS_PREFLIGHT_SECONDS", "0.2")]);
    assert_eq!(result["verdict"], "unjudged");
    assert_eq!(result["why"], "no verdict after 0.2 s");
    // A file of which nobody knows where it is.
    let result = image.check("version: 2", &[("LLAMA_STACK_CONFIG", ""), ("DISTRO_NAME", "none")]);
    assert_eq!(result["why"], "the image's own configuration is not found", "{result}");
}

#[test]
fn a_volume_that_its_user_cannot_write_is_refused_with_the_remedy() {
    let release = Release::newest();
    if !release.install_or_skip() {
        return;
    }
    let volume = TempDir::new().unwrap();
    let state = volume.path().to_str().unwrap();
    let env = [("HF_HOME", state), ("SQLITE_STORE_DIR", state)];
    let image = Image::for_release(release);
    assert_eq!(image.check(&good(release), &env)["verdict"], "good");

    fs::set_permissions(state, fs::Permissions::from_mode(0o500)).unwrap();
    let result = image.check(&good(release), &env);
    assert_eq!(result["verdict"], "refused", "{result:#}");
    let problem = &result["problems"][0];
    assert_eq!(problem["kind"], "volume", "{result:#}");
    assert!(problem["path"].as_str().unwrap().ends_with("db_path"), "{result:#}");
    let message = problem["message"].as_str().unwrap();
    assert!(message.contains("cannot write") && message.contains("chown -R"), "{message}");
}
