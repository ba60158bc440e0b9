//! Scalars as they are written: unquoted where every reader takes them for the same, quoted
//! otherwise, and text of several lines line by line (`|`) where that is safe.

use std::fmt::Write;

use serde_json::Number;

use crate::dialect::stays_text;

/// What announces the lines, or nothing where the text is better quoted.
pub(super) fn literal_header(text: &str) -> Option<&'static str> {
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

/// PyYAML takes a number with an exponent for text unless it has a point and a signed exponent.
pub(super) fn number_word(number: &Number) -> String {
    let text = number.to_string();
    let Some((mantissa, exponent)) = text.split_once(['e', 'E']) else { return text };
    let point = if mantissa.contains('.') { "" } else { ".0" };
    let sign = if exponent.starts_with(['-', '+']) { "" } else { "+" };
    format!("{mantissa}{point}e{sign}{exponent}")
}

/// The text unquoted where every reader takes it for the same text, else in double quotes.
pub(super) fn word(text: &str) -> String {
    if is_plain(text) && stays_text(text) && !surprises_kubectl(text) {
        return text.to_owned();
    }
    let mut quoted = String::from('"');
    for c in text.chars() {
        match c {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if needs_escape(c) => {
                let code = u32::from(c);
                let _ = match code {
                    0..=0xff => write!(quoted, "\\x{code:02x}"),
                    0x100..=0xffff => write!(quoted, "\\u{code:04x}"),
                    _ => write!(quoted, "\\U{code:08x}"),
                };
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}

/// Characters that may stand anywhere in an unquoted word, and those that may not begin or end it.
fn is_plain(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_alphanumeric() || "_./-${}=+@~,()<>;^".contains(c);
    let first = |c: char| c.is_ascii_alphabetic() || matches!(c, '_' | '/' | '$' | '.');
    let mut previous = ' ';
    for (index, c) in text.char_indices() {
        let fine = match c {
            _ if index == 0 => first(c),
            // A colon ends a key unless a character follows; a blank next to `#` begins a comment.
            ':' => index + 1 < text.len() && !text[index + 1..].starts_with(' '),
            ' ' => previous != ' ' && index + 1 < text.len() && !text[index + 1..].starts_with('#'),
            _ => inner(c),
        };
        if !fine {
            return false;
        }
        previous = c;
    }
    !text.is_empty()
}

/// Words that only other readers of YAML 1.1 take for something else.
fn surprises_kubectl(text: &str) -> bool {
    matches!(text, "y" | "Y" | "n" | "N")
        || text.starts_with('.') && text[1..].starts_with(|c: char| c.is_ascii_digit())
}

/// What PyYAML does not accept literally, or folds as a line break.
fn needs_escape(c: char) -> bool {
    matches!(u32::from(c),
        0..=0x1f | 0x7f..=0x9f | 0x2028 | 0x2029 | 0xfeff | 0xfffe | 0xffff)
        || (u32::from(c) > 0xffff && u32::from(c) & 0xfffe == 0xfffe)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;
    use crate::read::value as read;

    #[rstest]
    #[case("yes", "\"yes\"")]
    #[case("0123", "\"0123\"")]
    #[case("12:30", "\"12:30\"")]
    #[case("1e5", "\"1e5\"")]
    #[case("n", "\"n\"")]
    #[case("~", "\"~\"")]
    #[case("", "\"\"")]
    #[case("a: b", "\"a: b\"")]
    #[case("a #b", "\"a #b\"")]
    #[case("a ", "\"a \"")]
    #[case("- a", "\"- a\"")]
    #[case("Grüße", "\"Grüße\"")]
    #[case("a\nb\u{2028}\u{7}", "\"a\\nb\\u2028\\x07\"")]
    #[case(
        "${env.VLLM_URL:=http://localhost:8000/v1}",
        "${env.VLLM_URL:=http://localhost:8000/v1}"
    )]
    #[case("inline::faiss", "inline::faiss")]
    #[case("~/.llama", "\"~/.llama\"")]
    #[case("a b", "a b")]
    fn text_is_quoted_where_a_reader_could_take_it_for_something_else(
        #[case] value: &str,
        #[case] written: &str,
    ) {
        assert_eq!(word(value), written);
        assert_eq!(read(&format!("k: {written}")).unwrap(), json!({ "k": value }));
    }
}
