//! Everything that is known of releases, as one value: the shipped one, or one that a test has built
//! from other texts.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{LazyLock, OnceLock};

use serde_json::Value;

use super::access_parts::{self, AccessParts};
use super::distributions::{self, Distribution};
use super::number::{ServerFamily, Span};
use super::provider_type::Row;
use super::route_table::{self, RouteTable};
use super::table::{self, Release};
use llsd_yaml::document::{self, Node};

/// The texts that hold what is known, by file.
#[derive(Clone, Debug)]
pub struct Texts {
    /// `releases.yaml`.
    pub releases: Cow<'static, str>,
    /// `providers/<api>.yaml`, by API.
    pub providers: BTreeMap<&'static str, Cow<'static, str>>,
    /// `access.yaml`.
    pub access: Cow<'static, str>,
    /// `routes.yaml`.
    pub routes: Cow<'static, str>,
    /// `images.yaml`.
    pub images: Cow<'static, str>,
    /// `bases/…`, by the names that `images.yaml` has for them.
    pub bases: BTreeMap<&'static str, Cow<'static, str>>,
}

macro_rules! files {
    ($folder:literal: $($name:literal)*) => {
        [$(($name, include_str!(concat!($folder, "/", $name, ".yaml")).into())),*].into()
    };
}

impl Texts {
    pub fn shipped() -> Self {
        Self {
            releases: include_str!("releases.yaml").into(),
            providers: files!("providers":
                "agents" "batches" "datasetio" "eval" "file_processors" "files" "inference"
                "interactions" "messages" "post_training" "responses" "safety" "scoring" "skills"
                "telemetry" "tool_runtime" "vector_io"),
            access: include_str!("access.yaml").into(),
            routes: include_str!("routes.yaml").into(),
            images: include_str!("images.yaml").into(),
            bases: files!("bases":
                "meta-reference-gpu/0.4.7" "ogx-nvidia/1.5.0" "ogx-postgres-demo/1.5.0"
                "ogx-starter/1.5.0" "postgres-demo/0.7.3" "remote-vllm/0.2.12" "starter/0.7.3"
                "starter-gpu/0.6.1"),
        }
    }
}

/// What is known of releases. It lives as long as the program, so that whoever asks may keep the
/// answer.
pub struct Releases {
    /// The oldest first, those of OGX after those of llama-stack; never empty.
    pub(super) rows: Vec<Release>,
    pub(super) apis: BTreeMap<&'static str, ApiProviders>,
    /// The parts of `spec.access`, with the releases that have them.
    pub(super) access: AccessParts,
    /// The paths that are served, with the releases that serve them.
    pub(super) routes: RouteTable,
    /// The distributions that a resource can name.
    pub distributions: BTreeMap<String, Distribution>,
}

/// The provider types of one API, read when they are first asked for.
pub(super) struct ApiProviders {
    text: Cow<'static, str>,
    rows: OnceLock<Vec<(String, Span, Row)>>,
}

static SHIPPED: LazyLock<Releases> = LazyLock::new(|| {
    Releases::build(Texts::shipped()).unwrap_or_else(|error| panic!("shipped data: {error}"))
});

impl Releases {
    pub fn shipped() -> &'static Self {
        &SHIPPED
    }

    /// Releases from other texts than the shipped ones, which then stay until the program ends.
    pub fn from_texts(texts: Texts) -> Result<&'static Self, String> {
        let releases = Self::build(texts)?;
        releases.apis.values().try_for_each(|api| api.parse_rows().map(|_| ()))?;
        Ok(Box::leak(Box::new(releases)))
    }

    fn build(texts: Texts) -> Result<Self, String> {
        let rows = table::parse(&texts.releases)?;
        if rows.is_empty() {
            return Err("no release is known".to_owned());
        }
        let api = |text| ApiProviders { text, rows: OnceLock::new() };
        Ok(Self {
            rows,
            apis: texts.providers.into_iter().map(|(name, text)| (name, api(text))).collect(),
            access: access_parts::parse(&texts.access)?,
            routes: route_table::parse(&texts.routes)?,
            distributions: distributions::parse(&texts.images, texts.bases)?,
        })
    }

    /// All releases, the oldest first.
    pub fn all(&self) -> &[Release] {
        &self.rows
    }

    /// A configuration of the operator's own as the server reads it, which is done once.
    pub(super) fn already_read(
        &'static self,
        text: &str,
    ) -> Option<(&'static Value, &'static Node)> {
        let mut distributions = self.distributions.values();
        distributions.find(|known| known.base() == text).map(Distribution::document)
    }

    /// The release that messages name so: by its title, or as the newest of a layout.
    pub fn by_title(&'static self, name: &str) -> Option<&'static Release> {
        self.rows.iter().rfind(|row| row.title == name || row.layout == name)
    }

    /// The minor version that is the first with a trait, as messages name it: `0.3`, `OGX 1.2`.
    pub fn first_with(&'static self, has: impl Fn(&Release) -> bool) -> &'static str {
        let newest = &self.rows[self.rows.len() - 1];
        self.rows.iter().find(|row| has(row)).unwrap_or(newest).minor_version()
    }

    /// The newest release of a server.
    pub fn newest(&'static self, server: ServerFamily) -> &'static Release {
        let newest = self.rows.iter().rfind(|row| row.server == server);
        newest.unwrap_or(&self.rows[self.rows.len() - 1])
    }
}

impl Distribution {
    /// The distributions of the shipped table.
    pub fn all() -> &'static BTreeMap<String, Self> {
        &Releases::shipped().distributions
    }
}

impl ApiProviders {
    /// The types in the order of the file, with the releases that have them.
    pub(super) fn rows(&self) -> &[(String, Span, Row)] {
        self.rows.get_or_init(|| self.parse_rows().unwrap_or_else(|error| panic!("{error}")))
    }

    fn parse_rows(&self) -> Result<Vec<(String, Span, Row)>, String> {
        let rows = document::read(&self.text).map_err(|error| error.message)?;
        let Value::Object(rows) = rows else { return Err("a catalogue is a map".to_owned()) };
        let read = |(name, row): (String, Value)| {
            let row: Row =
                serde_json::from_value(row).map_err(|error| format!("{name}: {error}"))?;
            Ok((name, row.span()?, row))
        };
        rows.into_iter().map(read).collect()
    }
}

impl Default for &'static Releases {
    fn default() -> Self {
        Releases::shipped()
    }
}

impl fmt::Debug for Releases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.rows.iter().map(|row| &row.name)).finish()
    }
}

impl PartialEq for Releases {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}

impl Eq for Releases {}
