//! What a wheel is made for, against what the server is.

use std::fmt;

use serde::{Deserialize, Serialize};

/// One combination of Python, binary interface and platform that a wheel works with.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    pub python: String,
    pub abi: String,
    pub platform: String,
}

impl Tag {
    /// All combinations of `cp311.cp312`, `abi3`, `manylinux_2_17_x86_64.manylinux2014_x86_64`.
    pub(crate) fn all(python: &str, abi: &str, platform: &str) -> Vec<Self> {
        let mut tags = Vec::new();
        for python in python.split('.') {
            for abi in abi.split('.') {
                for platform in platform.split('.') {
                    let own = str::to_owned;
                    tags.push(Self { python: own(python), abi: own(abi), platform: own(platform) });
                }
            }
        }
        tags
    }

    pub(crate) fn parse(text: &str) -> Option<Vec<Self>> {
        let mut parts = text.trim().splitn(3, '-');
        Some(Self::all(parts.next()?, parts.next()?, parts.next()?))
    }

    /// Runs on every platform.
    pub fn is_pure(&self) -> bool {
        self.platform == "any"
    }

    /// Whether a CPython 3 of this minor version runs it.
    pub(crate) fn fits_python(&self, minor: u32) -> bool {
        let (implementation, version) =
            self.python.split_at(self.python.find(|c: char| c.is_ascii_digit()).unwrap_or(0));
        let Some(version) = version.strip_prefix('3') else { return false };
        let wanted = version.parse::<u32>().ok();
        match (implementation, self.abi.as_str()) {
            ("py", "none") => version.is_empty() || wanted.is_some_and(|wanted| wanted <= minor),
            ("cp", "abi3") => wanted.is_some_and(|wanted| wanted <= minor),
            ("cp", "none") => version.is_empty() || wanted == Some(minor),
            ("cp", abi) => wanted == Some(minor) && abi == format!("cp3{minor}"),
            _ => false,
        }
    }

    pub(crate) fn fits_platform(&self, architecture: Architecture, libc: Option<Libc>) -> bool {
        if self.is_pure() {
            return true;
        }
        let Some(system) = self.platform.strip_suffix(architecture.name()) else { return false };
        let system = system.trim_end_matches('_');
        let needed = match system {
            "linux" => return true,
            "manylinux1" => Some(Libc::Gnu(2, 5)),
            "manylinux2010" => Some(Libc::Gnu(2, 12)),
            "manylinux2014" => Some(Libc::Gnu(2, 17)),
            other => Libc::of_tag(other),
        };
        match (needed, libc) {
            (Some(_), None) => true,
            (Some(Libc::Gnu(major, minor)), Some(Libc::Gnu(has, has_minor)))
            | (Some(Libc::Musl(major, minor)), Some(Libc::Musl(has, has_minor))) => {
                (major, minor) <= (has, has_minor)
            }
            _ => false,
        }
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}-{}", self.python, self.abi, self.platform)
    }
}

/// What a machine's processor is, as Python names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    X86_64,
    Aarch64,
    Ppc64le,
    S390x,
}

impl Architecture {
    pub const ALL: [Self; 4] = [Self::X86_64, Self::Aarch64, Self::Ppc64le, Self::S390x];

    /// As wheels and `uname` name it.
    pub fn name(self) -> &'static str {
        match self {
            Self::X86_64 => "x86_64",
            Self::Aarch64 => "aarch64",
            Self::Ppc64le => "ppc64le",
            Self::S390x => "s390x",
        }
    }

    /// As images name it.
    pub fn of_image(self) -> &'static str {
        match self {
            Self::X86_64 => "amd64",
            Self::Aarch64 => "arm64",
            other => other.name(),
        }
    }

    /// By either name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|one| name == one.name() || name == one.of_image())
    }
}

/// The C library of a system and its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Libc {
    Gnu(u32, u32),
    Musl(u32, u32),
}

impl Libc {
    fn of_tag(system: &str) -> Option<Self> {
        let (family, version) = system.split_once('_')?;
        let (major, minor) = version.split_once('_')?;
        Self::from_tag(family, major.parse().ok()?, minor.parse().ok()?)
    }

    fn from_tag(family: &str, major: u32, minor: u32) -> Option<Self> {
        match family {
            "manylinux" | "glibc" => Some(Self::Gnu(major, minor)),
            "musllinux" | "musl" => Some(Self::Musl(major, minor)),
            _ => None,
        }
    }

    /// `glibc 2.34`, as the server's own Python says it.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (family, version) = text.split_once(' ')?;
        let mut numbers = version.split('.').map(|number| number.parse().ok());
        Self::from_tag(family, numbers.next()??, numbers.next()??)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fits(tag: &str) -> (bool, bool) {
        let tag = &Tag::parse(tag).unwrap()[0];
        let gnu = Some(Libc::Gnu(2, 34));
        (tag.fits_python(12), tag.fits_platform(Architecture::X86_64, gnu))
    }

    #[test]
    fn wheels_fit_where_pip_would_take_them() {
        for tag in [
            "py3-none-any",
            "py312-none-any",
            "py38-none-any",
            "cp312-cp312-manylinux_2_34_x86_64",
            "cp39-abi3-manylinux2014_x86_64",
            "py3-none-manylinux1_x86_64",
            "cp312-none-linux_x86_64",
        ] {
            assert_eq!(fits(tag), (true, true), "{tag}");
        }
        for tag in ["py2-none-any", "cp311-cp311-any", "cp313-abi3-any", "cp312-cp312t-any"] {
            assert!(!fits(tag).0, "{tag}");
        }
        for tag in ["manylinux_2_35_x86_64", "musllinux_1_2_x86_64", "win_amd64", "linux_aarch64"] {
            assert!(!fits(&format!("py3-none-{tag}")).1, "{tag}");
        }
    }
}
