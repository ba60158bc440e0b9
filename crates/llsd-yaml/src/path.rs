//! Paths to the fields of a document.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;

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

/// The value at a path.
pub fn value_at<'v>(root: &'v Value, path: &FieldPath) -> Option<&'v Value> {
    path.segments().iter().try_fold(root, |value, segment| match segment {
        Segment::Key(key) => value.as_object()?.get(key),
        Segment::Index(index) => value.as_array()?.get(*index),
    })
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
