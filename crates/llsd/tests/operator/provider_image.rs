//! Images of external providers as the contract has them, made here file by file.

use std::fs;
use std::path::Path;
use std::process::Command;

use llsd_testkit::{TestImage, TestLayer, TestWheel};

/// What the image has below `/lls-provider`.
#[derive(Clone, Debug)]
pub(super) struct ProviderImage {
    files: Vec<(String, Vec<u8>)>,
}

impl ProviderImage {
    /// With this package file, and these wheels.
    pub(super) fn new(package_file: &str, wheels: &[&TestWheel]) -> Self {
        let file = ("lls-provider-spec.yaml".to_owned(), package_file.as_bytes().to_vec());
        let wheels =
            wheels.iter().map(|wheel| (format!("packages/{}", wheel.file_name()), wheel.bytes()));
        Self { files: std::iter::once(file).chain(wheels).collect() }
    }

    /// The provider of the template, in this version.
    pub(super) fn greeting(version: &str) -> Self {
        let wheel = greeting(version);
        let file = package_file("greeting", "greeting_provider", "inline::greeting", &wheel);
        Self::new(&file, &[&wheel])
    }

    pub(super) fn image(&self) -> TestImage {
        let named =
            self.files.iter().map(|(name, content)| (format!("lls-provider/{name}"), content));
        let named: Vec<_> = named.collect();
        let files: Vec<(&str, &[u8])> =
            named.iter().map(|(name, content)| (name.as_str(), content.as_slice())).collect();
        TestImage::new().layer(TestLayer::files(&files).gzip())
    }

    /// As a container has it.
    pub(super) fn write(&self, folder: &Path) {
        for (name, content) in &self.files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
    }
}

/// The wheel of what `llsd provider init greeting` writes, as pip would build it.
pub(super) fn greeting(version: &str) -> TestWheel {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("greeting");
    let mut init = Command::new(env!("CARGO_BIN_EXE_llsd"));
    assert!(init.args(["provider", "init"]).arg(&source).output().unwrap().status.success());
    let module = source.join("greeting_provider");
    let mut files: Vec<_> =
        fs::read_dir(module).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let wheel = TestWheel::new("greeting-provider", version).metadata("Requires-Python: >=3.12");
    files.iter().fold(wheel, |wheel, file| {
        let name = file.file_name().unwrap().to_string_lossy();
        wheel.file(&format!("greeting_provider/{name}"), fs::read(file).unwrap())
    })
}

/// The package file of a provider of tools.
pub(super) fn package_file(name: &str, module: &str, kind: &str, wheel: &TestWheel) -> String {
    format!(
        "apiVersion: llamastack.io/v1alpha1
kind: ProviderPackage
metadata: {{name: {name}, version: '1', vendor: us}}
spec:
  packageName: {module}
  providerType: {kind}
  api: tool_runtime
  wheelPath: packages/{}
",
        wheel.file_name()
    )
}
