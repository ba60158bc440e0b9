//! What an unquoted word means: the YAML 1.1 rules of the reader inside kubectl, where `on` is a
//! boolean and `0123` is 83. `tests/data/yaml_as_kubectl_reads_it.json` holds the proof.

use serde_json::{Number, Value};

/// A scalar with the type that kubectl's reader gives it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Scalar {
    Null,
    Bool(bool),
    Int(i64),
    /// An integer beyond `i64`: a number as a value, refused as a key.
    Big(u64),
    Float(f64),
    Text(String),
}

impl Scalar {
    /// `tag` is the part after `!!`; a tag that YAML does not define makes text of any scalar.
    pub(super) fn resolve(text: &str, plain: bool, tag: Option<&str>) -> Result<Self, String> {
        let wrong = |tag| Err(format!("`{text}` cannot be read as !!{tag}"));
        match tag {
            None if plain => Ok(infer(text)),
            Some("binary") => decode_base64(text)
                .map(|bytes| Self::Text(String::from_utf8_lossy(&bytes).into_owned()))
                .ok_or_else(|| "the value of !!binary is not base64".to_owned()),
            Some("timestamp") if is_date(text) => Ok(Self::Text(text.to_owned())),
            Some(tag @ ("null" | "bool" | "int" | "float" | "timestamp")) => {
                match (tag, infer(text)) {
                    ("null", value @ Self::Null)
                    | ("bool", value @ Self::Bool(_))
                    | ("int", value @ (Self::Int(_) | Self::Big(_)))
                    | ("float", value @ (Self::Float(_) | Self::Int(_))) => Ok(value),
                    _ => wrong(tag),
                }
            }
            _ => Ok(Self::Text(text.to_owned())),
        }
    }

    /// The value as JSON, or nothing for infinities and not-a-number, which JSON cannot hold.
    pub(super) fn to_json(&self) -> Option<Value> {
        Some(match self {
            Self::Null => Value::Null,
            Self::Bool(value) => Value::Bool(*value),
            Self::Int(value) => Value::from(*value),
            #[allow(clippy::cast_precision_loss)] // The API server's own number type beyond i64.
            Self::Big(value) => Value::from(*value as f64),
            Self::Float(value) => float_to_json(*value)?,
            Self::Text(text) => Value::String(text.clone()),
        })
    }

    /// The scalar as a mapping's key, or nothing where kubectl refuses it.
    pub(super) fn to_key(&self) -> Option<String> {
        Some(match self {
            Self::Null | Self::Big(_) => return None,
            Self::Bool(value) => value.to_string(),
            Self::Int(value) => value.to_string(),
            Self::Float(value) => float_key(*value),
            Self::Text(text) => text.clone(),
        })
    }
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
    text.split('_')
        .enumerate()
        .all(|(index, part)| index == 0 || (part.starts_with(|first: char| first.is_ascii_digit())))
        && text
            .split('_')
            .rev()
            .skip(1)
            .all(|part| part.ends_with(|last: char| last.is_ascii_digit()))
}

/// Whole floats reach the API server without a point, so there `8321.0` is the integer 8321.
fn float_to_json(value: f64) -> Option<Value> {
    const BEYOND_I64: f64 = 9_223_372_036_854_775_808.0;
    if value.fract() == 0.0 && value.abs() < BEYOND_I64 {
        #[allow(clippy::cast_possible_truncation)] // Whole, and in range.
        return Some(Value::from(value as i64));
    }
    Number::from_f64(value).map(Value::Number)
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

/// Standard base64 with its padding; line breaks are skipped.
fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let symbols: Vec<u8> = text.bytes().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    let mut bytes = Vec::with_capacity(symbols.len() / 4 * 3);
    let groups = symbols.chunks_exact(4);
    if !groups.remainder().is_empty() {
        return None;
    }
    let last = groups.len().saturating_sub(1);
    for (index, group) in groups.enumerate() {
        let padding = group.iter().rev().take_while(|symbol| **symbol == b'=').count();
        if padding > 2 || (padding > 0 && index != last) {
            return None;
        }
        let mut bits = 0_u32;
        for symbol in &group[..4 - padding] {
            bits = bits << 6 | sextet(*symbol)?;
        }
        bits <<= 6 * padding;
        bytes.extend_from_slice(&bits.to_be_bytes()[1..4 - padding]);
    }
    Some(bytes)
}

fn sextet(symbol: u8) -> Option<u32> {
    let value = match symbol {
        b'A'..=b'Z' => symbol - b'A',
        b'a'..=b'z' => symbol - b'a' + 26,
        b'0'..=b'9' => symbol - b'0' + 52,
        b'+' => 62,
        b'/' => 63,
        _ => return None,
    };
    Some(u32::from(value))
}
