//! The file of the server's `providers.d` for a package that has no module `provider`.

use serde_json::{Value, json};

use crate::package_file::{Loader, ProviderPackage};

/// The file's path below `providers.d`, and its text, which is JSON and so YAML too.
pub fn providers_d(package: &ProviderPackage) -> Option<(String, String)> {
    let Loader::ProvidersD { config_class, api_dependencies } = &package.loader else {
        return None;
    };
    let (kind, name) = package.provider_type.split_once("::")?;
    let mut spec = json!({
        "module": package.package_name,
        "config_class": config_class,
        "pip_packages": [],
        "api_dependencies": api_dependencies,
    });
    if kind == "remote" {
        spec["adapter_type"] = Value::from(name);
    }
    let path = format!("{kind}/{}/{name}.yaml", package.api);
    Some((path, format!("{spec:#}\n")))
}
