//! `installed-packages.txt`: what each provider brought, one package a line, as pip would read it.

use std::str::FromStr;

use pep440_rs::Version;

use crate::python::normalised;

/// A package and who brought it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Package {
    pub name: String,
    pub version: Version,
    /// The id of the provider.
    pub provider: String,
}

impl Package {
    /// As the folder says that every installed distribution has: `acme_provider-1.2.0.dist-info`.
    pub fn of_folder(folder: &str, provider: &str) -> Option<Self> {
        let (name, version) = folder.strip_suffix(".dist-info")?.rsplit_once('-')?;
        let version = Version::from_str(version).ok()?;
        Some(Self { name: normalised(name), version, provider: provider.to_owned() })
    }
}

/// The list, in the order of installation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Installed(pub Vec<Package>);

impl Installed {
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut packages = Vec::new();
        for (number, line) in text.lines().enumerate().filter(|(_, line)| !line.is_empty()) {
            let package = line.split_once("  # ").and_then(|(package, provider)| {
                let (name, version) = package.split_once("==")?;
                let version = Version::from_str(version).ok()?;
                Some(Package { name: normalised(name), version, provider: provider.to_owned() })
            });
            packages.push(package.ok_or_else(|| format!("line {} is no package", number + 1))?);
        }
        Ok(Self(packages))
    }

    pub fn find(&self, name: &str) -> Option<&Package> {
        self.0.iter().find(|package| package.name == name)
    }

    /// Without what a provider brought before: its container may have been started again.
    #[must_use]
    pub fn without(&self, provider: &str) -> Self {
        Self(self.0.iter().filter(|package| package.provider != provider).cloned().collect())
    }
}

impl std::fmt::Display for Installed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for Package { name, version, provider } in &self.0 {
            writeln!(f, "{name}=={version}  # {provider}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_what_is_read() {
        let text = "acme-provider==1.2.0  # acme\nhttpx==0.28.1  # acme\n";
        let installed = Installed::parse(text).unwrap();
        assert_eq!(installed.to_string(), text);
        assert_eq!(installed.find("httpx").unwrap().provider, "acme");
        assert!(installed.without("acme").0.is_empty());
        assert!(Installed::parse("what is this\n").is_err());
    }
}
