//! `llsd provider package` and `check` against a real registry: what is written is what skopeo, the check
//! and the installer read.

use std::fs;
use std::path::Path;

use llsd_testkit::{RegistryServer, TestImage, TestLayer, TestWheel};

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
    for words in ["acme_provider/x.py is not what RECORD says", "acme is not a provider type"] {
        assert!(run.stderr.contains(words), "{}", run.stderr);
    }
    fs::remove_dir_all(&folder).unwrap();
    fs::create_dir(&folder).unwrap();
    let run = person.provider(&package(&folder, name)).await;
    assert_eq!(run.code, 2);
    let advice = format!(
        "there are no wheels in it; `pip wheel --wheel-dir {folder}/dist {folder}` builds them"
    );
    assert!(run.stderr.contains(&advice), "{}", run.stderr);
}

#[tokio::test]
async fn a_new_provider_is_written_once() {
    let person = Person::new();
    let folder = person.file("mine");
    let first = person.provider(&["init", &folder]).await;
    assert_eq!(first.code, 0, "{}", first.stderr);
    assert_eq!(first.stdout.lines().count(), 6);
    let text = |file: &str| fs::read_to_string(format!("{folder}/{file}")).unwrap();
    assert!(text("pyproject.toml").contains("name = \"mine-provider\"\n"));
    let provider = text("mine_provider/provider.py");
    for words in ["\"inline::mine\"", "\"mine_provider\"", "\"mine_provider.config.MineConfig\""] {
        assert!(provider.contains(words), "{words}: {provider}");
    }
    assert!(text("mine_provider/__init__.py").contains("from .tools import MineTools\n"));
    for file in first.stdout.lines() {
        let text = fs::read_to_string(file).unwrap();
        assert!(!text.contains("PROVIDER_"), "{file}: {text}");
    }
    let no_name = person.provider(&["init", &person.file("My Provider")]).await;
    assert_eq!(no_name.code, 2);
    assert!(
        no_name.stderr.contains("use lower-case letters, digits and `-`"),
        "{}",
        no_name.stderr
    );
    let second = person.provider(&["init", &folder]).await;
    assert_eq!(second.code, 2);
    assert!(second.stderr.contains("README.md is there already"), "{}", second.stderr);
}

#[tokio::test]
async fn wheels_that_make_no_image_are_refused_with_the_remedy() {
    let person = Person::new();
    let name = "localhost:1/providers/acme:1";
    let folder = person.file("wheels");
    acme().tag("cp312-cp312-manylinux_2_28_x86_64").write(Path::new(&folder));
    let helper = TestWheel::new("helper", "3").tag("cp312-cp312-manylinux_2_28_aarch64");
    helper.file("helper.py", "").write(Path::new(&folder));
    let two_machines = person.provider(&package(&folder, name)).await;
    assert_eq!(two_machines.code, 1);
    assert!(two_machines.stderr.contains("the wheels are not all for one machine"));
    assert!(two_machines.stderr.contains("`pip download --no-deps "), "{}", two_machines.stderr);

    let wheel = acme().write(Path::new(&person.file("one"))).display().to_string();
    let mut other_module = package(&wheel, name);
    other_module[7] = "acme_models";
    let other_module = person.provider(&other_module).await;
    assert_eq!(other_module.code, 1);
    assert!(
        other_module.stderr.contains("--module: no wheel has the module acme_models"),
        "{}",
        other_module.stderr
    );
    let by_digest = format!("localhost:1/providers/acme@sha256:{}", "0".repeat(64));
    let by_digest = person.provider(&package(&wheel, &by_digest)).await;
    assert_eq!((by_digest.code, by_digest.stderr.contains("a name with a tag")), (2, true));
    let broken = person.write("acme_provider-2-py3-none-any.whl", "no archive");
    let broken = person.provider(&package(&broken, name)).await;
    assert_eq!(broken.code, 1);
    assert!(broken.stderr.starts_with("acme_provider-2-py3-none-any.whl: "), "{}", broken.stderr);
    let missing = person.file("nowhere-1-py3-none-any.whl");
    let missing = person.provider(&package(&missing, name)).await;
    assert_eq!(missing.code, 2, "{}", missing.stderr);
}

#[tokio::test]
async fn a_folder_is_checked_like_the_image_that_is_made_of_it() {
    let person = Person::new();
    let folder = person.file("lls-provider");
    let check = async |python: &str| person.provider(&["check", &folder, "--python", python]).await;
    fs::create_dir(&folder).unwrap();
    let empty = check("3.12").await;
    assert_eq!(empty.code, 1);
    assert!(empty.stderr.contains(&format!("Missing {folder}/lls-provider-spec.yaml")));

    let wheel = acme().tag("cp312-cp312-manylinux_2_28_x86_64");
    let file = format!(
        "apiVersion: llamastack.io/v1alpha1\nkind: ProviderPackage\n\
         metadata: {{name: acme, version: '1.2.0', vendor: ACME}}\nspec:\n  \
         packageName: acme_provider\n  providerType: remote::acme\n  api: inference\n  \
         wheelPath: packages/{}\n",
        wheel.file_name()
    );
    fs::write(format!("{folder}/lls-provider-spec.yaml"), &file).unwrap();
    let without_wheel = check("3.12").await;
    assert_eq!(without_wheel.code, 1);
    assert!(without_wheel.stderr.contains(&wheel.file_name()), "{}", without_wheel.stderr);

    wheel.write(Path::new(&format!("{folder}/packages")));
    let good = check("3.12").await;
    assert_eq!((good.code, good.stderr.as_str()), (0, ""));
    let line = "acme 1.2.0 of ACME: remote::acme for the API inference";
    assert_eq!(good.stdout.lines().next(), Some(line));
    let old = check("3.11").await;
    assert_eq!(old.code, 1);
    assert!(old.stderr.contains("the server runs Python 3.11"), "{}", old.stderr);

    let file = person.write("file", "");
    let no_folder = person.provider(&["check", &file]).await;
    assert_eq!((no_folder.code, no_folder.stderr.contains("it is no folder")), (2, true));
    let no_name = person.provider(&["check", "No Image"]).await;
    assert_eq!(no_name.code, 2, "{}", no_name.stderr);
}

#[tokio::test]
async fn an_image_that_is_no_providers_is_told_from_one_that_is_broken() {
    let server = RegistryServer::builder().start().await.unwrap();
    let person = Person::new();
    let checked = async |name: &str, files: &[(&str, &[u8])]| {
        let image = TestImage::new().layer(TestLayer::files(files).gzip());
        server.push(name, "1", &image).await.unwrap();
        let name = format!("{}/{name}:1", server.host());
        let run = person.provider(&["check", &name, "--plain-http"]).await;
        assert_eq!(run.code, 1, "{}", run.stderr);
        run.stderr
    };
    let path = "lls-provider/lls-provider-spec.yaml";
    for (name, content, why) in
        [("bytes", &b"\xff"[..], "it is not UTF-8 text"), ("other", &b"kind: Pod\n"[..], "kind")]
    {
        let text = checked(name, &[(path, content)]).await;
        assert!(text.contains(why), "{text}");
    }
    let text = checked("elsewhere", &[("etc/other", b"x")]).await;
    assert!(text.contains("Missing /lls-provider/lls-provider-spec.yaml in image"), "{text}");
    assert!(text.contains("llsd provider package makes an image that has it"), "{text}");
}

#[tokio::test]
async fn a_package_without_a_provider_module_is_loaded_by_its_configuration() {
    let server = RegistryServer::builder().start().await.unwrap();
    let person = Person::new();
    let wheel = TestWheel::new("acme-provider", "1.2.0").file("acme_provider/__init__.py", "");
    let wheel = wheel.write(Path::new(&person.file("wheels"))).display().to_string();
    let name = format!("{}/providers/acme:1", server.host());
    let class = "acme_provider.config.AcmeConfig";
    let mut arguments = package(&wheel, &name);
    arguments.extend(["--config-class", class, "--api-dependency", "files"]);
    let made = person.provider(&arguments).await;
    assert_eq!(made.code, 0, "{}", made.stderr);
    let check = person.provider(&["check", &name, "--plain-http"]).await;
    let line = format!(
        "  the server loads it from providers.d, module acme_provider, configuration {class}"
    );
    assert!(check.stdout.lines().any(|found| found == line), "{}", check.stdout);
}

#[tokio::test]
async fn a_folder_is_written_instead_of_an_image() {
    let person = Person::new();
    let (wheels, folder) = (person.file("wheels"), person.file("out"));
    acme().write(Path::new(&wheels));
    TestWheel::new("helper", "3").file("helper.py", "").write(Path::new(&wheels));
    let flags = ["--api", "inference", "--type", "remote::acme", "--module", "acme_provider"];
    let package = [&["package", &wheels, "--output-dir", &folder][..], &flags].concat();
    let run = person.provider(&package).await;
    assert_eq!(run.code, 0, "{}", run.stderr);
    let expected = [
        "lls-provider-spec.yaml",
        "packages/acme_provider-1.2.0-py3-none-any.whl",
        "packages/helper-3-py3-none-any.whl",
    ];
    let expected: Vec<String> = expected.iter().map(|file| format!("{folder}/{file}")).collect();
    assert_eq!(run.stdout.lines().collect::<Vec<_>>(), expected);
    let check = person.provider(&["check", &folder, "--python", "3.12"]).await;
    assert_eq!((check.code, check.stderr.as_str()), (0, ""));
    let again = person.provider(&package).await;
    assert_eq!(again.code, 2);
    assert!(again.stderr.contains("the folder is not empty; give a new one"), "{}", again.stderr);

    // Wheels of each machine have a folder of their own.
    for machine in ["x86_64", "aarch64"] {
        let tag = format!("cp312-cp312-manylinux_2_28_{machine}");
        TestWheel::new("native", "1").tag(&tag).file("n.py", machine).write(Path::new(&wheels));
    }
    let both = person.file("both");
    let package = [&["package", &wheels, "-o", &both][..], &flags].concat();
    assert_eq!(person.provider(&package).await.code, 0);
    for machine in ["amd64", "arm64"] {
        let check = person.provider(&["check", &format!("{both}/{machine}")]).await;
        assert_eq!(check.code, 0, "{}", check.stderr);
    }
    let neither = person.provider(&[&["package", &wheels][..], &flags].concat()).await;
    assert_eq!(neither.code, 2);
}
