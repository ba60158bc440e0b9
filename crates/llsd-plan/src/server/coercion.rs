//! What the server does to a value that comes out of an environment variable: text that looks like
//! a number or a boolean becomes one, and the field that wanted text then refuses it.

/// Whether the server would turn the text into something that is not text. Follows Python's
/// `int()` and `float()`, which is what the server calls.
pub fn coerced(text: &str) -> bool {
    if matches!(text.to_lowercase().as_str(), "true" | "false") {
        return true;
    }
    let trimmed = text.trim();
    let unsigned = trimmed.strip_prefix(['-', '+']).unwrap_or(trimmed);
    if matches!(unsigned.to_lowercase().as_str(), "inf" | "infinity" | "nan") {
        return true;
    }
    let underscores_inside = unsigned.split('_').all(|part| !part.is_empty());
    let plain: String = unsigned.chars().filter(|c| *c != '_').collect();
    underscores_inside
        && plain.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && plain.chars().all(|c| c.is_ascii_digit() || matches!(c, '.' | 'e' | 'E' | '+' | '-'))
        && plain.parse::<f64>().is_ok()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("123456", true)]
    #[case("0123", true)]
    #[case("1e5", true)]
    #[case("1_000", true)]
    #[case(" 12 ", true)]
    #[case("-3.5", true)]
    #[case("TRUE", true)]
    #[case("Infinity", true)]
    #[case("nan", true)]
    #[case("sk-123", false)]
    #[case("12a", false)]
    #[case("_1", false)]
    #[case("", false)]
    #[case("%31%32", false)]
    #[case("0x1f", false)]
    fn text_that_python_reads_as_a_number_or_boolean_is_found(
        #[case] text: &str,
        #[case] is_coerced: bool,
    ) {
        assert_eq!(coerced(text), is_coerced);
    }
}
