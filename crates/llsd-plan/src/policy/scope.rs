//! What rules name: paths, and actions done to resources.

use llsd_api::v1alpha2::Action;

use super::pattern::{Fault, PREFIX, Pattern};
use super::rule::Match;
use crate::releases::Release;

/// The paths that a rule names.
#[derive(Clone, Debug)]
pub(super) enum Paths {
    All,
    Beginning(String),
    Exactly(String),
    Like(Pattern),
    Unknown,
}

impl Paths {
    pub(super) fn parse(text: &str, release: &Release) -> Result<Self, Fault> {
        let pattern = text.strip_prefix(PREFIX).filter(|_| release.knows_regex);
        Ok(match (text, pattern) {
            ("*", _) => Self::All,
            (_, Some(pattern)) => match Pattern::parse(pattern) {
                Ok(pattern) => Self::Like(pattern),
                Err(Fault::Foreign(_)) => Self::Unknown,
                Err(broken) => return Err(broken),
            },
            (text, None) => match text.strip_suffix('*') {
                Some(beginning) => Self::Beginning(beginning.to_owned()),
                None => Self::Exactly(text.to_owned()),
            },
        })
    }

    pub(super) fn matches(&self, path: &str) -> Match {
        let known = match self {
            Self::All => Some(true),
            Self::Beginning(beginning) => Some(path.starts_with(beginning)),
            Self::Exactly(exactly) => Some(path == exactly),
            Self::Like(pattern) => pattern.matches(path),
            Self::Unknown => None,
        };
        known.into()
    }
}

/// The types of what a server keeps, as far as rules name them.
pub const RESOURCE_TYPES: [&str; 12] = [
    "model",
    "shield",
    "vector_store",
    "dataset",
    "scoring_function",
    "benchmark",
    "tool",
    "tool_group",
    "prompt",
    "connector",
    "session",
    "sql_record",
];

/// A path as the server compares it.
pub(super) fn without_end_slash(path: &str) -> &str {
    if path == "/" { path } else { path.trim_end_matches('/') }
}

/// Who, what, and to which resource.
#[derive(Clone, Debug)]
pub(super) struct ResourceScope {
    pub(super) principal: Option<String>,
    pub(super) actions: Vec<Action>,
    pub(super) resource: Option<Resources>,
}

/// The resources that a rule names.
#[derive(Clone, Debug)]
pub(super) struct Resources {
    text: String,
    pattern: Option<Result<Pattern, Fault>>,
}

impl Resources {
    pub(super) fn parse(text: &str, release: &Release) -> Result<Self, Fault> {
        let pattern = text.strip_prefix(PREFIX).filter(|_| release.knows_regex);
        let pattern = pattern.map(Pattern::parse);
        if let Some(Err(broken @ Fault::Broken(_))) = pattern {
            return Err(broken);
        }
        Ok(Self { text: text.to_owned(), pattern })
    }

    /// Whether a model can be among them.
    pub(super) fn may_be_models(&self) -> bool {
        self.pattern.is_some() || self.text.starts_with("model::")
    }

    pub(super) fn are_all_models(&self) -> bool {
        self.pattern.is_none() && self.text == "model::*"
    }

    pub(super) fn matches(&self, resource: &str) -> Match {
        let known = match &self.pattern {
            _ if self.text == resource => Some(true),
            Some(Ok(pattern)) => pattern.matches(resource),
            Some(Err(_)) => None,
            None => {
                let beginning = self.text.strip_suffix('*').filter(|text| text.ends_with("::"));
                Some(beginning.is_some_and(|beginning| resource.starts_with(beginning)))
            }
        };
        known.into()
    }
}
