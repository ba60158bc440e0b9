//! What an unquoted word means: the YAML 1.1 rules of the reader inside kubectl, where `on` is a
//! boolean and `0123` is 83. `tests/data/yaml_as_kubectl_reads_it.json` holds the proof.

use base64::Engine;
use base64::alphabet;
use base64::engine::{GeneralPurpose, GeneralPurposeConfig};

use super::scalar::Scalar;

/// As Go decodes it: with its padding, and whatever bits stand before that.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_allow_trailing_bits(true),
);

/// A tag that YAML does not define makes text of any scalar.
pub(super) fn scalar(text: &str, plain: bool, tag: Option<&str>) -> Result<Scalar, String> {
    match tag {
        None if plain => Ok(infer(text)),
        Some("binary") => binary(text)
            .map(Scalar::Text)
            .ok_or_else(|| "the value of !!binary is not base64".to_owned()),
        Some("timestamp") if is_date(text) => Ok(Scalar::Text(text.to_owned())),
        Some(tag @ ("null" | "bool" | "int" | "float" | "timestamp")) => match (tag, infer(text)) {
            ("null", value @ Scalar::Null)
            | ("bool", value @ Scalar::Bool(_))
            | ("int", value @ (Scalar::Int(_) | Scalar::Big(_)))
            | ("float", value @ (Scalar::Float(_) | Scalar::Int(_))) => Ok(value),
            _ => Err(format!("`{text}` cannot be read as !!{tag}")),
        },
        _ => Ok(Scalar::Text(text.to_owned())),
    }
}

/// The scalar as a mapping's key, or nothing where kubectl refuses it.
pub(super) fn key(scalar: &Scalar) -> Option<String> {
    Some(match scalar {
        Scalar::Null | Scalar::Big(_) | Scalar::Number(_) => return None,
        Scalar::Bool(value) => value.to_string(),
        Scalar::Int(value) => value.to_string(),
        Scalar::Float(value) => float_key(*value),
        Scalar::Text(text) => text.clone(),
    })
}

fn infer(text: &str) -> Scalar {
    match text {
        "" | "~" | "null" | "Null" | "NULL" => return Scalar::Null,
        "y" | "Y" | "yes" | "Yes" | "YES" | "true" | "True" | "TRUE" | "on" | "On" | "ON" => {
            return Scalar::Bool(true);
        }
        "n" | "N" | "no" | "No" | "NO" | "false" | "False" | "FALSE" | "off" | "Off" | "OFF" => {
            return Scalar::Bool(false);
        }
        ".nan" | ".NaN" | ".NAN" => return Scalar::Float(f64::NAN),
        ".inf" | ".Inf" | ".INF" | "+.inf" | "+.Inf" | "+.INF" => {
            return Scalar::Float(f64::INFINITY);
        }
        "-.inf" | "-.Inf" | "-.INF" => return Scalar::Float(f64::NEG_INFINITY),
        _ => {}
    }
    let number = match text.as_bytes()[0] {
        // Here, and only here, underscores must stand between digits.
        b'.' if underscores_between_digits(text) => float(&text.replace('_', "")),
        b'0'..=b'9' | b'+' | b'-' => {
            let plain = text.replace('_', "");
            integer(&plain).or_else(|| float(&plain)).or_else(|| odd_binary(&plain))
        }
        _ => None,
    };
    number.unwrap_or_else(|| Scalar::Text(text.to_owned()))
}

/// An integer with an optional sign and the prefixes `0x`, `0o`, `0b` or a bare `0` for octal.
fn integer(text: &str) -> Option<Scalar> {
    let (negative, digits) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    let signed = digits.len() < text.len();
    let (radix, digits) = match digits.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
        [b'0', b'o' | b'O', ..] => (8, &digits[2..]),
        [b'0', b'b' | b'B', ..] => (2, &digits[2..]),
        [b'0', _, ..] => (8, &digits[1..]),
        _ => (10, digits),
    };
    if !digits.bytes().all(|digit| digit.is_ascii_alphanumeric()) {
        return None;
    }
    let magnitude = u64::from_str_radix(digits, radix).ok()?;
    if negative {
        return 0_i64.checked_sub_unsigned(magnitude).map(Scalar::Int);
    }
    match i64::try_from(magnitude) {
        Ok(value) => Some(Scalar::Int(value)),
        Err(_) if signed => None,
        Err(_) => Some(Scalar::Big(magnitude)),
    }
}

/// `[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?`; one too large for a float stays text.
fn float(text: &str) -> Option<Scalar> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let numeric =
        unsigned.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'-' | b'+'));
    if !numeric || unsigned.starts_with(['-', '+']) {
        return None;
    }
    text.parse::<f64>().ok().filter(|value| value.is_finite()).map(Scalar::Float)
}

/// kubectl's reader also takes a sign after the prefix of a binary number: `0b-1`.
fn odd_binary(text: &str) -> Option<Scalar> {
    i64::from_str_radix(text.strip_prefix("0b")?, 2).ok().map(Scalar::Int)
}

fn underscores_between_digits(text: &str) -> bool {
    let is_digit = |c: char| c.is_ascii_digit();
    let mut underscores = text.match_indices('_');
    underscores
        .all(|(at, _)| text[..at].ends_with(is_digit) && text[at + 1..].starts_with(is_digit))
}

/// A float as a key is written as Go's `%g` writes a 32-bit float, two-digit exponent included.
fn float_key(value: f64) -> String {
    #[allow(clippy::cast_possible_truncation)] // What kubectl does.
    let short = value as f32;
    if short.is_nan() {
        return ".nan".to_owned();
    }
    if short.is_infinite() {
        return if short > 0.0 { ".inf" } else { "-.inf" }.to_owned();
    }
    let scientific = format!("{short:e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..6).contains(&exponent) {
        return short.to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{mantissa}e{sign}{:02}", exponent.abs())
}

/// Four digits and a dash, as every date that YAML 1.1 knows begins.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    bytes.len() >= 8 && bytes[..4].iter().all(u8::is_ascii_digit) && bytes[4] == b'-'
}

/// What base64 says, as text; line breaks in it are skipped.
fn binary(text: &str) -> Option<String> {
    let bytes = BASE64.decode(text.replace(['\r', '\n'], "")).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binary_values_are_decoded_as_go_does() {
        for (text, expected) in [
            ("", Some("")),
            ("aGk=", Some("hi")),
            ("aG\r\nk=\n", Some("hi")),
            ("aGl=", Some("hi")),
            ("aGk", None),
            ("a===", None),
            ("aGk=aGk=", None),
            ("aG k=", None),
            ("-_-_", None),
        ] {
            assert_eq!(binary(text).as_deref(), expected, "{text:?}");
        }
    }
}
