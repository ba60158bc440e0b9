//! The package file for given wheels, as `llsd provider package` writes it.

use serde_json::{Map, Value, json};

use crate::layout::PACKAGES;
use crate::package_file::{API_VERSION, KIND, Loader, ProviderPackage};

impl ProviderPackage {
    /// The file's text: JSON scalars in the form of YAML, so that every value is a text.
    pub fn to_yaml(&self) -> String {
        let text = |value: &str| Value::from(value).to_string();
        let mut lines = vec![
            format!("apiVersion: {API_VERSION}"),
            format!("kind: {KIND}"),
            "metadata:".to_owned(),
        ];
        let mut metadata = Map::new();
        metadata.insert("name".into(), json!(self.name));
        metadata.insert("version".into(), json!(self.version));
        metadata.insert("vendor".into(), json!(self.vendor));
        for (key, value) in [("description", &self.description), ("maintainer", &self.maintainer)] {
            metadata.extend(value.as_ref().map(|value| (key.to_owned(), json!(value))));
        }
        lines.extend(metadata.iter().map(|(key, value)| format!("  {key}: {value}")));
        lines.push("spec:".to_owned());
        lines.push(format!("  packageName: {}", text(&self.package_name)));
        lines.push(format!("  providerType: {}", text(&self.provider_type)));
        lines.push(format!("  api: {}", text(&self.api)));
        lines.push(format!("  wheelPath: {}", text(&format!("{PACKAGES}/{}", self.wheel))));
        if !self.dependency_wheels.is_empty() {
            lines.push("  dependencyWheels:".to_owned());
            let wheels = self.dependency_wheels.iter();
            lines.extend(wheels.map(|file| format!("  - {}", text(&format!("{PACKAGES}/{file}")))));
        }
        if let Loader::ProvidersD { config_class, api_dependencies } = &self.loader {
            lines.push("  loader: providers.d".to_owned());
            lines.push(format!("  configClass: {}", text(config_class)));
            if !api_dependencies.is_empty() {
                lines.push(format!("  apiDependencies: {}", json!(api_dependencies)));
            }
        }
        lines.join("\n") + "\n"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::package_file::PackageFile;

    #[test]
    fn what_is_written_is_what_is_read() {
        let package = ProviderPackage {
            name: "acme".into(),
            version: "1.10".into(),
            vendor: "ACME: \"yes\"".into(),
            description: Some("# no comment".into()),
            maintainer: None,
            package_name: "acme_provider".into(),
            provider_type: "remote::acme".into(),
            api: "tool_runtime".into(),
            wheel: "acme-1.10-py3-none-any.whl".into(),
            dependency_wheels: vec!["b-1-py3-none-any.whl".into()],
            loader: Loader::ProvidersD {
                config_class: "acme_provider.Config".into(),
                api_dependencies: vec!["files".into()],
            },
        };
        let file = PackageFile::parse(&package.to_yaml()).unwrap();
        assert_eq!(file.packages, [package]);
    }
}
