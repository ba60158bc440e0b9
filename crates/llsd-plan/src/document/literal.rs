//! Text of several lines written line by line (`|`), where every reader takes it for the same text.

use super::write::needs_escape;

/// What announces the lines, or nothing where the text is better quoted.
pub(super) fn header(text: &str) -> Option<&'static str> {
    let first = text.split('\n').next()?;
    // Readers measure the indentation at the first line, so it must not begin with a blank.
    let unclear = first.is_empty() || first.starts_with(' ') || !text.contains('\n');
    if unclear || text.contains(|c: char| c != '\n' && needs_escape(c)) {
        return None;
    }
    match text.len() - text.trim_end_matches('\n').len() {
        0 => Some("|-"),
        1 => Some("|"),
        _ => Some("|+"),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::super::{manifest, read};

    #[test]
    fn a_file_in_a_config_map_stands_there_line_by_line() {
        let object =
            json!({"data": {"config.yaml": "version: 2\n\napis:\n- safety\n"}, "list": ["a\n b"]});
        let written = manifest(&object);
        assert_eq!(
            written,
            "data:\n  config.yaml: |\n    version: 2\n\n    apis:\n    - safety\nlist:\n- |-\n  a\n   b\n"
        );
        assert_eq!(read(&written).unwrap(), object);
    }

    #[rstest]
    #[case("a\n")]
    #[case("a\nb")]
    #[case("a\n\n\n")]
    #[case("a\n   \n  b \n")]
    #[case("a\n---\n# b\n...\n")]
    #[case("\na\n")]
    #[case(" a\nb\n")]
    #[case("\n")]
    #[case("\n\n")]
    #[case("a\tb\n\tc\n")]
    #[case("a\r\nb\r\n")]
    #[case("a\u{85}b\n\u{2028}\n")]
    #[case("Grüße\n")]
    fn every_text_is_read_back_as_it_was(#[case] text: &str) {
        let object = json!({"a": text, "b": [text, {"c": text, "d": 1}], "e": {"f": text}});
        assert_eq!(read(&manifest(&object)).unwrap(), object, "{}", manifest(&object));
    }
}
