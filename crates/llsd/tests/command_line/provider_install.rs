//! `llsd provider install`: what an init container makes of a provider's image, and why it refuses one.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use llsd_testkit::TestWheel;
use tempfile::TempDir;

use crate::support::{Run, run};

/// A provider's folder as its image has it, and the folder that it is installed into.
struct Pod {
    folder: TempDir,
}

impl Pod {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// An image `name` with these wheels, the provider's own first.
    fn image(&self, name: &str, wheels: &[TestWheel]) -> String {
        let folder = self.path(name);
        let files: Vec<String> = wheels.iter().map(TestWheel::file_name).collect();
        for wheel in wheels {
            wheel.write(&folder.join("packages"));
        }
        let dependencies: Vec<String> =
            files[1..].iter().map(|file| format!("packages/{file}")).collect();
        let text = format!(
            "apiVersion: llamastack.io/v1alpha1\nkind: ProviderPackage\n\
             metadata: {{name: {name}, version: \"1\", vendor: ACME}}\nspec:\n  \
             packageName: {name}\n  providerType: remote::{name}\n  api: inference\n  \
             wheelPath: packages/{}\n  dependencyWheels: {dependencies:?}\n",
            files[0]
        );
        fs::write(folder.join("lls-provider-spec.yaml"), text).unwrap();
        folder.display().to_string()
    }

    fn install(&self, from: &str, more: &[&str]) -> Run {
        let to = self.path("to").display().to_string();
        let mut arguments = vec!["provider", "install", "--from", from, "--to", &to];
        if !more.contains(&"--server") {
            arguments.extend(["--python", "3.12", "--arch", "x86_64"]);
        }
        arguments.extend(more);
        run(&arguments, "")
    }

    fn file_text(&self, path: &str) -> String {
        fs::read_to_string(self.path("to").join(path)).unwrap_or_else(|error| format!("{error}"))
    }
}

/// A provider's own wheel.
fn provider(name: &str) -> TestWheel {
    TestWheel::new(name, "1.0")
        .file(&format!("{name}/__init__.py"), "")
        .file(&format!("{name}/provider.py"), "def get_provider_spec(): ...\n")
}

#[test]
fn wheels_are_unpacked_where_python_finds_them_and_listed() {
    let pod = Pod::new();
    let wheel = provider("acme")
        .file("acme-1.0.data/purelib/acme_more.py", "1")
        .file("acme-1.0.data/platlib/acme/native.txt", "2")
        .file("acme-1.0.data/scripts/acme-run", "#!python\nprint(3)\n")
        .file("acme-1.0.data/headers/acme.h", "4")
        .file("acme-1.0.data/data/share/acme.txt", "5")
        .file("acme-1.0.dist-info/entry_points.txt", "[console_scripts]\nacme = acme.cli:main\n");
    let helper = TestWheel::new("helper-lib", "2.1").file("helper.py", "6");
    let image = pod.image("acme", &[wheel, helper]);
    let installed = pod.install(&image, &["--provider", "my-acme"]);
    assert_eq!((installed.code, installed.stderr.as_str()), (0, ""));
    assert_eq!(installed.stdout, "acme 1.0 installed\nhelper-lib 2.1 installed\n");
    for (path, content) in [
        ("python-packages/acme/provider.py", "def get_provider_spec(): ...\n"),
        ("python-packages/acme_more.py", "1"),
        ("python-packages/acme/native.txt", "2"),
        ("python-packages/bin/acme-run", "#!/usr/bin/env python3\nprint(3)\n"),
        ("python-packages/include/acme/acme.h", "4"),
        ("python-packages/share/acme.txt", "5"),
        ("python-packages/helper.py", "6"),
        ("installed-packages.txt", "acme==1.0  # my-acme\nhelper-lib==2.1  # my-acme\n"),
    ] {
        assert_eq!(pod.file_text(path), content, "{path}");
    }
    assert!(pod.file_text("metadata/my-acme/lls-provider-spec.yaml").contains("remote::acme"));
    assert!(pod.file_text("python-packages/bin/acme").contains("from acme.cli import main"));
    let mode = fs::metadata(pod.path("to/python-packages/bin/acme")).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o755);

    let again = pod.install(&image, &["--provider", "my-acme"]);
    assert_eq!((again.code, again.stdout), (0, installed.stdout), "a container that starts again");
    assert_eq!(pod.file_text("installed-packages.txt").lines().count(), 2);
}

#[test]
fn what_the_server_has_is_left_out_and_what_nothing_has_is_said() {
    let pod = Pod::new();
    let facts = r#"{"python": "3.12.4", "machine": "x86_64", "libc": "glibc 2.36",
                    "packages": {"httpx": "0.28.1"}}"#;
    fs::write(pod.path("server.json"), facts).unwrap();
    let server = pod.path("server.json").display().to_string();
    let wheel = provider("acme").metadata("Requires-Dist: httpx>=0.27\nRequires-Dist: gone");
    let newer = TestWheel::new("httpx", "0.29").file("httpx.py", "newer");
    let image = pod.image("acme", &[wheel, newer]);
    let installed = pod.install(&image, &["--server", &server]);
    assert_eq!(installed.code, 0, "{}", installed.stderr);
    let said = "acme 1.0 installed\nhttpx 0.29 left out: the server has 0.28.1\n";
    assert_eq!(installed.stdout, said);
    assert_eq!(
        installed.stderr,
        "warning: acme needs gone, which neither the image nor the server has\n    \
         → if the provider does not load, put a wheel that fits into the image: `pip download --no-deps \
         'gone'`\n"
    );
    assert!(!pod.path("to/python-packages/httpx.py").exists());
}

#[test]
fn a_package_without_a_provider_module_gets_its_file_in_providers_d() {
    let pod = Pod::new();
    let wheel = TestWheel::new("plain", "1.0").file("plain/__init__.py", "");
    let image = pod.image("plain", &[wheel]);
    let refused = pod.install(&image, &[]);
    assert_eq!(
        refused.stderr,
        "plain-1.0-py3-none-any.whl: no wheel has the module plain.provider, which the server \
         imports\n    → add it, with get_provider_spec(), or set loader: providers.d and \
         configClass\n"
    );
    let file = Path::new(&image).join("lls-provider-spec.yaml");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(file, text + "  loader: providers.d\n  configClass: plain.Config\n").unwrap();
    let installed = pod.install(&image, &[]);
    assert_eq!(installed.code, 0, "{}", installed.stderr);
    let written: serde_json::Value =
        serde_json::from_str(&pod.file_text("providers.d/remote/inference/plain.yaml")).unwrap();
    assert_eq!(written["adapter_type"], "plain");
    assert_eq!(written["config_class"], "plain.Config");
}

/// Refused with exactly these words, and nothing is written.
#[track_caller]
fn refused(pod: &Pod, image: &str, more: &[&str], expected: &str) {
    let before = pod.path("to").exists();
    let run = pod.install(image, more);
    assert_eq!((run.code, run.stdout.as_str(), run.stderr.as_str()), (1, "", expected));
    assert_eq!(pod.path("to").exists(), before, "something was written");
}

#[test]
fn a_wheel_for_another_server_is_refused() {
    let pod = Pod::new();
    let elf = |machine: u8| {
        let mut head = vec![0_u8; 64];
        head[..6].copy_from_slice(b"\x7fELF\x02\x01");
        head[18] = machine;
        head
    };
    let old = provider("old").tag("cp311-cp311-manylinux_2_28_x86_64");
    refused(
        &pod,
        &pod.image("old", &[old]),
        &[],
        "old-1.0-cp311-cp311-manylinux_2_28_x86_64.whl: it is made for another Python \
         (cp311-cp311-manylinux_2_28_x86_64); the server runs Python 3.12\n    \
         → put a wheel for the server's Python into the image: `pip download --no-deps --only-binary=:all: \
         --python-version 3.12 --platform manylinux_2_28_x86_64 old==1.0` gets it, where there is one\n",
    );
    let arm = provider("arm").tag("cp312-cp312-manylinux_2_28_aarch64").file("arm/x.so", elf(183));
    refused(
        &pod,
        &pod.image("arm", &[arm]),
        &[],
        "arm-1.0-cp312-cp312-manylinux_2_28_aarch64.whl: it is made for another platform \
         (cp312-cp312-manylinux_2_28_aarch64); the server runs on x86_64\n    \
         → put a wheel for the server's platform into the image: `pip download --no-deps --only-binary=:all: \
         --python-version 3.12 --platform manylinux_2_28_x86_64 arm==1.0` gets it, where there is one\n",
    );
    let newer = provider("newer").metadata("Requires-Python: >=3.13");
    refused(
        &pod,
        &pod.image("newer", &[newer]),
        &[],
        "newer-1.0-py3-none-any.whl: it needs Python >=3.13; the server runs Python 3.12\n    \
         → use a release of the package for the server's Python: `pip index versions` lists them\n",
    );
    let hidden = provider("hidden").file("hidden/x.so", elf(183)).file("hidden/y.so", elf(62));
    refused(
        &pod,
        &pod.image("hidden", &[hidden]),
        &[],
        "hidden-1.0-py3-none-any.whl: hidden/x.so is native code for aarch64; the server runs on \
         x86_64\n    → build the wheel again with `pip wheel`, or get it again with `pip download`\n",
    );
}

const AGAIN: &str =
    "    → build the wheel again with `pip wheel`, or get it again with `pip download`\n";

#[test]
fn a_wheel_that_lies_is_refused_whole() {
    let pod = Pod::new();
    let lies = provider("lies")
        .lying("lies/a.py", "evil", "good")
        .unrecorded("lies/b.py", "more")
        .metadata("Requires-Python: >=3.9");
    refused(
        &pod,
        &pod.image("lies", &[lies]),
        &[],
        &format!(
            "lies-1.0-py3-none-any.whl: lies/a.py is not what RECORD says\n{AGAIN}\
             lies-1.0-py3-none-any.whl: RECORD does not name lies/b.py\n{AGAIN}"
        ),
    );
    let climbs = provider("climbs")
        .file("../../../etc/cron.d/evil", "x")
        .file("/etc/passwd", "x")
        .file("climbs\\..\\x", "x")
        .link("climbs/link", "/etc/passwd");
    refused(
        &pod,
        &pod.image("climbs", &[climbs]),
        &[],
        &format!(
            "climbs-1.0-py3-none-any.whl: ../../../etc/cron.d/evil climbs out of the wheel\n{AGAIN}\
             climbs-1.0-py3-none-any.whl: /etc/passwd is an absolute path\n{AGAIN}\
             climbs-1.0-py3-none-any.whl: climbs\\..\\x is no path of a file in a wheel\n{AGAIN}\
             climbs-1.0-py3-none-any.whl: climbs/link is no file but a link or a device\n{AGAIN}"
        ),
    );
    let bomb = provider("bomb").claiming("bomb/big", "x", u32::MAX - 1);
    refused(
        &pod,
        &pod.image("bomb", &[bomb]),
        &[],
        &format!("bomb-1.0-py3-none-any.whl: it unpacks to more than 2 GiB\n{AGAIN}"),
    );
    let hidden = "0".repeat(1 << 20);
    let longer = provider("longer").claiming("longer/big", &hidden, 10);
    let run = pod.install(&pod.image("longer", &[longer]), &[]);
    let said = "longer-1.0-py3-none-any.whl: longer/big: ";
    assert_eq!((run.code, run.stderr.starts_with(said)), (1, true), "{}", run.stderr);
    let other = pod.image("other", &[provider("other")]);
    fs::write(Path::new(&other).join("packages/other-1.0-py3-none-any.whl"), "no zip").unwrap();
    let run = pod.install(&other, &[]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.starts_with("other-1.0-py3-none-any.whl: it is no zip archive"));
}

#[test]
fn an_image_that_does_not_say_what_it_is_is_refused_in_the_words_of_the_contract() {
    let pod = Pod::new();
    let bare = pod.path("bare");
    fs::create_dir(&bare).unwrap();
    let bare = bare.display().to_string();
    refused(
        &pod,
        &bare,
        &["--image", "quay.io/me/bare:1"],
        "lls-provider-spec.yaml: Missing /lls-provider/lls-provider-spec.yaml in image \
         quay.io/me/bare:1\n    → llsd provider package makes an image that has it\n",
    );
    fs::write(Path::new(&bare).join("lls-provider-spec.yaml"), "kind: x\nspec: {a: [}\n").unwrap();
    let run = pod.install(&bare, &[]);
    assert_eq!(run.code, 1);
    assert!(run.stderr.starts_with("lls-provider-spec.yaml, line 2, column "), "{}", run.stderr);
    let acme = pod.image("acme", &[provider("acme")]);
    refused(
        &pod,
        &acme,
        &["--api", "safety", "--provider", "acme"],
        "lls-provider-spec.yaml: the image provides the API inference, not safety\n    \
         → move the provider to externalProviders.inference\n",
    );
    fs::remove_file(Path::new(&acme).join("packages/acme-1.0-py3-none-any.whl")).unwrap();
    refused(
        &pod,
        &acme,
        &[],
        "lls-provider-spec.yaml: /lls-provider/packages/acme-1.0-py3-none-any.whl is not in the \
         image\n    → put the wheel there, or take it out of the file\n",
    );
}

#[test]
fn two_providers_in_conflict_are_told_by_name_and_version() {
    let pod = Pod::new();
    let with = |name: &str, version: &str| {
        let needs = format!("Requires-Dist: shared=={version}");
        let shared = TestWheel::new("shared", version).file("shared.py", version);
        pod.image(name, &[provider(name).metadata(&needs), shared])
    };
    let (one, same, other) = (with("one", "1.0"), with("same", "1.0"), with("other", "2.0"));
    assert_eq!(pod.install(&one, &[]).code, 0);
    let shared = pod.install(&same, &[]);
    let said = "same 1.0 installed\nshared 1.0 left out: the provider one has 1.0\n";
    assert_eq!((shared.code, shared.stdout.as_str()), (0, said));
    let before = pod.file_text("installed-packages.txt");
    refused(
        &pod,
        &other,
        &[],
        "shared-2.0-py3-none-any.whl: dependency conflict: the provider other brings shared 2.0, \
         the provider one has shared 1.0; other needs shared==2.0\n    → use releases that agree on \
         shared; installed-packages.txt lists what is installed\n",
    );
    assert_eq!(pod.file_text("installed-packages.txt"), before);
    assert_eq!(
        pod.file_text("python-packages/shared.py"),
        "1.0",
        "the first provider's is untouched"
    );
    // Another distribution with a module of the same name.
    let double = TestWheel::new("double", "1.0")
        .file("double/provider.py", "")
        .file("shared.py", "of my own");
    refused(
        &pod,
        &pod.image("double", &[double]),
        &[],
        "double-1.0-py3-none-any.whl: the provider one has another file shared.py\n    \
         → leave one of them out: Python could import only one\n",
    );
}

#[test]
fn a_tree_that_only_labels_describe_is_copied_beside_what_wheels_bring() {
    let pod = Pod::new();
    let folder = pod.path("labelled/packages");
    for (path, text) in [("acme/__init__.py", "1"), ("acme-1.0.dist-info/METADATA", "")] {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
    std::os::unix::fs::symlink("acme", folder.join("alias")).unwrap();
    let from = pod.path("labelled").display().to_string();
    let labels = ["--api", "inference", "--type", "remote::acme", "--module", "acme"];
    let as_provider = |id: &str, more: &[&str]| {
        pod.install(&from, &[&["--provider", id][..], &labels[..], more].concat())
    };
    for _ in 0..2 {
        let done = as_provider("one", &["--config-class", "acme.Config"]);
        assert_eq!((done.code, done.stderr.as_str()), (0, ""), "also a second time");
    }
    assert_eq!(pod.file_text("unpacked/one/acme/__init__.py"), "1");
    assert_eq!(pod.file_text("unpacked/one/alias/__init__.py"), "1");
    assert_eq!(pod.file_text("installed-packages.txt"), "acme==1.0  # one\n");
    assert!(pod.file_text("providers.d/remote/inference/acme.yaml").contains("acme.Config"));

    fs::rename(folder.join("acme-1.0.dist-info"), folder.join("acme-2.0.dist-info")).unwrap();
    let clash = as_provider("two", &[]);
    assert_eq!(clash.code, 1);
    let words = "acme-2.0.dist-info: it brings acme 2.0, the provider one has 1.0, and without RECORD \
                 its files cannot be left out\n";
    assert!(clash.stderr.starts_with(words), "{}", clash.stderr);
    let bare = pod.install(&from, &["--provider", "three", "--api", "inference"]);
    assert_eq!(bare.code, 1, "without labels nobody knows what it is");
    assert!(bare.stderr.contains("Missing "), "{}", bare.stderr);
}

/// A tree as `pip install --target` makes it, with RECORD.
fn write_distribution(folder: &Path, name: &str, version: &str, requires: &str) {
    let info = format!("{name}-{version}.dist-info");
    let hash = "sha256=47DEQpj8HBSa-_TImW-5JCeuQeRkm5NMpJWZG3hSuFU";
    let metadata = format!("Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{requires}");
    let record =
        format!("{name}/__init__.py,{hash},0\n{info}/METADATA,{hash},0\n{info}/RECORD,,\n");
    for (path, text) in [
        (format!("{name}/__init__.py"), ""),
        (format!("{info}/METADATA"), &metadata),
        (format!("{info}/RECORD"), &record),
    ] {
        let file = folder.join(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }
}

#[test]
fn a_tree_does_not_shadow_what_the_server_has() {
    let pod = Pod::new();
    let server = pod.path("server.json").display().to_string();
    let facts = r#"{"python": "3.12.11", "machine": "x86_64", "packages": {"pyjwt": "2.10.1"}}"#;
    fs::write(&server, facts).unwrap();
    let folder = pod.path("labelled/packages");
    write_distribution(&folder, "pyjwt", "1.7.1", "");
    let from = pod.path("labelled").display().to_string();
    let labels = ["--provider", "one", "--api", "inference", "--type", "remote::acme"];
    let install = || {
        let more = [&labels[..], &["--module", "acme", "--server", &server]].concat();
        pod.install(&from, &more)
    };

    write_distribution(&folder, "acme", "1.0", "Requires-Dist: pyjwt>=1.7\n");
    let done = install();
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    assert_eq!(done.stdout, "acme 1.0 copied\npyjwt 1.7.1 left out: the server has 2.10.1\n");
    assert!(pod.path("to/unpacked/one/acme/__init__.py").exists());
    assert!(!pod.path("to/unpacked/one/pyjwt").exists(), "nor an empty package of that name");
    assert_eq!(pod.file_text("installed-packages.txt"), "acme==1.0  # one\n");

    write_distribution(&folder, "acme", "1.0", "Requires-Dist: pyjwt<2\n");
    let refused = install();
    assert_eq!(refused.code, 1);
    let words = "pyjwt-1.7.1.dist-info: dependency conflict: the provider one brings pyjwt 1.7.1, the \
                 server has pyjwt 2.10.1; acme needs pyjwt<2\n";
    assert!(refused.stderr.starts_with(words), "{}", refused.stderr);
}

#[test]
fn the_program_copies_itself_for_images_that_have_none() {
    let pod = Pod::new();
    let copy = pod.path("llsd");
    let done = run(&["provider", "copy-program", &copy.display().to_string()], "");
    assert_eq!((done.code, done.stderr.as_str()), (0, ""));
    let said = std::process::Command::new(&copy).arg("version").output().unwrap();
    assert!(said.status.success());
    assert!(!pod.path("llsd.new").exists());
}
