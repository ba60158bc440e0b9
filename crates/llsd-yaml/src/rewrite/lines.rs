//! Lines of YAML in the making: indentation, and pieces of another text moved to a new one.

use serde_json::{Value, json};

use super::layout::Layout;
use super::pieces::line_start;
use crate::document::manifest;

#[derive(Clone, Debug, Default)]
pub(super) struct Lines(Vec<String>);

impl Lines {
    /// The document: the old head, these lines, the old foot, in the old kind of line ends.
    pub(super) fn text(&self, layout: &Layout<'_>) -> String {
        let body = self.0.join("\n") + "\n";
        let newline = if layout.text.contains("\r\n") { "\r\n" } else { "\n" };
        let (head, foot) = (&layout.text[layout.head.clone()], &layout.text[layout.foot.clone()]);
        format!("{head}{}{foot}", body.replace('\n', newline))
    }

    pub(super) fn push(&mut self, indent: usize, text: &str) {
        self.0.push(format!("{}{}", " ".repeat(indent), text.trim_end()));
    }

    /// An empty line, unless what follows is the first of its kind.
    pub(super) fn set_apart(&mut self) {
        if self.0.last().is_some_and(|last| !last.is_empty() && !last.ends_with(':')) {
            self.0.push(String::new());
        }
    }

    /// A line that ends here, with a comment behind it.
    pub(super) fn begin(&mut self, lead: &str, indent: usize, text: &str, behind: Option<&str>) {
        let comment = behind.map(|behind| format!(" {behind}")).unwrap_or_default();
        self.0.push(format!("{}{text}{comment}", prefix(lead, indent)));
    }

    /// A value that is no collection, or an empty one, behind its key or dash.
    pub(super) fn value(
        &mut self,
        lead: &str,
        indent: usize,
        head: &str,
        value: &Value,
        behind: Option<&str>,
    ) {
        let text = manifest(&json!({"k": value}));
        let rest = text.strip_prefix("k:").unwrap_or(&text);
        let mut rest = rest.trim_end_matches('\n').split('\n');
        let first = rest.next().unwrap_or_default();
        self.begin(lead, indent, &format!("{head}{first}"), behind);
        self.0.extend(rest.map(|line| shifted(line, 0, indent)));
    }

    /// Text of another place: `head`, and behind it `rest`, whose lines move from one column to
    /// another.
    pub(super) fn copied(
        &mut self,
        lead: &str,
        head: &str,
        rest: &str,
        (from, to): (usize, usize),
        behind: Option<&str>,
    ) {
        let mut lines = rest.trim_end_matches(['\n', '\r']).lines();
        let first = lines.next().unwrap_or_default().trim_end();
        // Two comments cannot stand behind one line.
        let comment = match behind {
            Some(behind) if first.contains(" #") => {
                let indent = to - lead.len();
                self.push(indent, behind);
                None
            }
            other => other,
        };
        self.begin(lead, to, &format!("{head}{first}"), comment);
        self.0.extend(lines.map(|line| shifted(line, from, to)));
    }
}

fn prefix(lead: &str, indent: usize) -> String {
    format!("{}{lead}", " ".repeat(indent - lead.len()))
}

/// A line that stood at one column, at another.
fn shifted(line: &str, from: usize, to: usize) -> String {
    let line = line.trim_end_matches('\r');
    if line.is_empty() {
        return String::new();
    }
    if to >= from {
        return format!("{}{line}", " ".repeat(to - from));
    }
    let blank = line.len() - line.trim_start_matches(' ').len();
    line[blank.min(from - to)..].to_owned()
}

/// A key as YAML writes it.
pub(super) fn key(key: &str) -> String {
    let text = manifest(&json!({key: null}));
    text.trim_end().strip_suffix(": null").unwrap_or(key).to_owned()
}

pub(super) fn follows_empty_line(text: &str, at: usize) -> bool {
    let start = line_start(text, at);
    start > 0 && text[line_start(text, start - 1)..start].trim().is_empty()
}
