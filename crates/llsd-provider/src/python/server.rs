//! The server that a provider is installed for: its Python, its machine and its own packages, as a
//! program in the server's image tells them.

use std::collections::BTreeMap;
use std::str::FromStr;

use pep440_rs::{Version, VersionSpecifiers};
use serde::{Deserialize, Serialize};

use super::name::normalised;
use super::tags::{Architecture, Libc};

/// The program by which a server's own Python says what the server is.
pub const TELL: &str = include_str!("tell.py");

/// What is known of a server.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Server {
    /// `3.12` or `3.12.11`.
    python: String,
    pub machine: Architecture,
    /// `glibc 2.34`; without it, any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub libc: Option<String>,
    /// Its own packages by name; `None` where nobody looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    packages: Option<BTreeMap<String, String>>,
}

/// A text that is no version of Python 3.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrongVersion(pub String);

impl Server {
    pub fn new(python: &str, machine: Architecture) -> Result<Self, WrongVersion> {
        let server = Self { python: python.to_owned(), machine, libc: None, packages: None };
        server.checked()
    }

    /// As the program in the server's image writes it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let server: Self = serde_json::from_str(text).map_err(|error| error.to_string())?;
        let server =
            server.checked().map_err(|WrongVersion(text)| format!("{text} is no Python 3"))?;
        let packages = server.packages.map(|packages| {
            packages.into_iter().map(|(name, version)| (normalised(&name), version)).collect()
        });
        Ok(Self { packages, ..server })
    }

    fn checked(self) -> Result<Self, WrongVersion> {
        let parts: Vec<Option<u32>> =
            self.python.split('.').map(|part| part.parse().ok()).collect();
        match parts[..] {
            [Some(3), Some(_)] | [Some(3), Some(_), Some(_)] => Ok(self),
            _ => Err(WrongVersion(self.python)),
        }
    }

    pub fn python(&self) -> &str {
        &self.python
    }

    pub(crate) fn minor(&self) -> u32 {
        self.python.split('.').nth(1).and_then(|minor| minor.parse().ok()).unwrap_or_default()
    }

    pub(crate) fn libc(&self) -> Option<Libc> {
        self.libc.as_deref().and_then(Libc::parse)
    }

    /// Whether this Python will do. Of `3.12` any patch release may be meant.
    pub(crate) fn satisfies(&self, wanted: &VersionSpecifiers) -> bool {
        let fits =
            |text: &str| Version::from_str(text).is_ok_and(|version| wanted.contains(&version));
        match self.python.matches('.').count() {
            1 => ["0", "99"].iter().any(|patch| fits(&format!("{}.{patch}", self.python))),
            _ => fits(&self.python),
        }
    }

    /// Whether it is known which packages the server has.
    pub fn packages_are_known(&self) -> bool {
        self.packages.is_some()
    }

    /// The version of a package that the server has.
    pub(crate) fn package(&self, name: &str) -> Option<Version> {
        self.packages.as_ref()?.get(name).and_then(|version| version.parse().ok())
    }

    /// The variables that the conditions of requirements are judged by.
    pub(crate) fn variable(&self, name: &str) -> Option<String> {
        let value = match name {
            "python_version" => return Some(format!("3.{}", self.minor())),
            "python_full_version" | "implementation_version" => {
                let patch = if self.python.matches('.').count() == 1 { ".0" } else { "" };
                return Some(format!("{}{patch}", self.python));
            }
            "platform_machine" => self.machine.name(),
            "os_name" => "posix",
            "sys_platform" => "linux",
            "platform_system" => "Linux",
            "implementation_name" => "cpython",
            "platform_python_implementation" => "CPython",
            _ => return None,
        };
        Some(value.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_server_says_what_it_is() {
        let text = r#"{"python": "3.12.11", "machine": "x86_64", "libc": "glibc 2.34",
                       "packages": {"Llama_Stack": "0.7.3"}}"#;
        let server = Server::parse(text).unwrap();
        assert_eq!(server.package("llama-stack"), Some(Version::new([0, 7, 3])));
        assert_eq!((server.minor(), server.libc()), (12, Some(Libc::Gnu(2, 34))));
        assert!(Server::parse(r#"{"python": "2.7", "machine": "x86_64"}"#).is_err());
    }

    #[test]
    fn a_minor_release_stands_for_all_its_patches() {
        let server = Server::new("3.12", Architecture::X86_64).unwrap();
        let fits = |text: &str| server.satisfies(&text.parse().unwrap());
        assert!(fits(">=3.12.4") && fits("<3.12.4") && fits(">=3.10"));
        assert!(!fits(">=3.13") && !fits("<3.12"));
    }
}
