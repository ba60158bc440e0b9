//! `lls-provider-spec.yaml`: what a provider's image says it provides. Everything that is wrong with it
//! is said at once, with its line.

use llsd_yaml::{Duplicate, FieldPath, Tree, documents};
use serde_json::Value;

use crate::fault::Fault;
use crate::layout::{FILE, FOLDER, PACKAGES};
use crate::wheel_name::FileName;

pub(crate) const API_VERSION: &str = "llamastack.io/v1alpha1";
pub(crate) const KIND: &str = "ProviderPackage";
/// What a file may hold: one provider a document.
const MOST: usize = 32;
const REMEDY: &str = "docs/external-providers-authors.md shows the file";

/// How the server finds the provider.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Loader {
    /// The package has a module `provider` with `get_provider_spec()`.
    Module,
    /// It has none: a file in the server's `providers.d` says the same.
    ProvidersD { config_class: String, api_dependencies: Vec<String> },
}

/// One provider of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProviderPackage {
    pub name: String,
    pub version: String,
    pub vendor: String,
    pub description: Option<String>,
    pub maintainer: Option<String>,
    /// The Python module.
    pub package_name: String,
    pub provider_type: String,
    pub api: String,
    /// The main wheel's file name, in the folder `packages`.
    pub wheel: String,
    pub dependency_wheels: Vec<String>,
    pub loader: Loader,
}

/// The whole file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackageFile {
    pub packages: Vec<ProviderPackage>,
}

impl PackageFile {
    /// Everything that is wrong with the file.
    pub fn parse(text: &str) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut packages = Vec::new();
        let all = documents(text);
        if all.is_empty() || all.len() > MOST {
            let message = format!("it has {} documents instead of one", all.len());
            return Err(vec![Fault::new(FILE, message, REMEDY)]);
        }
        for document in all {
            match document.content {
                Ok(tree) => packages.extend(Reading { tree: &tree, faults: &mut faults }.package()),
                Err(fault) => faults.push(Fault::new(
                    format!("{}, {}", FILE, fault.at),
                    fault.message,
                    fault.remedy,
                )),
            }
        }
        if faults.is_empty() { Ok(Self { packages }) } else { Err(faults) }
    }

    /// The provider that is meant by an id among those of an API: the only one, or the one that is
    /// called so.
    pub fn find(&self, api: &str, id: &str) -> Option<&ProviderPackage> {
        self.find_among(|provided| same(provided, api), id)
    }

    /// The same where the caller knows which spellings of an API are one.
    pub fn find_among(&self, is_api: impl Fn(&str) -> bool, id: &str) -> Option<&ProviderPackage> {
        let of_api: Vec<_> = self.packages.iter().filter(|one| is_api(&one.api)).collect();
        let is_called = |one: &&&ProviderPackage| {
            one.name == id || one.provider_type.rsplit("::").next() == Some(id)
        };
        match of_api[..] {
            [only] => Some(only),
            _ => of_api.iter().find(is_called).copied(),
        }
    }
}

/// `vectorIo` and `vector_io` are one API.
fn same(one: &str, other: &str) -> bool {
    let plain = |api: &str| api.replace('_', "").to_ascii_lowercase();
    plain(one) == plain(other)
}

/// `remote::acme`, as the server spells types.
pub fn check_type(text: &str) -> Result<(), String> {
    let name = text.strip_prefix("remote::").or_else(|| text.strip_prefix("inline::"));
    let is_name = |name: &str| {
        !name.is_empty()
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || "-_".contains(c))
    };
    if name.is_some_and(is_name) {
        return Ok(());
    }
    Err(format!("{text} is not a provider type such as remote::acme or inline::acme"))
}

/// What the parts of a document may hold.
const PARTS: [(&str, &[&str]); 3] = [
    ("", &["apiVersion", "kind", "metadata", "spec"]),
    ("metadata", &["name", "version", "vendor", "description", "maintainer"]),
    (
        "spec",
        &[
            "packageName",
            "providerType",
            "api",
            "wheelPath",
            "dependencyWheels",
            "loader",
            "configClass",
            "apiDependencies",
        ],
    ),
];

/// A document under way, with everything that was found to be wrong.
struct Reading<'a> {
    tree: &'a Tree,
    faults: &'a mut Vec<Fault>,
}

impl Reading<'_> {
    fn package(mut self) -> Option<ProviderPackage> {
        let before = self.faults.len();
        self.only_known();
        for (path, wanted) in [("apiVersion", API_VERSION), ("kind", KIND)] {
            if self.needed(path).is_some_and(|found| found != wanted) {
                self.fault(path, format!("must be {wanted}"));
            }
        }
        let [name, version, vendor] =
            ["metadata.name", "metadata.version", "metadata.vendor"].map(|path| self.needed(path));
        let [description, maintainer] =
            ["metadata.description", "metadata.maintainer"].map(|path| self.text(path));
        let package_name = self.needed("spec.packageName");
        let provider_type = self.needed("spec.providerType");
        let api = self.needed("spec.api");
        let wheel = self.needed("spec.wheelPath");
        if let Some(module) = package_name.as_deref().filter(|module| !is_module(module)) {
            self.fault("spec.packageName", format!("{module} is no Python module"));
        }
        if let Some(Err(message)) = provider_type.as_deref().map(check_type) {
            self.fault("spec.providerType", message);
        }
        let is_api = |api: &str| api.chars().all(|c| c.is_ascii_alphabetic() || c == '_');
        if let Some(api) = api.as_deref().filter(|api| !is_api(api)) {
            self.fault("spec.api", format!("{api} is no API"));
        }
        let wheel = wheel.map(|path| self.wheel("spec.wheelPath", &path));
        let listed = self.texts("spec.dependencyWheels");
        let dependency_wheels: Vec<_> =
            listed.iter().map(|path| self.wheel("spec.dependencyWheels", path)).collect();
        let loader = self.loader();
        if self.faults.len() > before {
            return None;
        }
        Some(ProviderPackage {
            name: name?,
            version: version?,
            vendor: vendor?,
            description,
            maintainer,
            package_name: package_name?,
            provider_type: provider_type?,
            api: api?,
            wheel: wheel?,
            dependency_wheels,
            loader: loader?,
        })
    }

    fn only_known(&mut self) {
        for Duplicate { path, first, .. } in self.tree.duplicates() {
            self.fault(&path.to_string(), format!("already set on line {}", first.line));
        }
        for (part, known) in PARTS {
            let json = self.find(part).map(Tree::to_json);
            match json {
                Some(Value::Object(fields)) => {
                    for key in fields.keys().filter(|key| !known.contains(&key.as_str())) {
                        let path =
                            if part.is_empty() { key.clone() } else { format!("{part}.{key}") };
                        self.fault(&path, "there is no such field");
                    }
                }
                Some(_) => self.fault(part, "must be a mapping"),
                // Each field that is needed is named by itself.
                None => {}
            }
        }
    }

    fn loader(&mut self) -> Option<Loader> {
        let config_class = self.text("spec.configClass");
        let api_dependencies = self.texts("spec.apiDependencies");
        match self.text("spec.loader").as_deref() {
            None | Some("module") if config_class.is_none() && api_dependencies.is_empty() => {
                Some(Loader::Module)
            }
            None | Some("module") => {
                let message = "configClass and apiDependencies go with the loader providers.d";
                self.fault("spec.loader", message);
                None
            }
            Some("providers.d") => {
                let Some(config_class) = config_class.filter(|class| is_module(class)) else {
                    let message = "the loader providers.d needs a class, such as acme.Config";
                    self.fault("spec.configClass", message);
                    return None;
                };
                Some(Loader::ProvidersD { config_class, api_dependencies })
            }
            Some(other) => {
                self.fault("spec.loader", format!("{other} is neither module nor providers.d"));
                None
            }
        }
    }

    fn find(&self, path: &str) -> Option<&Tree> {
        let mut keys = path.split('.').filter(|key| !key.is_empty());
        let found = keys.try_fold(self.tree, |tree, key| tree.get(key));
        found.filter(|tree| !tree.is_null())
    }

    fn needed(&mut self, path: &str) -> Option<String> {
        let is_there = self.find(path).is_some();
        let found = self.text(path).filter(|text| !text.is_empty());
        if found.is_none() && (!is_there || self.find(path).and_then(Tree::text) == Some("")) {
            self.fault(path, "is missing");
        }
        found
    }

    fn text(&mut self, path: &str) -> Option<String> {
        let tree = self.find(path)?;
        let text = tree.text().map(str::to_owned);
        if text.is_none() {
            self.fault(path, "must be a text; put it into quotes");
        }
        text
    }

    fn texts(&mut self, path: &str) -> Vec<String> {
        let Some(tree) = self.find(path) else { return Vec::new() };
        let text = |item: &Tree| item.text().map(str::to_owned);
        let texts: Option<Vec<String>> =
            tree.items().and_then(|items| items.iter().map(text).collect());
        if texts.is_none() {
            self.fault(path, "must be a list of texts");
        }
        texts.unwrap_or_default()
    }

    /// The name of a wheel in the folder `packages`, by whatever path the file names it.
    fn wheel(&mut self, field: &str, path: &str) -> String {
        let below = path.strip_prefix(&format!("{FOLDER}/")).unwrap_or(path);
        let below = below.strip_prefix("./").unwrap_or(below);
        let name = below.strip_prefix(&format!("{PACKAGES}/")).unwrap_or(below);
        if name.contains('/') {
            self.fault(field, format!("{path} does not lie in {FOLDER}/{PACKAGES}"));
        } else if let Err(why) = name.parse::<FileName>() {
            self.fault(field, format!("{path}: {why}"));
        }
        name.to_owned()
    }

    fn fault(&mut self, path: &str, message: impl Into<String>) {
        let field = path.split('.').fold(FieldPath::root(), |field, key| field.key(key));
        let place = format!("{FILE}, {}: {path}", self.tree.position(&field));
        self.faults.push(Fault::new(place, message, REMEDY));
    }
}

/// `acme.provider`.
fn is_module(text: &str) -> bool {
    text.split('.').all(|part| {
        part.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && part.chars().all(|c| c.is_alphanumeric() || c == '_')
    })
}

#[cfg(test)]
mod tests;
