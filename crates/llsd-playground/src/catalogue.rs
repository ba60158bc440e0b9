//! The distributions and releases to choose from. The operator has one configuration for each name;
//! of the starter the older ones, too, which its tests plan with, so that one sees a resource change
//! from release to release.

use llsd_plan::releases::Distribution;
use serde::Serialize;

macro_rules! bases {
    ($($distribution:literal $release:literal $file:literal)*) => {
        &[$(Base {
            distribution: $distribution,
            release: $release,
            file: concat!($file, ".yaml"),
            text: include_str!(concat!("../../llsd-plan/tests/bases/", $file, ".yaml")),
        }),*]
    };
}

/// The configuration inside an older image.
#[derive(Debug)]
pub(crate) struct Base {
    pub(crate) distribution: &'static str,
    pub(crate) release: &'static str,
    pub(crate) file: &'static str,
    pub(crate) text: &'static str,
}

const STARTERS: [&str; 2] = ["starter", "ogx-starter"];

const OLDER: &[Base] = bases!(
    "starter" "0.2.12" "starter-0.2.12"
    "starter" "0.2.24" "starter-0.2.24"
    "starter" "0.3.5" "starter-0.3.5"
    "starter" "0.4.7" "starter-0.4.7"
    "starter" "0.5.4" "starter-0.5.4"
    "starter" "0.6.1" "starter-0.6.1"
    "ogx-starter" "ogx-1.0.4" "starter-ogx-1.0.4"
    "ogx-starter" "ogx-1.2.5" "starter-ogx-1.2.5"
);

/// The starter's configuration of this release: the name of its file, and its text.
pub(crate) fn base(release: &str) -> Option<(String, &'static str)> {
    if let Some(base) = OLDER.iter().find(|base| base.release == release) {
        return Some((base.file.to_owned(), base.text));
    }
    let mut starters = STARTERS.iter().filter_map(|name| Distribution::all().get(*name));
    let starter = starters.find(|starter| starter.release == release)?;
    Some((format!("starter-{release}.yaml"), starter.base()))
}

#[derive(Debug, Serialize)]
pub(crate) struct Catalogue {
    version: &'static str,
    distributions: Vec<Choice>,
}

#[derive(Debug, Serialize)]
struct Choice {
    name: &'static str,
    image: &'static str,
    /// That of the image, which is the one that the operator runs.
    release: &'static str,
    older: Vec<&'static str>,
}

impl Catalogue {
    pub(crate) fn new() -> Self {
        let distributions = Distribution::all().iter().map(|(name, distribution)| Choice {
            name,
            image: &distribution.image,
            release: &distribution.release,
            older: OLDER
                .iter()
                .filter(|base| base.distribution == name)
                .map(|base| base.release)
                .collect(),
        });
        Self { version: env!("CARGO_PKG_VERSION"), distributions: distributions.collect() }
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    #[test]
    fn every_older_starter_can_be_chosen() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../llsd-plan/tests/bases");
        let files = fs::read_dir(folder).unwrap().map(|file| file.unwrap().file_name());
        let files = files.map(|name| name.into_string().unwrap());
        for file in files.filter(|name| name.starts_with("starter-")) {
            assert!(OLDER.iter().any(|base| base.file == file), "{file} is not in OLDER");
        }
    }
}
