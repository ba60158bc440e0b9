//! The two readings of YAML 1.1 that count here, and all in which they differ: what a word means,
//! what can be a key, what a merge is, and how large a text may be.

mod kubectl;
mod py_yaml;
mod scalar;

use crate::fault::Fault;
use crate::position::Position;

pub(crate) use py_yaml::stays_text;
pub(crate) use scalar::Scalar;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// Files of resources, as kubectl reads them.
    Kubectl,
    /// A server's configuration, as PyYAML's safe loader reads it.
    PyYaml,
}

/// What a hostile text may ask for.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bounds {
    /// Levels of nesting: enough for any honest text, shallow enough to walk recursively.
    pub(crate) depth: usize,
    /// Collections that may be open at once.
    pub(crate) open: usize,
    /// Keys and values of a file, with every alias written out.
    pub(crate) nodes: usize,
}

impl Dialect {
    pub(crate) fn bounds(self) -> Bounds {
        match self {
            // The API server takes about 3 MiB.
            Self::Kubectl => Bounds { depth: 128, open: 127, nodes: 500_000 },
            Self::PyYaml => Bounds { depth: 64, open: 64, nodes: 100_000 },
        }
    }

    /// What a scalar means. `tag` is the part after `!!`, and `?` for a tag that YAML does not
    /// define.
    pub(crate) fn scalar(
        self,
        text: &str,
        plain: bool,
        tag: Option<&str>,
        at: Position,
    ) -> Result<Scalar, Fault> {
        match self {
            Self::Kubectl => kubectl::scalar(text, plain, tag)
                .map_err(|message| Fault::invalid(at, message, "change the value or its tag")),
            Self::PyYaml => py_yaml::scalar(text, plain, tag)
                .map_err(|message| Fault::invalid(at, message, "write the value otherwise")),
        }
    }

    /// A key's text; nothing stands for a list or a mapping.
    pub(crate) fn key(self, scalar: Option<&Scalar>, at: Position) -> Result<String, Fault> {
        match (self, scalar) {
            (Self::PyYaml, Some(Scalar::Text(text))) => Ok(text.clone()),
            (Self::PyYaml, _) => Err(Fault::invalid(at, "a key that is not text", "quote the key")),
            (Self::Kubectl, Some(scalar)) => kubectl::key(scalar).ok_or_else(|| {
                Fault::invalid(at, "null and huge numbers cannot be keys", "quote the key")
            }),
            (Self::Kubectl, None) => {
                let message = "a list or mapping cannot be a key";
                Err(Fault::invalid(at, message, "use a string as the key"))
            }
        }
    }

    /// Whether the key `<<` merges what follows into its mapping.
    pub(crate) fn merges(self, plain: bool, tag: Option<&str>) -> bool {
        (plain && tag.is_none()) || (self == Self::Kubectl && tag == Some("merge"))
    }

    /// An alias inside the value of its anchor.
    pub(crate) fn circular(self, at: Position) -> Fault {
        let subject = if self == Self::Kubectl { "this alias" } else { "an alias" };
        let message = format!("{subject} stands inside the value it points to");
        Fault::invalid(at, message, "write the value out")
    }
}
