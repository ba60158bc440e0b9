//! Which wheels of an image are installed: what the server or an earlier provider has already is left
//! out where it will do, and what cannot be there twice is a conflict, told by name and version.

use std::collections::{BTreeMap, BTreeSet};

use pep440_rs::Version;

use crate::fault::Fault;
use crate::installed::{Installed, Package};
use crate::layout::INSTALLED;
use crate::python::{Requirement, Server, normalised};
use crate::wheel::Metadata;

/// What becomes of a wheel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    Install,
    /// There already: of this version, and whose it is.
    There {
        version: Version,
        whose: String,
    },
}

/// What becomes of the wheels of one provider.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    /// In the order of the wheels.
    pub decisions: Vec<Decision>,
    /// Why nothing is installed.
    pub conflicts: Vec<Fault>,
    /// Requirements that nothing meets. Authors name more than their code imports, so the import
    /// itself is the judge.
    pub warnings: Vec<Fault>,
}

/// A wheel as far as the choice needs it.
#[derive(Clone, Debug)]
pub struct Candidate<'a> {
    pub file: &'a str,
    pub metadata: &'a Metadata,
    /// The provider's own, of which no other version will do.
    pub is_main: bool,
    /// What it installs, with hashes.
    pub files: Vec<(String, String)>,
}

/// The files that are installed already: their hashes, and whose they are.
pub type Taken = BTreeMap<String, (String, String)>;

/// Decides on the wheels of a provider.
pub fn select(
    provider: &str,
    wheels: &[Candidate<'_>],
    server: &Server,
    installed: &Installed,
    taken: &Taken,
) -> Selection {
    let mut selection = Selection::default();
    let requirements = requirements(wheels, server);
    let mut versions: BTreeMap<String, (Version, &str)> = BTreeMap::new();
    for wheel in wheels {
        let (name, version) = (normalised(&wheel.metadata.name), &wheel.metadata.version);
        if let Some((other, file)) = versions.get(&name) {
            selection.conflicts.push(Fault::new(
                wheel.file,
                format!("the image brings {name} twice: {version}, and {other} in {file}"),
                "leave one of them out of the image",
            ));
        }
        versions.insert(name.clone(), (version.clone(), wheel.file));
        let there = installed
            .find(&name)
            .map(|Package { version, provider, .. }| {
                (version.clone(), format!("the provider {provider}"))
            })
            .or_else(|| server.package(&name).map(|version| (version, "the server".to_owned())));
        let decision = match there {
            None => Decision::Install,
            Some((has, whose)) if has == *version => Decision::There { version: has, whose },
            Some((has, whose)) => {
                let unmet =
                    requirements.iter().filter(|one| one.what.name == name && !one.what.fits(&has));
                let unmet: Vec<_> =
                    unmet.map(|one| format!("{} needs {}", one.of, one.what)).collect();
                if wheel.is_main || !unmet.is_empty() {
                    let why = if unmet.is_empty() { "" } else { "; " };
                    selection.conflicts.push(Fault::new(
                        wheel.file,
                        format!(
                            "dependency conflict: the provider {provider} brings {name} {version}, \
                             {whose} has {name} {has}{why}{}",
                            unmet.join(", ")
                        ),
                        format!(
                            "use releases that agree on {name}; {INSTALLED} lists what is installed"
                        ),
                    ));
                }
                // After a conflict nothing is installed, and one fault about it is enough.
                Decision::There { version: has, whose }
            }
        };
        selection.decisions.push(decision);
    }
    collisions(wheels, taken, &mut selection);
    unmet(&requirements, &versions, server, installed, &mut selection);
    selection
}

/// Two wheels that would write one file in two ways.
fn collisions(wheels: &[Candidate<'_>], taken: &Taken, selection: &mut Selection) {
    let mut owners: BTreeMap<&str, (&str, String)> = taken
        .iter()
        .map(|(path, (hash, provider))| {
            (path.as_str(), (hash.as_str(), format!("the provider {provider}")))
        })
        .collect();
    let installed = wheels.iter().zip(&selection.decisions);
    let installed = installed.filter(|(_, decision)| **decision == Decision::Install);
    for (wheel, _) in installed {
        let mut first = None;
        for (path, hash) in &wheel.files {
            let owner = (hash.as_str(), wheel.file.to_owned());
            if let Some((other, whose)) = owners.insert(path, owner)
                && other != hash
            {
                first.get_or_insert((path, whose));
            }
        }
        if let Some((path, whose)) = first {
            selection.conflicts.push(Fault::new(
                wheel.file,
                format!("{whose} has another file {path}"),
                "leave one of them out: Python could import only one",
            ));
        }
    }
}

/// A requirement that counts on this server, and the distribution that has it.
struct Required<'a> {
    of: String,
    what: &'a Requirement,
}

fn requirements<'a>(wheels: &[Candidate<'a>], server: &Server) -> Vec<Required<'a>> {
    let mut found = Vec::new();
    for wheel in wheels {
        let of = normalised(&wheel.metadata.name);
        let requires = wheel.metadata.requires.iter();
        let counting = requires.filter(|one| one.counts(&|name| server.variable(name)));
        found.extend(counting.map(|what| Required { of: of.clone(), what }));
    }
    found
}

/// Requirements that neither the image nor what is there meets; without knowledge of the server's own
/// packages only those that are met wrongly can be told.
fn unmet(
    requirements: &[Required<'_>],
    brought: &BTreeMap<String, (Version, &str)>,
    server: &Server,
    installed: &Installed,
    selection: &mut Selection,
) {
    let mut said = BTreeSet::new();
    for Required { of, what } in requirements {
        let name = &what.name;
        let has = brought
            .get(name)
            .map(|(version, _)| version.clone())
            .or_else(|| installed.find(name).map(|package| package.version.clone()))
            .or_else(|| server.package(name));
        let message = match &has {
            Some(has) if what.fits(has) => continue,
            None if !server.packages_are_known() => continue,
            Some(has) => format!("{of} needs {what}; there is {name} {has}"),
            None => format!("{of} needs {what}, which neither the image nor the server has"),
        };
        if said.insert(message.clone()) {
            let remedy = format!(
                "if the provider does not load, put a wheel that fits into the image: `pip download --no-deps \
                 '{what}'`"
            );
            selection.warnings.push(Fault::new(of, message, remedy));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::python::Architecture;

    fn server() -> Server {
        let text = r#"{"python": "3.12.11", "machine": "x86_64",
                       "packages": {"httpx": "0.28.1", "llama-stack": "0.7.3"}}"#;
        Server::parse(text).unwrap()
    }

    fn metadata(text: &str) -> Metadata {
        Metadata::parse(text).unwrap()
    }

    fn chosen(wheels: &[(&str, &Metadata)], installed: &str) -> Selection {
        let candidates: Vec<_> = wheels
            .iter()
            .enumerate()
            .map(|(at, (file, metadata))| Candidate {
                file,
                metadata,
                is_main: at == 0,
                files: Vec::new(),
            })
            .collect();
        select("acme", &candidates, &server(), &Installed::parse(installed).unwrap(), &Taken::new())
    }

    #[test]
    fn what_the_server_has_and_what_will_do_is_left_out() {
        let main = metadata("Name: acme\nVersion: 1.0\nRequires-Dist: httpx>=0.27\n");
        let newer = metadata("Name: httpx\nVersion: 0.29\n");
        let selection = chosen(&[("acme.whl", &main), ("httpx.whl", &newer)], "");
        let has =
            Decision::There { version: "0.28.1".parse().unwrap(), whose: "the server".into() };
        assert_eq!(selection.decisions, [Decision::Install, has]);
        assert_eq!((selection.conflicts, selection.warnings), (vec![], vec![]));
    }

    #[test]
    fn a_package_of_two_versions_is_a_conflict_by_name_and_version() {
        let main = metadata("Name: acme\nVersion: 1.0\nRequires-Dist: httpx==0.29\n");
        let newer = metadata("Name: httpx\nVersion: 0.29\n");
        let selection = chosen(&[("acme.whl", &main), ("httpx.whl", &newer)], "acme==0.9  # old\n");
        let said: Vec<_> = selection.conflicts.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "acme.whl: dependency conflict: the provider acme brings acme 1.0, the provider old has acme 0.9",
                "httpx.whl: dependency conflict: the provider acme brings httpx 0.29, the server has httpx 0.28.1; acme needs httpx==0.29",
            ]
        );
    }

    #[test]
    fn an_image_brings_a_package_once() {
        let one = metadata("Name: acme\nVersion: 1.0\n");
        let other = metadata("Name: ACME\nVersion: 1.1\n");
        let selection = chosen(&[("one.whl", &one), ("other.whl", &other)], "");
        assert_eq!(
            selection.conflicts[0].to_string(),
            "other.whl: the image brings acme twice: 1.1, and 1.0 in one.whl"
        );
    }

    #[test]
    fn what_nothing_meets_is_a_warning() {
        let main = metadata(
            "Name: acme\nVersion: 1.0\nRequires-Dist: ipykernel\nRequires-Dist: llama-stack==0.6.0\n\
             Requires-Dist: x; extra == 'dev'\n",
        );
        let selection = chosen(&[("acme.whl", &main)], "");
        let said: Vec<_> = selection.warnings.iter().map(|one| one.message.as_str()).collect();
        assert_eq!(
            said,
            [
                "acme needs ipykernel, which neither the image nor the server has",
                "acme needs llama-stack==0.6.0; there is llama-stack 0.7.3",
            ]
        );
        let unknown = Server::new("3.12", Architecture::X86_64).unwrap();
        let candidate = Candidate { file: "a", metadata: &main, is_main: true, files: Vec::new() };
        let selection =
            select("acme", &[candidate], &unknown, &Installed::default(), &Taken::new());
        assert!(selection.warnings.is_empty());
    }

    fn with<'a>(file: &'a str, metadata: &'a Metadata, hash: &str) -> Candidate<'a> {
        let files = vec![("shared/__init__.py".to_owned(), hash.to_owned())];
        Candidate { file, metadata, is_main: false, files }
    }

    #[test]
    fn two_wheels_cannot_have_one_file_in_two_ways() {
        let one = metadata("Name: one\nVersion: 1\n");
        let two = metadata("Name: two\nVersion: 1\n");
        let taken = Taken::from([(
            "shared/__init__.py".to_owned(),
            ("sha256=a".to_owned(), "old".to_owned()),
        )]);
        let decide = |hash: &str| {
            let wheels = [with("one.whl", &one, "sha256=a"), with("two.whl", &two, hash)];
            select("acme", &wheels, &server(), &Installed::default(), &taken).conflicts
        };
        assert!(decide("sha256=a").is_empty());
        assert_eq!(
            decide("sha256=b")[0].to_string(),
            "two.whl: one.whl has another file shared/__init__.py"
        );
    }
}
