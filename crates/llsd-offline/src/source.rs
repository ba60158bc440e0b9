//! A text with resources, and where it is from.

use llsd_api::KIND;
use llsd_yaml::{Fault, decode};

/// A file's name as the user wrote it, and its text unless that cannot be read as text.
#[derive(Clone, Debug)]
pub struct Source {
    pub name: String,
    pub text: Result<String, Fault>,
    /// A file of a folder may hold anything besides resources; one that was named is meant to hold some.
    pub(crate) is_named: bool,
    /// Whether the kind of our resources stands in it anywhere, also where it cannot be read as text.
    names_the_kind: bool,
}

impl Source {
    pub fn new(name: impl Into<String>, bytes: Vec<u8>) -> Self {
        let in_bytes = names_the_kind(&bytes);
        let text = decode(bytes);
        let names_the_kind =
            in_bytes || text.as_ref().is_ok_and(|text| names_the_kind(text.as_bytes()));
        Self { name: name.into(), text, is_named: true, names_the_kind }
    }

    /// Whether something wrong in it may be about a resource. Folders hold other texts, too: values and templates
    /// of charts, settings of other programs.
    pub(crate) fn is_meant_for_us(&self) -> bool {
        self.is_named || self.names_the_kind
    }

    /// It was not named, but found in a folder that was.
    #[must_use]
    pub fn found_in_a_folder(self) -> Self {
        Self { is_named: false, ..self }
    }
}

/// However it is capitalized: the wrong case is one of the mistakes to be found.
fn names_the_kind(bytes: &[u8]) -> bool {
    bytes.windows(KIND.len()).any(|part| part.eq_ignore_ascii_case(KIND.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(bytes: &[u8]) -> Source {
        Source::new("a.yaml", bytes.to_vec()).found_in_a_folder()
    }

    #[test]
    fn a_file_of_a_folder_is_meant_for_us_where_the_kind_stands_in_it() {
        let text = format!("\u{feff}kind: {KIND}");
        let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
        assert!(found(text.as_bytes()).is_meant_for_us());
        assert!(found(text.to_lowercase().as_bytes()).is_meant_for_us(), "in the wrong case");
        assert!(found(&utf16).is_meant_for_us());
        let unreadable = found(&[b"\xe9 kind: ".as_slice(), KIND.as_bytes()].concat());
        assert!(unreadable.text.is_err() && unreadable.is_meant_for_us());
        assert!(!found(b"replicaCount: 1").is_meant_for_us());
        assert!(Source::new("a.yaml", b"replicaCount: 1".to_vec()).is_meant_for_us());
    }
}
