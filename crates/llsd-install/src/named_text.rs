//! A file of a chart or bundle, whose text was made whole.

/// One file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedText {
    /// Its path below the folder of its kind.
    pub name: String,
    pub text: String,
}

impl NamedText {
    pub(crate) fn new(name: impl Into<String>, text: impl Into<String>) -> Self {
        Self { name: name.into(), text: text.into() }
    }
}
