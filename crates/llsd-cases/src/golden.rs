//! The golden cases: a folder each under `llsd-plan/tests/cases`, with what is planned from and what
//! planning must give.
//!
//! | file | what it is |
//! |---|---|
//! | `resource.yaml` | the resource; its first comment says what the case shows |
//! | `base.yaml` | the image's configuration; without it the embedded one of a named distribution |
//! | `facts.yaml` | facts; without it everything that the resource names exists |
//! | `expected/config.yaml` | the generated configuration, where one is generated |
//! | `expected/env.yaml` | the variables that generation gives the server |
//! | `expected/findings.txt` | problems, warnings, and what is unavailable |
//! | `expected/objects.txt` | the names of all objects; only where the case has the file |
//! | `expected/<kind>.yaml` | an object; only those that the case has a file for are compared. The programs that pods run stand there by their file's name |
//!
//! A base that several cases build on stands once, in `llsd-plan/tests/bases`: the comment of such a
//! case ends with the line `# base: NAME`.

use std::path::{Path, PathBuf};

use llsd_api::conversion::{Version, convert};
use llsd_plan::facts::{BaseFacts, BaseSource, Facts};
use llsd_yaml::document;
use serde_json::Value;

use crate::files::{entries, repository, text};

/// Where the cases are.
pub const FOLDER: &str = "crates/llsd-plan/tests/cases";

#[derive(Debug)]
pub struct GoldenCase {
    pub name: String,
    pub folder: PathBuf,
    /// What the case shows.
    pub about: String,
    /// The resource, as v1alpha2.
    pub resource: Value,
    pub facts: Facts,
}

impl GoldenCase {
    /// All cases, in the order of their names.
    pub fn all() -> Vec<Self> {
        let folders = entries(FOLDER).into_iter().filter(|path| path.is_dir());
        folders.map(Self::load).collect()
    }

    fn load(folder: PathBuf) -> Self {
        let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let resource = text(&folder.join("resource.yaml"));
        let (about, base) = head(&resource);
        assert!(!about.is_empty(), "{name}: say first what the case shows");
        let facts = folder.join("facts.yaml");
        let mut facts: Facts = if facts.exists() {
            serde_json::from_value(yaml(&facts))
                .unwrap_or_else(|error| panic!("{}: {error}", facts.display()))
        } else {
            Facts::default()
        };
        let own = folder.join("base.yaml");
        assert!(base.is_none() || !own.exists(), "{name}: two bases");
        let shared =
            base.map(|base| repository(&format!("crates/llsd-plan/tests/bases/{base}.yaml")));
        if let Some(file) = shared.or_else(|| own.exists().then_some(own)) {
            let found_in = Some("base.yaml".to_owned());
            let source = BaseSource::File;
            facts.image.base = Some(BaseFacts { text: text(&file), source, found_in });
        }
        let resource = convert(yaml(&folder.join("resource.yaml")), Version::V1Alpha2);
        Self { name, folder, about, resource, facts }
    }
}

/// What the first comment says, and the shared base that it names.
fn head(resource: &str) -> (String, Option<&str>) {
    let comment = resource.lines().map_while(|line| line.strip_prefix('#')).map(str::trim);
    let (base, about): (Vec<&str>, Vec<&str>) =
        comment.partition(|line| line.starts_with("base: "));
    (about.join(" "), base.first().and_then(|line| line.strip_prefix("base: ")))
}

fn yaml(path: &Path) -> Value {
    document::read(&text(path)).unwrap_or_else(|error| panic!("{}: {error:?}", path.display()))
}
