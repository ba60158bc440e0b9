//! Which packages are installed for a configuration, and which providers of its base are left out because theirs are
//! not. The installed server itself says what each provider type needs.

use std::collections::BTreeSet;

use llsd_plan::config::ListedProvider;
use serde::{Deserialize, Serialize};

/// APIs whose providers of the base keep state in the server's process: small packages, and a server without them can
/// neither keep files nor search them.
const STATE: [&str; 2] = ["vector_io", "files"];
/// A gigabyte, which most configurations need for nothing but the base's own embedding model.
const PYTORCH: &str = "torch";

/// A provider type of the installed server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledType {
    pub api: String,
    #[serde(rename = "type")]
    pub kind: String,
    /// In the words of pip, perhaps with options.
    pub packages: Vec<String>,
    /// The package that its code lacks with what is installed, where that was tried.
    pub missing: Option<String>,
}

/// Packages to install beside the server's own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Demand {
    /// Those that are installed together.
    pub plain: BTreeSet<String>,
    /// Those with options of their own, each a command line of pip.
    pub with_options: BTreeSet<String>,
}

/// A provider of the base that the server here does not have.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LeftOut {
    pub api: String,
    pub id: String,
    pub why: String,
}

/// What of the base the server here does not have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Without {
    pub providers: Vec<LeftOut>,
    /// APIs that none of their providers is left of.
    pub apis: BTreeSet<String>,
}

/// What becomes of the providers of a configuration.
#[derive(Debug)]
pub struct PackageChoice {
    pub demand: Demand,
    pub without: Without,
}

/// Decides on packages and providers. `is_meant` says of a provider whether the resource asks for it; the others are
/// of the base.
pub fn choose(
    providers: &[ListedProvider],
    types: &[InstalledType],
    is_meant: impl Fn(&ListedProvider) -> bool,
) -> PackageChoice {
    let mut choice = PackageChoice { demand: Demand::default(), without: Without::default() };
    let mut kept: BTreeSet<&str> = BTreeSet::new();
    for provider in providers {
        let fits = |it: &&InstalledType| it.api == provider.api && it.kind == provider.kind;
        let Some(known) = types.iter().find(fits) else {
            kept.insert(&provider.api); // which the server refuses in its own words
            continue;
        };
        let keeps_state = STATE.contains(&known.api.as_str()) && known.kind.starts_with("inline::");
        if is_meant(provider) || keeps_state && !needs_pytorch(known) {
            choice.demand.add(&known.packages);
            kept.insert(&provider.api);
        } else if let Some(why) = why_not(known) {
            let (api, id) = (provider.api.clone(), provider.id.clone());
            choice.without.providers.push(LeftOut { api, id, why });
        } else {
            kept.insert(&provider.api);
        }
    }
    let emptied = choice.without.providers.iter().map(|it| it.api.clone());
    choice.without.apis = emptied.filter(|api| !kept.contains(api.as_str())).collect();
    choice
}

/// Why a provider of the base is not there without its own packages. Most import what the server itself brings.
fn why_not(known: &InstalledType) -> Option<String> {
    if needs_pytorch(known) {
        return Some("it needs PyTorch".to_owned());
    }
    known.missing.as_ref().map(|package| format!("it needs {package}"))
}

fn needs_pytorch(known: &InstalledType) -> bool {
    let mut words = known.packages.iter().flat_map(|package| package.split_whitespace());
    words.any(|word| word.split(['<', '>', '=', '!', '~', '[']).next() == Some(PYTORCH))
}

impl Demand {
    fn add(&mut self, packages: &[String]) {
        for package in packages {
            let has_options = package.split_whitespace().any(|word| word.starts_with('-'));
            let several = if has_options { &mut self.with_options } else { &mut self.plain };
            several.insert(package.clone());
        }
    }

    /// Whether a package of this name is asked for, so that nothing may keep it out.
    pub fn asks_for(&self, package: &str) -> bool {
        let mut words =
            self.plain.iter().chain(&self.with_options).flat_map(|it| it.split_whitespace());
        words.any(|word| word.split(['<', '>', '=', '!', '~', '[']).next() == Some(package))
    }

    /// One line each, for the record of what an environment was made from.
    pub fn lines(&self) -> impl Iterator<Item = &str> {
        self.plain.iter().chain(&self.with_options).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn provider(api: &str, kind: &str) -> ListedProvider {
        let id = kind.rsplit("::").next().unwrap().to_owned();
        let (api, kind) = (api.to_owned(), kind.to_owned());
        ListedProvider { api, id, kind, condition: None, variables: BTreeSet::new() }
    }

    fn known(api: &str, kind: &str, packages: &[&str], missing: Option<&str>) -> InstalledType {
        InstalledType {
            api: api.to_owned(),
            kind: kind.to_owned(),
            packages: packages.iter().map(ToString::to_string).collect(),
            missing: missing.map(str::to_owned),
        }
    }

    const TORCH: &str =
        "torch torchvision torchao>=0.12.0 --extra-index-url https://example.com/cpu";

    fn types() -> Vec<InstalledType> {
        vec![
            known("inference", "remote::vllm", &[], None),
            known("inference", "remote::ollama", &["ollama", "aiohttp"], Some("ollama")),
            known("inference", "inline::sentence-transformers", &[TORCH, "einops"], None),
            known("inference", "remote::together", &["together>=2"], Some("together>=2")),
            known("vector_io", "inline::faiss", &["faiss-cpu", "chardet"], Some("chardet")),
            known("vector_io", "remote::qdrant", &["qdrant-client"], Some("qdrant_client")),
            known("responses", "inline::builtin", &["matplotlib", "pandas"], None),
        ]
    }

    #[test]
    fn the_resource_gets_all_its_packages_and_the_base_what_is_small_or_there() {
        let providers: Vec<ListedProvider> =
            types().iter().map(|it| provider(&it.api, &it.kind)).collect();
        let choice = choose(&providers, &types(), |provider| provider.id == "ollama");
        let plain: Vec<&str> = choice.demand.plain.iter().map(String::as_str).collect();
        assert_eq!(plain, ["aiohttp", "chardet", "faiss-cpu", "ollama"]);
        assert_eq!(choice.demand.with_options, BTreeSet::new());
        let left: Vec<(&str, &str)> =
            choice.without.providers.iter().map(|it| (&*it.id, &*it.why)).collect();
        let expected = [
            ("sentence-transformers", "it needs PyTorch"),
            ("together", "it needs together>=2"),
            ("qdrant", "it needs qdrant_client"),
        ];
        assert_eq!(left, expected);
        assert_eq!(choice.without.apis, BTreeSet::new());
    }

    #[test]
    fn an_api_goes_with_the_last_of_its_providers() {
        let providers =
            [provider("inference", "remote::together"), provider("files", "remote::new")];
        let choice = choose(&providers, &types(), |_| false);
        assert_eq!(choice.without.apis, BTreeSet::from(["inference".to_owned()]));
    }

    #[test]
    fn pytorch_is_installed_where_it_is_asked_for() {
        let providers = [provider("inference", "inline::sentence-transformers")];
        let choice = choose(&providers, &types(), |_| true);
        assert_eq!(choice.demand.with_options.iter().collect::<Vec<_>>(), [TORCH]);
        assert_eq!(choice.demand.plain.iter().collect::<Vec<_>>(), ["einops"]);
        assert!(choice.demand.asks_for("torchao") && choice.demand.asks_for("einops"));
        assert!(!choice.demand.asks_for("torc"));
        assert_eq!(choice.without, Without::default());
    }
}
