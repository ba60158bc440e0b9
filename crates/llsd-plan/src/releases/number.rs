//! The names of releases as something that can be compared, and the notation in which the data of
//! this folder says from which release to which a word holds: `base_url since 0.4.7`.

use serde::Deserialize;

/// The two servers that images hold. OGX is llama-stack under the name that it has since 1.0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ServerFamily {
    #[default]
    LlamaStack,
    Ogx,
}

/// How the names of OGX's releases begin.
pub(super) const OGX: &str = "ogx";

/// A release in the order in which they came out, those of OGX after those of llama-stack.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Number {
    pub server: ServerFamily,
    pub major: u32,
    pub minor: u32,
    pub patch: u32,
}

impl Number {
    const LAST: Self =
        Self { server: ServerFamily::Ogx, major: u32::MAX, minor: u32::MAX, patch: u32::MAX };

    /// Reads a name as the data writes it: `0.7.3`, `ogx-1.5.0`.
    fn parse(name: &str) -> Option<Self> {
        let (server, number) = match name.strip_prefix(OGX) {
            Some(number) => (ServerFamily::Ogx, number.strip_prefix('-')?),
            None => (ServerFamily::LlamaStack, name),
        };
        let mut parts = number.split('.').map(|part| part.parse().ok());
        let [major, minor, patch] = [parts.next()??, parts.next()??, parts.next()??];
        parts.next().is_none().then_some(Self { server, major, minor, patch })
    }
}

impl TryFrom<&str> for Number {
    type Error = String;

    fn try_from(name: &str) -> Result<Self, String> {
        Self::parse(name).ok_or_else(|| format!("`{name}` is no release"))
    }
}

/// From one release to another, both included.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    since: Number,
    until: Number,
}

impl Span {
    /// Reads `since 0.4.7 until 0.7.3`; either half may be missing.
    pub(super) fn parse(text: &str) -> Result<Self, String> {
        let mut span = Self { since: Number::default(), until: Number::LAST };
        let mut words = text.split_whitespace();
        while let Some(word) = words.next() {
            let release = Number::try_from(words.next().unwrap_or_default())?;
            match word {
                "since" => span.since = release,
                "until" => span.until = release,
                other => return Err(format!("`{other}` is neither since nor until")),
            }
        }
        Ok(span)
    }

    pub(super) fn contains(self, release: Number) -> bool {
        self.since <= release && release <= self.until
    }
}

/// A word that holds in some releases.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Spanned {
    pub(super) word: Box<str>,
    pub(super) span: Span,
}

impl TryFrom<String> for Spanned {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let (word, span) = text.split_once(' ').unwrap_or((&text, ""));
        Ok(Self { word: word.into(), span: Span::parse(span)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ogx_comes_after_llama_stack_and_a_span_includes_both_ends() {
        let number = |name: &str| Number::try_from(name).unwrap();
        assert!(number("0.7.3") < number("ogx-1.0.4"));
        assert!(number("0.2.12") < number("0.2.24"));
        for wrong in ["0.7", "ogx1.0.0", "1.0.0.0", "latest", ""] {
            assert!(Number::try_from(wrong).is_err(), "{wrong}");
        }
        let word = Spanned::try_from("base_url since 0.4.7 until ogx-1.0.4".to_owned()).unwrap();
        assert_eq!(&*word.word, "base_url");
        for (release, holds) in
            [("0.3.5", false), ("0.4.7", true), ("ogx-1.0.4", true), ("ogx-1.1.3", false)]
        {
            assert_eq!(word.span.contains(number(release)), holds, "{release}");
        }
        assert!(Span::parse("from 0.4.7").is_err());
        assert!(Span::parse("since").is_err());
    }
}
