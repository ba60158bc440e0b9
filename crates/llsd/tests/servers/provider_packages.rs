//! External providers on their whole way: wheels become an image, the image is checked and installed,
//! and the real server serves what it brought.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use llsd_provider::PackageFile;
use llsd_provider::python::TELL;
use llsd_registry::mirrors::{HostPattern, Registries};
use llsd_registry::{Client, Config, Published, Reference};
use llsd_testkit::{Boot, LlamaStackServer, RegistryServer, Release, TestWheel};
use serde_json::{Value, json};
use tempfile::TempDir;

/// Ten times what an idle machine needs.
const PATIENCE: Duration = Duration::from_mins(3);

/// A folder for everything, and a registry.
struct Author {
    folder: TempDir,
    registry: RegistryServer,
}

impl Author {
    async fn new() -> Self {
        let registry = RegistryServer::builder().start().await.unwrap();
        Self { folder: tempfile::tempdir().unwrap(), registry }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Runs `llsd provider …`; beside this test, whose registry must answer meanwhile.
    async fn run(&self, arguments: &[&str]) -> String {
        let mut command = Command::new(assert_cmd::cargo::cargo_bin!("llsd"));
        command.arg("provider").args(arguments).env("HOME", self.folder.path());
        let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{arguments:?}: {said}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The wheels of `folder` as an image, and the image's `/lls-provider` as a container has it.
    async fn pushed(&self, folder: &Path, flags: &[&str]) -> PathBuf {
        let image = format!("{}/providers/one:1", self.registry.host());
        let wheels = folder.display().to_string();
        let arguments = [&["package", &wheels], flags, &["-t", &image, "--plain-http"]].concat();
        self.run(&arguments).await;
        self.run(&["check", &image, "--plain-http"]).await;

        let reference: Reference = image.parse().unwrap();
        let mut registries = Registries::default();
        registries.allow_private(HostPattern::every());
        registries.allow_plain_http(HostPattern::every());
        let client = Client::new(Config { registries, ..Config::default() });
        let repository = client.repository(&reference, None);
        let published = Published::fetch(repository).await.unwrap();
        let part = &published.parts()[0];
        let root = self.path("image");
        let read = async |path: &str| {
            let at = format!("/lls-provider/{path}");
            let content = published.find_bytes(repository, part, &at, 1 << 30).await.unwrap();
            let file = root.join(path);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, &content).unwrap();
            content
        };
        let text = String::from_utf8(read("lls-provider-spec.yaml").await).unwrap();
        for package in PackageFile::parse(&text).unwrap().packages {
            for wheel in std::iter::once(&package.wheel).chain(&package.dependency_wheels) {
                read(&format!("packages/{wheel}")).await;
            }
        }
        root
    }

    /// The wheels of packages that others published, kept for the next run.
    async fn downloaded(&self, name: &str, alone: &[&str], with_needs: &[&str]) -> PathBuf {
        let home = PathBuf::from(std::env::var_os("HOME").expect("a home"));
        let folder = home.join(".cache/llsd/providers").join(name);
        if folder.join("complete").exists() {
            return folder;
        }
        for (packages, flags) in [(alone, &["--no-deps"][..]), (with_needs, &[])] {
            if packages.is_empty() {
                continue;
            }
            let mut command = Command::new("python3");
            command.args(["-m", "pip", "download", "--quiet", "--only-binary=:all:"]);
            command.args(["--python-version", "3.12", "--platform", "manylinux_2_28_x86_64"]);
            command.args(["--platform", "manylinux2014_x86_64", "--dest"]).arg(&folder);
            command.args(flags).args(packages);
            let done =
                tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
            assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        }
        fs::write(folder.join("complete"), "").unwrap();
        folder
    }

    /// Installed for the server of a release, as its own Python says what it is.
    async fn installed(&self, image: &Path, release: Release) -> PathBuf {
        let python = release.install().unwrap().python();
        let told = Command::new(python).args(["-E", "-s", "-c", TELL]).output().unwrap();
        assert!(told.status.success(), "{}", String::from_utf8_lossy(&told.stderr));
        let facts = self.path("server.json");
        let to = self.path("installed").join(release.name());
        fs::write(&facts, told.stdout).unwrap();
        let texts = [image, &to, &facts].map(|path| path.display().to_string());
        let [from, to_text, server] = texts.each_ref().map(String::as_str);
        self.run(&["install", "--from", from, "--to", to_text, "--server", server]).await;
        to
    }
}

/// A server with one provider beside nothing.
async fn served(
    release: Release,
    installed: &Path,
    api: &str,
    mut entry: Value,
    apis: &[&str],
) -> LlamaStackServer {
    entry["provider_id"] = json!("mine");
    let mut config = json!({
        "version": 2,
        "distro_name": "test",
        "image_name": "test",
        "apis": apis,
        "providers": {api: [entry]},
    });
    if release >= Release::V0_3_5 {
        let file = |name: &str| installed.join(name).display().to_string();
        config["storage"] = json!({
            "backends": {
                "kv_default": {"type": "kv_sqlite", "db_path": file("kv.db")},
                "sql_default": {"type": "sql_sqlite", "db_path": file("sql.db")},
            },
            "stores": {
                "metadata": {"namespace": "registry", "backend": "kv_default"},
                "inference": {"table_name": "inference", "backend": "sql_default"},
                "conversations": {"table_name": "conversations", "backend": "sql_default"},
            },
        });
    }
    if release.is_ogx() {
        config["server"] = json!({"insecure": true}); // on loopback
    }
    let providers_d = installed.join("providers.d");
    if providers_d.exists() {
        config["external_providers_dir"] = json!(providers_d);
    }
    let path = installed.join("python-packages").display().to_string();
    let boot = Boot::new(config.to_string()).unwrap().with_env("PYTHONPATH", path);
    let mut server = release.boot(boot).unwrap();
    server.wait_healthy(PATIENCE).await.unwrap();
    server
}

/// The provider's type, as the running server says it.
async fn listed(server: &LlamaStackServer) -> Value {
    let answer = server.get_json("/v1/providers").await.unwrap();
    let all = answer.body["data"].as_array().cloned().unwrap_or_default();
    let own = all.into_iter().find(|one| one["provider_id"] == "mine");
    own.unwrap_or_else(|| panic!("{}: {}", answer.body, server.log()))
}

/// The wheel of a module in `folder`, as pip would build it.
fn wheel(folder: &Path, name: &str, module: &str, files: &[&str]) -> TestWheel {
    let mut wheel = TestWheel::new(name, "0.1.0").metadata("Requires-Python: >=3.12");
    for file in files {
        let path = format!("{module}/{file}");
        wheel = wheel.file(&path, fs::read(folder.join(&path)).unwrap());
    }
    wheel
}

#[tokio::test]
async fn the_template_is_packaged_installed_and_served() {
    let release = Release::newest();
    if !release.install_or_skip() {
        return;
    }
    let author = Author::new().await;
    let source = author.path("greeting");
    author.run(&["init", &source.display().to_string()]).await;
    let files = ["__init__.py", "config.py", "provider.py", "tools.py"];
    wheel(&source, "greeting-provider", "greeting_provider", &files).write(&source.join("dist"));
    let flags =
        ["--api", "tool_runtime", "--type", "inline::greeting", "--module", "greeting_provider"];
    let image = author.pushed(&source, &flags).await;
    let installed = author.installed(&image, release).await;
    let entry = json!({
        "provider_type": "inline::greeting",
        "module": "greeting_provider",
        "config": {"greeting": "Good morning"},
    });
    let server = served(release, &installed, "tool_runtime", entry, &["tool_runtime"]).await;
    let listed = listed(&server).await;
    assert_eq!(listed["provider_type"], "inline::greeting");
    assert_eq!(listed["config"]["greeting"], "Good morning");
}

#[tokio::test]
async fn one_image_is_installed_and_served_by_every_release() {
    let author = Author::new().await;
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/servers/external_provider");
    let files = ["__init__.py", "config.py", "provider.py"];
    let wheels = author.path("wheels");
    wheel(&sources, "tool-provider", "tool_provider", &files).write(&wheels);
    let flags = ["--api", "tool_runtime", "--type", "inline::tool", "--module", "tool_provider"];
    let image = author.pushed(&wheels, &flags).await;
    let entry = json!({
        "provider_type": "inline::tool", "module": "tool_provider", "config": {"word": "please"},
    });
    // Before 0.2.16 no server takes a module.
    let takes_modules = |release: &Release| *release >= Release::V0_2_24;
    for release in Release::under_test().unwrap().into_iter().filter(takes_modules) {
        if !release.install_or_skip() {
            continue;
        }
        let installed = author.installed(&image, release).await;
        let server =
            served(release, &installed, "tool_runtime", entry.clone(), &["tool_runtime"]).await;
        let listed = listed(&server).await;
        assert_eq!(listed["provider_type"], "inline::tool", "{release}");
        assert_eq!(listed["config"]["word"], "please", "{release}");
    }
}

/// A package that others published, and how it is served.
struct PublishedPackage {
    name: &'static str,
    /// Downloaded alone, and downloaded with all that they need.
    wheels: (&'static [&'static str], &'static [&'static str]),
    api: &'static str,
    provider_type: &'static str,
    module: &'static str,
    /// Of a package without a module `provider`.
    config_class: Option<&'static str>,
    config: Value,
}

/// One that needs nothing else, one that needs a large library of an exact version, and one without a
/// module `provider`.
fn published() -> [PublishedPackage; 3] {
    const REDACTION: &str = "lightspeed_stack_providers.providers.inline.safety.lightspeed_redaction.\
                             lightspeed_redaction";
    const REDACTION_CONFIG: &str = "lightspeed_stack_providers.providers.inline.safety.\
                                    lightspeed_redaction.lightspeed_redaction.config.\
                                    RedactionShieldConfig";
    [
        PublishedPackage {
            name: "trustyai-fms-0.4.0",
            wheels: (&["llama-stack-provider-trustyai-fms==0.4.0"], &[]),
            api: "safety",
            provider_type: "remote::trustyai_fms",
            module: "llama_stack_provider_trustyai_fms",
            config_class: None,
            config: json!({"shields": {}, "orchestrator_url": "http://nowhere:1"}),
        },
        PublishedPackage {
            name: "lmeval-0.5.0",
            wheels: (&["llama-stack-provider-lmeval==0.5.0"], &["kubernetes==35.0.0"]),
            api: "eval",
            provider_type: "remote::trustyai_lmeval",
            module: "llama_stack_provider_lmeval",
            config_class: None,
            config: json!({"use_k8s": false}),
        },
        PublishedPackage {
            name: "lightspeed-0.6.3",
            wheels: (&["lightspeed-stack-providers==0.6.3"], &[]),
            api: "safety",
            provider_type: "inline::lightspeed_redaction",
            module: REDACTION,
            config_class: Some(REDACTION_CONFIG),
            config: json!({"rules": []}),
        },
    ]
}

#[tokio::test]
async fn packages_of_others_are_packaged_installed_and_served() {
    let release = Release::newest();
    if !Release::is_thorough_or_left_out() || !release.install_or_skip() {
        return;
    }
    for package in published() {
        let author = Author::new().await;
        let wheels = author.downloaded(package.name, package.wheels.0, package.wheels.1).await;
        let mut flags = vec!["--api", package.api, "--type", package.provider_type];
        flags.extend(["--module", package.module]);
        flags.extend(package.config_class.iter().flat_map(|class| ["--config-class", class]));
        let image = author.pushed(&wheels, &flags).await;
        let installed = author.installed(&image, release).await;
        let mut entry = json!({"provider_type": package.provider_type, "config": package.config});
        if package.config_class.is_none() {
            entry["module"] = json!(package.module);
        }
        let server = served(release, &installed, package.api, entry, &[package.api]).await;
        assert_eq!(listed(&server).await["provider_type"], package.provider_type);
    }
}
