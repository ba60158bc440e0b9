//! config.yaml with the origin of every line beside it: YAML that reads back as the very same
//! configuration.

use std::fmt::Write;

use llsd_plan::problems::Problem;
use llsd_plan::releases::ServerFamily;
use llsd_plan::resource::callers;
use llsd_yaml::document::{self, Line, Node, Origin};
use serde_json::{Value, json};

use crate::configuration::Configuration;
use crate::examined::Examined;
use crate::plans::Plans;

/// Comments begin at this column at most; longer lines push theirs out.
const WIDEST: usize = 64;

/// The configurations of all resources; one that is missing is left out.
pub fn explain(plans: &Plans, configurations: &[Result<Configuration<'_>, Problem>]) -> String {
    let both = plans.all().zip(configurations.iter().flatten());
    let texts: Vec<String> = both
        .map(|((examined, _), configuration)| match configuration {
            Configuration::Generated { generated, base } => {
                let server =
                    if generated.server == ServerFamily::LlamaStack { "Llama Stack " } else { "" };
                let of = format!(", for {server}{}", generated.release);
                with_origins(examined, &generated.document, &of, base)
            }
            Configuration::Merged { merged, source } => {
                let base = format!("base: {source}");
                with_origins(examined, &merged.document, ", with external providers", &base)
            }
            Configuration::Unchanged { text, source } => unchanged(examined, text, source),
        })
        .collect();
    texts.join("---\n")
}

/// The same for programs: of each resource its configuration, line by line with the origin. A configuration
/// that is handed on unchanged has one origin, that of all its lines.
///
/// ```json
/// {"resources": [{
///   "namespace": "demo", "name": "vllm", "release": "0.7.3", "base": "the distribution starter, …",
///   "callers": "everybody who reaches it",
///   "lines": [{"text": "version: 2", "origin": "Base"},
///             {"text": "  url: …", "origin": "Field", "field": "spec.providers.inference.endpoint"},
///             {"text": "port: 8321", "origin": "Rule", "rule": "…"}]
/// }]}
/// ```
pub fn found(plans: &Plans, configurations: &[Result<Configuration<'_>, Problem>]) -> Value {
    let both = plans.all().zip(configurations.iter().flatten());
    let resources: Vec<Value> = both
        .map(|((examined, planned), configuration)| {
            let (release, base, lines) = match configuration {
                Configuration::Generated { generated, base } => {
                    (Some(&generated.release), base, origins(examined, &generated.document))
                }
                Configuration::Merged { merged, source } => {
                    (None, source, origins(examined, &merged.document))
                }
                Configuration::Unchanged { text, source } => {
                    let line = |text: &str| Line { text: text.to_owned(), origin: Origin::Base };
                    (None, source, text.lines().map(line).collect())
                }
            };
            let summary = &examined.resource.summary;
            json!({
                "namespace": summary.namespace,
                "name": summary.name,
                "release": release,
                "base": base,
                "callers": callers::described(&planned.object),
                "lines": lines.iter().map(line_to_json).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({"resources": resources})
}

fn line_to_json(line: &Line) -> Value {
    match &line.origin {
        Origin::Base => json!({"text": line.text, "origin": "Base"}),
        Origin::Field(path) => json!({"text": line.text, "origin": "Field", "field": path}),
        Origin::Rule(rule) => json!({"text": line.text, "origin": "Rule", "rule": rule}),
    }
}

fn with_origins(examined: &Examined, document: &Node, of: &str, base: &str) -> String {
    let title = examined.title();
    let callers = examined.planned.as_ref().map(|planned| callers::described(&planned.object));
    let callers = callers.unwrap_or_default();
    let mut out = format!(
        "# config.yaml of {}{of}\n# {}\n# may be called by: {}\n",
        comment(&title),
        comment(base),
        comment(&callers),
    );
    let lines = origins(examined, document);
    let longest = lines.iter().map(|line| line.text.chars().count()).max().unwrap_or_default();
    let column = longest.min(WIDEST);
    for line in lines {
        let _ = writeln!(out, "{:<column$}  # {}", line.text, comment(&line.origin.to_string()));
    }
    out
}

/// The lines of a generated configuration, with their origins in the fields that the file's author
/// wrote.
pub fn origins(examined: &Examined, document: &Node) -> Vec<Line> {
    let mut lines = document::lines(document);
    for line in &mut lines {
        if let Origin::Field(path) = &line.origin {
            line.origin = Origin::Field(examined.own_path(path));
        }
    }
    lines
}

fn unchanged(examined: &Examined, text: &str, source: &str) -> String {
    let title = comment(&examined.title());
    let end = if text.ends_with('\n') { "" } else { "\n" };
    format!("# config.yaml of {title}, unchanged: {}\n{text}{end}", comment(source))
}

/// A field of the resource may have any name; no part of it may end the comment.
fn comment(text: &str) -> String {
    let printable = |c: char| !c.is_control() && !matches!(c, '\u{2028}' | '\u{2029}' | '\u{feff}');
    text.chars()
        .flat_map(|c| {
            let escaped = (!printable(c)).then(|| c.escape_unicode());
            escaped.into_iter().flatten().chain(printable(c).then_some(c))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_in_a_name_ends_a_comment() {
        assert_eq!(comment("a\nb\u{2028}c\u{85} # d"), "a\\u{a}b\\u{2028}c\\u{85} # d");
    }
}
