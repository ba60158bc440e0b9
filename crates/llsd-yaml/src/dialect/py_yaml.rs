//! What an unquoted word means to PyYAML's safe loader, which is what the server reads its
//! configuration with: YAML 1.1 with `on` as a boolean, `0123` as 83 and `12:30` as 750, but with
//! `y` and `1e5` as text. The commands that read *resources* follow kubectl instead.

use std::sync::LazyLock;

use regex_lite::Regex;
use serde_json::Number;

use super::scalar::Scalar;

static INTEGER: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        "0b[01_]+",
        "0[0-7_]+",
        "0x[0-9a-fA-F_]+",
        "0|[1-9][0-9_]*",
        "[1-9][0-9_]*(:[0-5]?[0-9])+",
    ];
    regex(&format!("^[-+]?({})$", forms.join("|")))
});
static FLOAT: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        r"[-+]?[0-9][0-9_]*\.[0-9_]*([eE][-+][0-9]+)?",
        r"\.[0-9][0-9_]*([eE][-+][0-9]+)?",
        r"[-+]?[0-9][0-9_]*(:[0-5]?[0-9])+\.[0-9_]*",
    ];
    regex(&format!("^({})$", forms.join("|")))
});
static NOT_FINITE: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant")
}

pub(super) fn scalar(text: &str, plain: bool, tag: Option<&str>) -> Result<Scalar, String> {
    match tag {
        None if !plain => Ok(Scalar::Text(text.to_owned())),
        Some("str") => Ok(Scalar::Text(text.to_owned())),
        None | Some("null" | "bool" | "int" | "float") => {
            resolve(text).map_err(|wrong| format!("`{text}` {wrong}"))
        }
        Some(_) => Err("a tag that the server does not know".to_owned()),
    }
}

/// The value of an unquoted word, or what is wrong with it.
fn resolve(text: &str) -> Result<Scalar, &'static str> {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Ok(Scalar::Null),
        "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Ok(Scalar::Bool(true));
        }
        "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Ok(Scalar::Bool(false));
        }
        _ => {}
    }
    // Dates stay text here: the server has no field that takes one.
    if !text.starts_with(|first: char| first.is_ascii_digit() || matches!(first, '-' | '+' | '.')) {
        return Ok(Scalar::Text(text.to_owned()));
    }
    if INTEGER.is_match(text) {
        return integer(&text.replace('_', "")).ok_or("is too large a number");
    }
    if FLOAT.is_match(text) {
        return float(&text.replace('_', "")).ok_or("is too large a number");
    }
    if NOT_FINITE.is_match(text) {
        return Err("is not a finite number");
    }
    Ok(Scalar::Text(text.to_owned()))
}

/// Whether PyYAML would read the word back as the text that it is.
pub(crate) fn stays_text(text: &str) -> bool {
    !matches!(text, "<<" | "=")
        && matches!(resolve(text), Ok(Scalar::Text(_)))
        && !text.starts_with(|first: char| first.is_ascii_digit())
}

fn integer(text: &str) -> Option<Scalar> {
    let (negative, digits) = sign(text);
    let magnitude: i128 = match digits.as_bytes() {
        [b'0', b'b', ..] => i128::from_str_radix(&digits[2..], 2).ok()?,
        [b'0', b'x', ..] => i128::from_str_radix(&digits[2..], 16).ok()?,
        [b'0', _, ..] => i128::from_str_radix(&digits[1..], 8).ok()?,
        _ => digits
            .split(':')
            .try_fold(0_i128, |sum, part| sum.checked_mul(60)?.checked_add(part.parse().ok()?))?,
    };
    let value = if negative { -magnitude } else { magnitude };
    let number = i64::try_from(value).map(Number::from);
    number.or_else(|_| u64::try_from(value).map(Number::from)).map(Scalar::Number).ok()
}

fn float(text: &str) -> Option<Scalar> {
    let (negative, digits) = sign(text);
    let magnitude = digits
        .split(':')
        .try_fold(0.0, |sum: f64, part| Some(sum * 60.0 + part.parse::<f64>().ok()?))?;
    Number::from_f64(if negative { -magnitude } else { magnitude }).map(Scalar::Number)
}

fn sign(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    #[rstest]
    #[case("on", json!(true))]
    #[case("No", json!(false))]
    #[case("y", json!("y"))]
    #[case("", json!(null))]
    #[case("0123", json!(83))]
    #[case("0o17", json!("0o17"))]
    #[case("0x1F", json!(31))]
    #[case("12:30", json!(750))]
    #[case("1_000", json!(1000))]
    #[case("1e5", json!("1e5"))]
    #[case("1.0e+5", json!(100_000.0))]
    #[case(".5", json!(0.5))]
    #[case("1.", json!(1.0))]
    #[case("-7", json!(-7))]
    #[case("08", json!("08"))]
    #[case("18446744073709551615", json!(18_446_744_073_709_551_615_u64))]
    #[case("2024-01-01", json!("2024-01-01"))]
    #[case("0.7.3", json!("0.7.3"))]
    fn words_mean_what_they_mean_to_the_server(#[case] word: &str, #[case] value: Value) {
        assert_eq!(resolve(word).map(|scalar| scalar.to_json()), Ok(Some(value)));
    }

    #[test]
    fn infinities_and_huge_numbers_are_refused() {
        assert!(resolve(".inf").is_err());
        assert!(resolve("99999999999999999999999").is_err());
    }
}
