//! What a user can get wrong, as data: a field path, a reason, what is wrong, and what to do.
//!
//! Every surface (command line, admission, status, events) prints these and nothing else, so a
//! mistake reads the same wherever it is met.

use std::fmt;

use serde::{Serialize, Serializer};

/// One step of a [`FieldPath`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    Key(String),
    Index(usize),
}

/// Where in a resource something stands, written as the API server writes it:
/// `spec.providers.inference[1].id`.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FieldPath(Vec<Segment>);

impl FieldPath {
    /// The resource itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// `spec`, where most paths begin.
    pub fn spec() -> Self {
        Self::root().key("spec")
    }

    #[must_use]
    pub fn key(&self, key: impl Into<String>) -> Self {
        self.with(Segment::Key(key.into()))
    }

    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.with(Segment::Index(index))
    }

    pub fn segments(&self) -> &[Segment] {
        &self.0
    }

    /// What holds this; nothing for the resource itself.
    pub fn parent(&self) -> Option<Self> {
        let (_, above) = self.0.split_last()?;
        Some(Self(above.to_vec()))
    }

    /// The same place seen from outside of what holds the resource, such as a list.
    #[must_use]
    pub fn below(&self, outer: &Self) -> Self {
        Self(outer.0.iter().chain(&self.0).cloned().collect())
    }

    fn with(&self, segment: Segment) -> Self {
        let mut segments = self.0.clone();
        segments.push(segment);
        Self(segments)
    }
}

impl fmt::Display for Segment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => f.write_str(key),
            Self::Index(index) => write!(f, "{index}"),
        }
    }
}

impl fmt::Display for FieldPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, segment) in self.0.iter().enumerate() {
            match segment {
                Segment::Index(index) => write!(f, "[{index}]")?,
                // A key that holds a dot or a bracket would read as several steps.
                Segment::Key(key) if key.is_empty() || key.contains(['.', '[', ']']) => {
                    write!(f, "[{key}]")?;
                }
                Segment::Key(key) if position == 0 => f.write_str(key)?,
                Segment::Key(key) => write!(f, ".{key}")?,
            }
        }
        Ok(())
    }
}

impl Serialize for FieldPath {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Why something was refused or remarked on; conditions, events and metrics count by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
pub enum Reason {
    /// A field that must be there is not.
    Required,
    /// A value of the wrong JSON type, or a `null` where a value belongs.
    WrongType,
    /// A value outside its bounds or its allowed set.
    Invalid,
    /// A field that no version of the resource knows.
    UnknownField,
    /// A provider id used more than once.
    Duplicate,
    /// Two fields that exclude each other, or that say different things.
    Conflict,
    /// A name that points to nothing.
    NotFound,
    /// An old spelling that is still read.
    Deprecated,
    /// Accepted, but without the effect it seems to have.
    Ignored,
    /// A provider that is left out because its API, or one that it needs, is disabled.
    DisabledProviderIgnored,
    /// An external provider in the place of another one.
    ProviderOverridden,
    /// A base configuration of a version that is not supported.
    UnsupportedConfigVersion,
    /// A base configuration that cannot be read, or of a server that is not known.
    UnsupportedBase,
    /// An image that carries no configuration.
    MissingConfigLabels,
    SecretNotFound,
    SecretKeyNotFound,
    /// A secret value that the server would refuse to start with.
    SecretValueRejected,
    ConfigMapNotFound,
    /// What only a cluster or a registry could tell, and did not.
    Unavailable,
}

impl Reason {
    /// Whether it is a Secret that has to be fixed.
    pub fn is_of_a_secret(self) -> bool {
        matches!(self, Self::SecretNotFound | Self::SecretKeyNotFound | Self::SecretValueRejected)
    }
}

/// One finding. A *problem* refuses the resource; as a *warning* the same shape only remarks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Problem {
    pub path: FieldPath,
    pub reason: Reason,
    /// What is wrong, without the path.
    pub message: String,
    /// What the user can do about it.
    pub remedy: String,
}

/// Everything found in one resource; nothing stops at the first mistake.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Findings {
    pub problems: Vec<Problem>,
    pub warnings: Vec<Problem>,
}

impl Findings {
    /// Adds what another check of the same resource found.
    pub fn extend(&mut self, other: Self) {
        self.problems.extend(other.problems);
        self.warnings.extend(other.warnings);
    }

    /// In the order of paths, each finding once.
    pub fn sort(&mut self) {
        for list in [&mut self.problems, &mut self.warnings] {
            list.sort();
            list.dedup();
        }
    }

    pub fn problem(
        &mut self,
        path: &FieldPath,
        reason: Reason,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.problems.push(Problem {
            path: path.clone(),
            reason,
            message: message.into(),
            remedy: remedy.into(),
        });
    }

    pub fn warning(
        &mut self,
        path: &FieldPath,
        reason: Reason,
        message: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.warnings.push(Problem {
            path: path.clone(),
            reason,
            message: message.into(),
            remedy: remedy.into(),
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_read_as_the_api_server_writes_them() {
        let path = FieldPath::spec().key("providers").key("inference").index(1).key("id");
        assert_eq!(path.to_string(), "spec.providers.inference[1].id");
        let annotation =
            FieldPath::root().key("metadata").key("annotations").key("llamastack.io/refresh");
        assert_eq!(annotation.to_string(), "metadata.annotations[llamastack.io/refresh]");
    }
}
