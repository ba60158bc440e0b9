//! Images of external providers, made as docs/external-providers-authors.md says, with wheels that need no network.

use std::path::Path;

use llsd_node::REGISTRY;
use llsd_node::product::Product;
use llsd_testkit::TestWheel;

/// What an image says that it provides.
pub struct ProviderImage<'a> {
    pub name: &'a str,
    pub version: &'a str,
    pub api: &'a str,
    pub provider_type: &'a str,
    pub module: &'a str,
    /// The module's files, and what is in them.
    pub files: &'a [(&'a str, &'a str)],
}

impl ProviderImage<'_> {
    /// Pushes it with the command line, and gives the image as pods name it.
    pub fn push(&self, product: &Product) -> String {
        let Self { name, version, module, .. } = self;
        let folder = tempfile::tempdir().unwrap();
        let mut wheel = TestWheel::new(name, version).metadata("Requires-Python: >=3.12");
        for (file, content) in self.files {
            wheel = wheel.file(&format!("{module}/{file}"), content);
        }
        wheel.write(folder.path());
        let image = format!("providers/{name}:{version}");
        let target = format!("{}/{image}", product.node.registry());
        let wheels = folder.path().to_str().unwrap();
        let what = ["--api", self.api, "--type", self.provider_type, "--module", module];
        let to = ["-t", &target, "--plain-http"];
        product.llsd(&[&["provider", "package", wheels], &what[..], &to].concat()).unwrap();
        format!("{REGISTRY}/{image}")
    }
}

/// The provider that `llsd provider init greeting` begins with, whose `provider.py` also has these lines before its own.
pub fn greeting(product: &Product, version: &str, before: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let source = folder.path().join("greeting");
    product.llsd(&["provider", "init", source.to_str().unwrap()]).unwrap();
    let read = |file: &str| {
        let path: &Path = &source.join("greeting_provider").join(file);
        std::fs::read_to_string(path).unwrap()
    };
    let provider = format!("{before}{}", read("provider.py"));
    ProviderImage {
        name: "greeting",
        version,
        api: "tool_runtime",
        provider_type: "inline::greeting",
        module: "greeting_provider",
        files: &[
            ("__init__.py", &read("__init__.py")),
            ("config.py", &read("config.py")),
            ("provider.py", &provider),
            ("tools.py", &read("tools.py")),
        ],
    }
    .push(product)
}

/// A provider of models for the sample external-providers.
pub fn custom(product: &Product) -> String {
    ProviderImage {
        name: "custom",
        version: "1",
        api: "inference",
        provider_type: "remote::custom",
        module: "custom_provider",
        files: &[
            ("__init__.py", include_str!("custom_provider/__init__.py")),
            ("adapter.py", include_str!("custom_provider/adapter.py")),
            ("config.py", include_str!("custom_provider/config.py")),
            ("provider.py", include_str!("custom_provider/provider.py")),
        ],
    }
    .push(product)
}
