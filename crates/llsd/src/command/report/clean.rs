//! Takes out of objects and texts, such as a log or a configuration file, what was written there in clear:
//! values under telling names, credentials in addresses and headers, private keys.

use std::iter;
use std::sync::LazyLock;

use regex_lite::Regex;
use serde_json::{Map, Value};

use super::telling::{LEFT_OUT, may_be_shown, tells};

static CREDENTIALS_IN_URL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"([A-Za-z][A-Za-z0-9+.-]*://)[^\s/"'<>@]*(?:@[^\s/"'<>@]*)*@"#).expect("compiles")
});
static AUTHORIZATION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\b((?i:bearer|basic))\s+[A-Za-z0-9._~+/=-]{8,}").expect("compiles")
});
/// `name=value`, `"name": "value"`, `name: [values]`, and an option of a command with its value behind it.
static ASSIGNMENT: LazyLock<Regex> = LazyLock::new(|| {
    let name = r#"--[\w.-]+\s+|[A-Za-z_][\w.-]*["']?\s*[=:]\s*"#;
    let value = r#""(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\[[^\]{}=:]*\]|[^\s"',;&}\]]+"#;
    Regex::new(&format!("({name})({value})")).expect("compiles")
});
/// At how many places of a line an object of JSON may begin, behind a timestamp and a level.
const JSON_STARTS: usize = 8;

/// Takes secrets out of a value. `told`: the name that it stands under tells that it is one.
pub(super) fn clean(value: &mut Value, told: bool) {
    match value {
        Value::Object(map) => clean_fields(map, told),
        Value::Array(items) => clean_items(items, told),
        Value::String(text) if told && !may_be_shown("", text) => LEFT_OUT.clone_into(text),
        Value::String(text) => *text = json(text).unwrap_or_else(|| without_secrets(text)),
        _ => {}
    }
}

fn clean_fields(map: &mut Map<String, Value>, told: bool) {
    // A variable: its name tells, its value is beside it.
    let variable = told || map.get("name").and_then(Value::as_str).is_some_and(tells);
    for (key, value) in map.iter_mut() {
        clean(value, tells(key) || (variable && key == "value"));
    }
}

/// Also the arguments of a command, where a value follows its option.
fn clean_items(items: &mut [Value], told: bool) {
    let mut follows = false;
    for item in items {
        let option = item.as_str().is_some_and(|text| text.starts_with('-') && tells(text));
        clean(item, told || (follows && item.is_string()));
        follows = option && item.as_str().is_some_and(|text| !text.contains('='));
    }
}

/// The text without what was written in clear.
pub(super) fn without_secrets(text: &str) -> String {
    let mut reader = LineReader::default();
    let mut cleaned: Vec<String> = text.lines().filter_map(|line| reader.cleaned(line)).collect();
    if text.ends_with('\n') {
        cleaned.push(String::new());
    }
    cleaned.join("\n")
}

/// What a value goes on with on the lines below a telling name.
#[derive(Clone, Copy)]
enum Below {
    /// Of a YAML block: all of it.
    Block,
    /// Items of a list, or a value on a line of its own; but for fields, which have names.
    Items,
}

/// Reads line by line, and knows what it is within.
#[derive(Default)]
struct LineReader {
    below: Option<(usize, Below)>,
    private_key: bool,
}

impl LineReader {
    fn cleaned(&mut self, line: &str) -> Option<String> {
        if self.private_key {
            self.private_key = !line.contains("-----END");
            return None;
        }
        if line.contains("-----BEGIN") && line.contains("PRIVATE KEY") {
            self.private_key = !line.contains("-----END");
            return Some(LEFT_OUT.to_owned());
        }
        let body = line.trim_start();
        let indent = line.len() - body.len();
        if let Some((at, below)) = self.below {
            let within = indent > at || (indent == at && body.starts_with("- "));
            match below {
                _ if body.is_empty() => return Some(String::new()),
                Below::Block if within => return None,
                Below::Items if within && field(body).is_none() => return Some(item(line, body)),
                _ if within => {}
                _ => self.below = None,
            }
        }
        if let Some((name, value)) = field(body).filter(|(name, _)| tells(name)) {
            let block = value.starts_with(['|', '>']);
            if value.is_empty() || block {
                self.below = Some((indent, if block { Below::Block } else { Below::Items }));
            }
            if !may_be_shown(name, value.trim_matches(['"', '\''])) {
                let before = line.len() - value.len();
                return Some(format!("{}{LEFT_OUT}", &line[..before]));
            }
        }
        Some(within_line(line))
    }
}

/// A YAML field with its value on the line.
fn field(body: &str) -> Option<(&str, &str)> {
    let body = body.trim_start_matches("- ");
    let (name, value) = body.split_once(": ").or_else(|| Some((body.strip_suffix(':')?, "")))?;
    let name = name.trim_matches(['"', '\'']);
    (!name.is_empty() && !name.contains(char::is_whitespace)).then_some((name, value))
}

fn item(line: &str, body: &str) -> String {
    let value = body.trim_start_matches("- ");
    if body.starts_with('#') || may_be_shown("", value.trim_matches(['"', '\''])) {
        return line.to_owned();
    }
    format!("{}{LEFT_OUT}", &line[..line.len() - value.len()])
}

fn within_line(line: &str) -> String {
    let starts = line.match_indices('{').take(JSON_STARTS).map(|(at, _)| at);
    let mut parts = iter::once(0).chain(starts).map(|at| line.split_at(at));
    match parts.find_map(|(before, rest)| Some((before, json(rest)?))) {
        Some((before, json)) => within_text(before) + &json,
        None => within_text(line),
    }
}

fn within_text(line: &str) -> String {
    let line = CREDENTIALS_IN_URL.replace_all(line, format!("${{1}}{LEFT_OUT}@"));
    let line = AUTHORIZATION.replace_all(&line, format!("$1 {LEFT_OUT}"));
    without_assigned(&line)
}

/// Behind a name that tells nothing, its value may hold another assignment.
fn without_assigned(line: &str) -> String {
    let (mut cleaned, mut done) = (String::new(), 0);
    while let Some(found) = ASSIGNMENT.captures_at(line, done) {
        let [Some(name), Some(value)] = [found.get(1), found.get(2)] else { break };
        let bare = name.as_str().trim_end().trim_end_matches(['=', ':']).trim_end();
        let bare = bare.trim_matches(['"', '\'', '-']);
        cleaned += &line[done..name.end()];
        done = name.end();
        if tells(bare) {
            let shown = value.as_str();
            let is_shown = may_be_shown(bare, shown.trim_matches(['"', '\'']));
            cleaned += if is_shown { shown } else { LEFT_OUT };
            done = value.end();
        }
    }
    cleaned + &line[done..]
}

/// A value, or the end of a line, that is JSON: by its names, as an object is.
fn json(text: &str) -> Option<String> {
    text.trim_start().starts_with(['{', '[']).then_some(())?;
    let found: Value = serde_json::from_str(text).ok()?;
    let mut cleaned = found.clone();
    clean(&mut cleaned, false);
    Some(if cleaned == found { text.to_owned() } else { cleaned.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_written_in_clear_is_taken_out_of_texts() {
        for text in [
            "url: postgresql://user:hush@db:5432/llama",
            "connecting to redis://:hush@cache:6379/0",
            "https://hush@example.org/path",
            "postgresql://user:p@hush@db/llama",
            "GET /x Authorization: Bearer hush-hush-hush",
            "started with --api-key hush --port 8321",
            "started with --api-key=hush",
            "MY_KEY=hush",
            r#"{"level": "info", "api_key": "hush", "nested": {"dsn": "hush"}}"#,
            r#"asked {"api_key": "hush and more"} of it"#,
            r#"{"tokens": ["hush", "hush"]}"#,
            r#"2026-11-18T13:58:26.123456789Z {"tokens": ["hush", "hush"]}"#,
            r#"2026-11-18T13:58:26Z [INFO] {"api_key": "quote \" hush", "at": 1}"#,
            r#"asked {"api_key": "quote \" hush"} of it"#,
            "{'tokens': ['hush', 'hush']}",
            "tokens=[hush, hush]",
            r#"keys: tokens = ["hush"]"#,
            "data: password=hush",
            r#"data: {"api_key": "hush"}"#,
            r#"items: [{"api_key": "hush"}] and more"#,
            "host=db password=hush user=me",
            "api_token: hush and more",
            "tokens:\n- hush\n- hush\n",
            "tokens:\n    - hush\n",
            "private_key: |\n  hush\n  hush\n",
            "password:\n  hush\n",
            "-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----\n",
            "?access_token=hush&page=2",
        ] {
            let shown = without_secrets(text);
            assert!(!shown.contains("hush"), "{text}\n{shown}");
        }
    }

    #[test]
    fn everything_else_stays_as_it_was() {
        for text in [
            "tokens:\n- ${env.A}\n# why\nother: 1\n",
            "api_key: ${env.KEY:=}\n",
            "max_tokens: 4096\n",
            "image: registry.example.org/llama@sha256:0123\n",
            "url: http://vllm:8000/v1\n",
            "secretName: keys\n",
            "tokens:\n- name: a\n  ttl: 3\n",
            r#"2026-11-18T13:58:26Z {"b": 1,  "a": [1, 2]}"#,
            "listening on [::1]:8321",
            "INFO: 127.0.0.1:52344 - \"GET /v1/health HTTP/1.1\" 200 OK",
        ] {
            assert_eq!(without_secrets(text), text);
        }
    }
}
