//! `llsd provider package` and `check` against a real registry: what is written is what skopeo, the check
//! and the installer read.

use std::fs;
use std::path::Path;

use llsd_testkit::{RegistryServer, TestWheel};

use crate::image::{Person, skopeo};

fn acme() -> TestWheel {
    TestWheel::new("acme-provider", "1.2.0")
        .metadata("Summary: ACME's models\nAuthor: ACME Inc.\nRequires-Dist: helper")
        .file("acme_provider/__init__.py", "")
        .file("acme_provider/provider.py", "def get_provider_spec(): ...\n")
}

fn package<'a>(wheels: &'a str, target: &'a str) -> Vec<&'a str> {
    let flags = ["--api", "inference", "--type", "remote::acme", "--module", "acme_provider"];
    [&["package", wheels], &flags[..], &["-t", target, "--plain-http"]].concat()
}

#[tokio::test]
async fn wheels_become_the_same_image_every_time_and_for_every_machine() {
    let server = RegistryServer::builder().start().await.unwrap();
    let person = Person::new();
    let folder = person.file("wheels");
    acme().write(Path::new(&folder));
    TestWheel::new("helper", "3").file("helper.py", "").write(Path::new(&folder));
    let name = format!("{}/providers/acme:1", server.host());
    let run = person.provider(&package(&folder, &name)).await;
    let digest = run.digest();
    assert!(run.stderr.contains("linux/arm64: acme_provider-1.2.0-py3-none-any.whl"));
    let again = format!("{}/providers/again:1", server.host());
    assert_eq!(person.provider(&package(&folder, &again)).await.digest(), digest);

    let raw = skopeo(&server, None, &["--raw"], &name).await;
    let platforms: Vec<&str> = raw["manifests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|entry| entry["platform"]["architecture"].as_str().unwrap())
        .collect();
    assert_eq!(platforms, ["amd64", "arm64"]);
    let shown = skopeo(&server, None, &[], &name).await;
    assert_eq!(shown["Digest"], digest.as_str());
    assert_eq!(shown["Labels"]["org.opencontainers.image.version"], "1.2.0");

    let check = person.provider(&["check", &name, "--plain-http", "--python", "3.12"]).await;
    assert_eq!((check.code, check.stderr.as_str()), (0, ""));
    for line in [
        "linux/amd64: acme-provider 1.2.0 of ACME Inc.: remote::acme for the API inference",
        "  the server loads it as module: acme_provider",
        "  installed: helper-3-py3-none-any.whl, unless the server has what it brings",
    ] {
        assert!(check.stdout.lines().any(|found| found == line), "{}", check.stdout);
    }
}

#[tokio::test]
async fn native_wheels_go_into_the_image_of_their_machine() {
    let server = RegistryServer::builder().start().await.unwrap();
    let person = Person::new();
    let name = format!("{}/providers/native:1", server.host());
    let folder = person.file("wheels");
    acme().write(Path::new(&folder));
    let native = |machine: &str| {
        TestWheel::new("helper", "3")
            .tag(&format!("cp312-cp312-manylinux_2_28_{machine}"))
            .file("helper.py", machine)
    };
    native("x86_64").write(Path::new(&folder));
    let one = person.provider(&package(&folder, &name)).await;
    assert_eq!(one.code, 0, "{}", one.stderr);
    assert!(!one.stderr.contains("arm64"), "{}", one.stderr);
    native("aarch64").write(Path::new(&folder));
    let both = person.provider(&package(&folder, &name)).await;
    assert_eq!(both.code, 0, "{}", both.stderr);
    let check = person.provider(&["check", &name, "--plain-http"]).await;
    let lines: Vec<&str> = check.stdout.lines().filter(|line| line.contains("helper")).collect();
    assert_eq!(
        lines,
        [
            "  installed: helper-3-cp312-cp312-manylinux_2_28_x86_64.whl, unless the server has what it brings",
            "  installed: helper-3-cp312-cp312-manylinux_2_28_aarch64.whl, unless the server has what it brings",
        ]
    );
    let old = person.provider(&["check", &name, "--plain-http", "--python", "3.11"]).await;
    assert_eq!(old.code, 1);
    assert!(old.stderr.contains("linux/amd64: helper-3-cp312"), "{}", old.stderr);
    assert!(old.stderr.contains("the server runs Python 3.11"), "{}", old.stderr);
}

#[tokio::test]
async fn what_cannot_be_a_provider_is_refused_before_anything_is_written() {
    let person = Person::new();
    let name = "localhost:1/providers/acme:1";
    let folder = person.file("wheels");
    TestWheel::new("acme-provider", "1.2.0")
        .file("acme_provider/__init__.py", "")
        .write(Path::new(&folder));
    let run = person.provider(&package(&folder, name)).await;
    assert_eq!(run.code, 1);
    assert_eq!(
        run.stderr,
        "acme_provider-1.2.0-py3-none-any.whl: it has no module acme_provider.provider, which the \
         server imports\n    → add it, with get_provider_spec(), or name the configuration with \
         --config-class\n"
    );
    acme().lying("acme_provider/x.py", "a", "b").write(Path::new(&folder));
    let mut arguments = package(&folder, name);
    arguments[5] = "acme";
    let run = person.provider(&arguments).await;
    assert_eq!(run.code, 1);
    for words in ["acme_provider/x.py is not what RECORD says", "acme is no provider type"] {
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
    fs::remove_dir_all(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    let run = person.provider(&package(&folder, name)).await;
    assert_eq!(run.code, 2);
    assert!(run.stderr.contains("there are no wheels in it"), "{}", run.stderr);
}

#[tokio::test]
async fn a_new_provider_is_written_once() {
    let person = Person::new();
    let folder = person.file("mine");
    let first = person.provider(&["init", &folder]).await;
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert_eq!(first.stdout.lines().count(), 6);
    let second = person.provider(&["init", &folder]).await;
    assert_eq!(second.code, 2);
    assert!(second.stderr.contains("README.md is there already"), "{}", second.stderr);
}
