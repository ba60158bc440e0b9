//! Checks single values against the described schema, and says what a value is where it should be
//! something else.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, PoisonError, RwLock};

use llsd_api::patterns::remedy;
use llsd_api::rules::{
    CONDITION_SHAPE, EXPOSE_SHAPE, NAME_OR_OBJECT, ONE_SECRET_SPELLING, PROVIDER_SHAPE, Rule, Words,
};
use llsd_api::schema::Shape;
use regex_lite::Regex;
use serde_json::Value;

use crate::problems::{FieldPath, Findings, Reason};

/// The field of an object; `null` counts as absent, as the API server drops it.
pub(super) fn present<'a>(object: &'a Value, field: &str) -> Option<&'a Value> {
    object.get(field).filter(|value| !value.is_null())
}

/// A rule that the API server checks, too.
pub(super) fn broken(rule: &Rule, path: &FieldPath, reason: Reason, findings: &mut Findings) {
    findings.problem(path, reason, rule.message, rule.remedy);
}

/// A rule that only admission checks.
pub(super) fn against(words: Words, path: &FieldPath, reason: Reason, findings: &mut Findings) {
    findings.problem(path, reason, words.message, words.remedy);
}

pub(super) fn check_string(schema: &Value, text: &str, path: &FieldPath, findings: &mut Findings) {
    let length = text.chars().count();
    check_least(schema, "Length", length, "characters", path, findings);
    if let Some(max) = bound(schema, "max", "Length").filter(|max| length > *max) {
        let message = format!("has more than {max} characters");
        findings.problem(path, Reason::Invalid, message, format!("keep at most {max}"));
    }
    let pattern = schema["pattern"].as_str();
    if let Some(pattern) = pattern.filter(|_| !(text.is_empty() && schema["minLength"].is_u64()))
        && !matches(pattern, text)
    {
        findings.problem(
            path,
            Reason::Invalid,
            format!("`{}` is not well-formed", shortened(text)),
            remedy(pattern),
        );
    }
    if let Some(allowed) = schema["enum"].as_array()
        && !allowed.iter().any(|value| value == text)
    {
        let allowed: Vec<&str> = allowed.iter().filter_map(Value::as_str).collect();
        findings.problem(
            path,
            Reason::Invalid,
            format!("`{}` is not supported", shortened(text)),
            format!("use one of {}", allowed.join(", ")),
        );
    }
}

pub(super) fn check_number(
    schema: &Value,
    value: &Value,
    path: &FieldPath,
    findings: &mut Findings,
) {
    // Read as the Rust type would be: beyond it the typed resource could not be read at all.
    let (mut low, mut high) = match schema["format"].as_str() {
        Some("int32") => (f64::from(i32::MIN), f64::from(i32::MAX)),
        _ => (f64::MIN, f64::MAX),
    };
    low = schema["minimum"].as_f64().unwrap_or(low);
    high = schema["maximum"].as_f64().unwrap_or(high);
    let number = value.as_f64().unwrap_or(f64::NAN);
    if !(low..=high).contains(&number) {
        let (at_least, at_most) = (schema["minimum"].is_number(), high < f64::MAX);
        let bounds = match (at_least, at_most) {
            (true, true) if high < f64::from(i32::MAX) => format!("from {low} to {high}"),
            (true, _) if number < low => format!("of at least {low}"),
            _ => format!("of at most {high}"),
        };
        findings.problem(
            path,
            Reason::Invalid,
            format!("{value} is out of range"),
            format!("use a number {bounds}"),
        );
    }
}

/// The lower bound of a length.
pub(super) fn check_least(
    schema: &Value,
    what: &str,
    count: usize,
    unit: &str,
    path: &FieldPath,
    findings: &mut Findings,
) {
    if let Some(min) = bound(schema, "min", what).filter(|min| count < *min) {
        let message = if count == 0 {
            "must not be empty".into()
        } else {
            format!("has fewer than {min} {unit}")
        };
        findings.problem(path, Reason::Invalid, message, "write a value or remove the field");
    }
}

/// The upper bound of a list or a map; whether it is kept.
pub(super) fn check_limit(
    schema: &Value,
    what: &str,
    count: usize,
    unit: &str,
    path: &FieldPath,
    findings: &mut Findings,
) -> bool {
    let exceeded = bound(schema, "max", what).filter(|max| count > *max);
    if let Some(max) = exceeded {
        let message = format!("has more than {max} {unit}");
        findings.problem(path, Reason::LimitExceeded, message, format!("keep at most {max}"));
    }
    exceeded.is_none()
}

fn bound(schema: &Value, end: &str, what: &str) -> Option<usize> {
    schema[format!("{end}{what}")].as_u64().and_then(|bound| usize::try_from(bound).ok())
}

pub(super) fn misshapen(shape: Shape, value: &Value, path: &FieldPath, findings: &mut Findings) {
    let remedy = match shape {
        Shape::ObjectOrList => PROVIDER_SHAPE.remedy,
        Shape::StringOrObject => NAME_OR_OBJECT.remedy,
        Shape::StringOrList => CONDITION_SHAPE.remedy,
        Shape::BoolOrObject => EXPOSE_SHAPE.remedy,
        Shape::Secret | Shape::StringOrSecret => ONE_SECRET_SPELLING.remedy,
    };
    let message = format!("must be {}, not {}", shape.expects(), kind(value));
    findings.problem(path, Reason::WrongType, message, remedy);
}

pub(super) fn wrong_type(expected: &str, value: &Value, path: &FieldPath, findings: &mut Findings) {
    let message = format!("must be {expected}, not {}", kind(value));
    let remedy = match value {
        Value::Bool(_) | Value::Number(_) if expected == "a string" => {
            "put the value in quotes".to_owned()
        }
        Value::String(text) if expected == "a list" => format!("write [{}]", shortened(text)),
        Value::String(_) => "remove the quotes, or write the value that is meant".to_owned(),
        _ => format!("write {expected}"),
    };
    findings.problem(path, Reason::WrongType, message, remedy);
}

fn kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "a boolean",
        Value::Number(_) => "a number",
        Value::String(_) => "a string",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

pub(super) fn article(kind: &str) -> &'static str {
    match kind {
        "object" => "an object",
        "array" => "a list",
        "string" => "a string",
        "boolean" => "true or false",
        "integer" => "a whole number",
        _ => "a number",
    }
}

pub(super) fn is_integer(value: &Value) -> bool {
    value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
}

/// Enough of a value to recognise it; a misplaced certificate should not fill the screen.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The patterns of the schemas, each compiled once: compiling one takes longer than all other checks
/// of a resource together.
static COMPILED: LazyLock<RwLock<HashMap<String, Arc<Regex>>>> = LazyLock::new(RwLock::default);

/// Whether the text is as the pattern of a schema asks for.
fn matches(pattern: &str, text: &str) -> bool {
    compiled(pattern).is_match(text)
}

fn compiled(pattern: &str) -> Arc<Regex> {
    let known = COMPILED.read().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = known.get(pattern) {
        return Arc::clone(known);
    }
    drop(known);
    let new = Arc::new(compile(pattern));
    let mut known = COMPILED.write().unwrap_or_else(PoisonError::into_inner);
    known.insert(pattern.to_owned(), Arc::clone(&new));
    new
}

fn compile(pattern: &str) -> Regex {
    Regex::new(pattern).expect("patterns of the schema are valid")
}
