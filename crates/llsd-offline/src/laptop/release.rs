//! The release that is installed for a resource, and what it is installed from.

use llsd_plan::plan::Plan;
use llsd_plan::releases::{Release, Releases, row_of};

/// The minor versions of Python on which every release runs, the preferred one first.
pub const PYTHONS: [&str; 2] = ["3.12", "3.13"];

/// Dependencies of the servers that are left out unless a provider asks for them: half a gigabyte for the models of
/// one cloud.
pub const SERVER_DEPENDENCIES_LEFT_OUT: [&str; 2] = ["oci", "oracledb"];

/// A version of a server's package.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledRelease {
    /// `0.7.3`, `ogx-1.5.0`.
    pub name: String,
    /// `llama-stack 0.7.3`, `OGX 1.5.0`.
    pub title: String,
    /// In the words of pip.
    pub requirements: Vec<String>,
    /// The day before which packages must have been uploaded.
    pub uploaded_before: String,
    /// The image does not say its release, so that this is the newest one that its configuration fits.
    pub is_guessed: bool,
}

impl InstalledRelease {
    /// The release inside the image of a plan, nothing where neither the image nor its configuration shows one.
    pub(super) fn of(plan: &Plan, label: Option<&str>) -> Option<Self> {
        let stated = plan.image.release(label);
        let row = stated.as_deref().and_then(|stated| row_of(Releases::shipped(), stated));
        let layout = || plan.generated.as_ref().map(|generated| generated.layout);
        let (row, is_guessed) = match row {
            Some(row) => (row, false),
            None => (layout()?, true),
        };
        let exact = stated.as_deref().and_then(full_version).filter(|_| !is_guessed);
        Some(Self::version_of(row, exact.unwrap_or_else(|| row.version()), is_guessed))
    }

    fn version_of(row: &Release, version: &str, is_guessed: bool) -> Self {
        let is_ogx = row.name.starts_with("ogx-");
        let (name, title) = if is_ogx {
            (format!("ogx-{version}"), format!("OGX {version}"))
        } else {
            (version.to_owned(), format!("llama-stack {version}"))
        };
        Self {
            name,
            title,
            requirements: row.requirements(version),
            uploaded_before: row.installs_until.clone(),
            is_guessed,
        }
    }
}

/// `0.7.1` of `ogx-0.7.1` or `v0.7.1-ubi9`; nothing where a part is missing.
fn full_version(stated: &str) -> Option<&str> {
    let version = stated.trim_start_matches("ogx").trim_start_matches(['-', ' ', 'v']);
    let end = version.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(version.len());
    let version = &version[..end];
    let parts: Vec<&str> = version.split('.').collect();
    (parts.len() == 3 && parts.iter().all(|part| !part.is_empty())).then_some(version)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_whole_version_is_installed_as_it_is_stated() {
        assert_eq!(full_version("0.7.1"), Some("0.7.1"));
        assert_eq!(full_version("ogx-1.4.0"), Some("1.4.0"));
        assert_eq!(full_version("v0.6.1-ubi9"), Some("0.6.1"));
        for text in ["0.7", "ogx", "latest", "0.7.", ""] {
            assert_eq!(full_version(text), None, "{text}");
        }
    }

    #[test]
    fn a_release_brings_its_pins_and_its_day() {
        let row = row_of(Releases::shipped(), "0.7.1").unwrap();
        let release = InstalledRelease::version_of(row, "0.7.1", false);
        assert_eq!(release.title, "llama-stack 0.7.1");
        let expected = ["llama-stack==0.7.1", "llama-stack-api==0.7.1", "mcp<2"];
        assert_eq!(release.requirements, expected);
        let row = row_of(Releases::shipped(), "ogx-1.5.0").unwrap();
        let release = InstalledRelease::version_of(row, "1.5.0", false);
        assert_eq!((&*release.name, &*release.title), ("ogx-1.5.0", "OGX 1.5.0"));
        assert_eq!(release.requirements, ["ogx==1.5.0", "ogx-api==1.5.0"]);
    }
}
