//! A wheel's file name: distribution, version, and what it is made for.

use std::str::FromStr;

use pep440_rs::Version;

use crate::python::Tag;

/// `acme_provider-1.2.0-py3-none-any.whl`, taken apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileName {
    /// As the file spells it.
    pub distribution: String,
    pub version: Version,
    pub tags: Vec<Tag>,
}

impl FromStr for FileName {
    type Err = String;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let stem = name.strip_suffix(".whl").ok_or("the name of a wheel ends with .whl")?;
        let parts: Vec<&str> = stem.split('-').collect();
        let (distribution, version, tags) = match parts[..] {
            [distribution, version, python, abi, platform]
            | [distribution, version, _, python, abi, platform] => {
                (distribution, version, Tag::all(python, abi, platform))
            }
            _ => return Err("the name of a wheel is NAME-VERSION-PYTHON-ABI-PLATFORM.whl".into()),
        };
        let is_name = !distribution.is_empty()
            && distribution.chars().all(|c| c.is_ascii_alphanumeric() || "._".contains(c));
        if !is_name {
            return Err("the name of its distribution is none".into());
        }
        let version = version.parse().map_err(|_| format!("{version} is no version"))?;
        Ok(Self { distribution: distribution.to_owned(), version, tags })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_taken_apart() {
        let name: FileName = "acme_provider-1.2.0-1-py2.py3-none-any.whl".parse().unwrap();
        assert_eq!((name.distribution.as_str(), name.tags.len()), ("acme_provider", 2));
        assert_eq!(name.version, Version::new([1, 2]));
        for wrong in ["a.zip", "a-1.whl", "a-x-py3-none-any.whl", "../a-1-py3-none-any.whl"] {
            assert!(wrong.parse::<FileName>().is_err(), "{wrong}");
        }
    }
}
