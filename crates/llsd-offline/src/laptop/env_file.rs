//! A `.env` file: one `NAME=VALUE` a line, with comments and quotes. What is wrong is said by line and name, never
//! with a value.

use std::collections::BTreeMap;
use std::fmt;

/// The variables of a file.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct EnvFile {
    pub variables: BTreeMap<String, String>,
}

/// Values are secrets.
impl fmt::Debug for EnvFile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.variables.keys()).finish()
    }
}

/// What is wrong with a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnvFileError {
    pub line: usize,
    pub message: String,
    pub remedy: &'static str,
}

impl EnvFile {
    /// The variables, or everything that is wrong with the text.
    pub fn parse(text: &str) -> Result<Self, Vec<EnvFileError>> {
        let (mut variables, mut errors) = (BTreeMap::new(), Vec::new());
        let mut lines: BTreeMap<String, usize> = BTreeMap::new();
        for (index, line) in text.trim_start_matches('\u{feff}').lines().enumerate() {
            let number = index + 1;
            let mut wrong = |message: String, remedy| {
                errors.push(EnvFileError { line: number, message, remedy });
            };
            match parse_line(line) {
                Ok(None) => {}
                Err((message, remedy)) => wrong(message, remedy),
                Ok(Some((name, _))) if lines.contains_key(name) => {
                    let first = lines[name];
                    wrong(format!("{name} is already set on line {first}"), "keep one of them");
                }
                Ok(Some((name, value))) => {
                    lines.insert(name.to_owned(), number);
                    variables.insert(name.to_owned(), value);
                }
            }
        }
        if errors.is_empty() { Ok(Self { variables }) } else { Err(errors) }
    }
}

type Wrong = (String, &'static str);

/// The name and value of a line, nothing of an empty line or a comment.
fn parse_line(line: &str) -> Result<Option<(&str, String)>, Wrong> {
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return Ok(None);
    }
    let line = line.strip_prefix("export ").map_or(line, str::trim_start);
    let Some((name, value)) = line.split_once('=') else {
        return Err(("the line has no `=`".to_owned(), "write NAME=VALUE, or # before a comment"));
    };
    let name = name.trim_end();
    if !is_name(name) {
        // What stands there may be a part of a secret.
        let message = "what stands before `=` is not the name of a variable".to_owned();
        return Err((message, "a name has letters, digits and `_`, and no digit first"));
    }
    let value = value.trim();
    let parsed = match value.chars().next() {
        Some(quote @ ('"' | '\'')) => quoted(&value[1..], quote)
            .map_err(|message| (format!("the value of {name} {message}"), QUOTES))?,
        _ => unquoted(value),
    };
    if parsed.contains('\0') {
        let message = format!("the value of {name} has a NUL character");
        return Err((message, "remove it: no program can be given it"));
    }
    Ok(Some((name, parsed)))
}

const QUOTES: &str =
    "close the quote on the same line, with nothing but a comment after it; \"\\n\" is a new line";

pub(super) fn is_name(name: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(|c: char| fits(c) && !c.is_ascii_digit()) && name.chars().all(fits)
}

fn unquoted(value: &str) -> String {
    if value.starts_with('#') {
        return String::new();
    }
    let end = value.find(" #").or_else(|| value.find("\t#")).unwrap_or(value.len());
    value[..end].trim_end().to_owned()
}

/// The value up to the closing quote. In double quotes a backslash starts an escape, in single quotes nothing does.
fn quoted(text: &str, quote: char) -> Result<String, &'static str> {
    let mut value = String::new();
    let mut rest = text.chars();
    while let Some(c) = rest.next() {
        match c {
            _ if c == quote => {
                let after = rest.as_str().trim_start();
                let is_comment = after.is_empty() || after.starts_with('#');
                return if is_comment { Ok(value) } else { Err("goes on after its closing quote") };
            }
            '\\' if quote == '"' => match rest.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some(escaped @ ('"' | '\\' | '$' | '`')) => value.push(escaped),
                Some(other) => value.extend(['\\', other]),
                None => break,
            },
            _ => value.push(c),
        }
    }
    Err("has no closing quote")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_values_comments_and_quotes_are_read_as_shells_do() {
        let text = "\u{feff}# a comment\n\nPLAIN=value\nexport EXPORTED = spaced \nEMPTY=\nCOMMENTED=a#b # c\n\
                    SINGLE='a \"b\" \\n #c' # d\nDOUBLE=\"a\\nb \\\"c\\\" \\$d \\e\"\nURL=http://h:1/?a=b\nNOTHING= # c\r\n";
        let variables = EnvFile::parse(text).unwrap().variables;
        let expected = [
            ("COMMENTED", "a#b"),
            ("DOUBLE", "a\nb \"c\" $d \\e"),
            ("EMPTY", ""),
            ("EXPORTED", "spaced"),
            ("NOTHING", ""),
            ("PLAIN", "value"),
            ("SINGLE", "a \"b\" \\n #c"),
            ("URL", "http://h:1/?a=b"),
        ];
        let found: Vec<(&str, &str)> = variables.iter().map(|(a, b)| (&**a, &**b)).collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn everything_that_is_wrong_is_listed_by_line_and_no_value_is_shown() {
        let text =
            "A=1\nhunter2\nhunter2: x=1\nB=\"hunter2\nC='hunter2' hunter2\nA=hunter2\n1X=hunter2\n";
        let errors = EnvFile::parse(text).unwrap_err();
        let lines: Vec<usize> = errors.iter().map(|error| error.line).collect();
        assert_eq!(lines, [2, 3, 4, 5, 6, 7]);
        assert!(errors[4].message.contains("A is already set on line 1"));
        assert!(!format!("{errors:?}").contains("hunter2"));
        assert_eq!(format!("{:?}", EnvFile::parse("KEY=hunter2").unwrap()), "{\"KEY\"}");
    }
}
