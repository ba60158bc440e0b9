//! The report in SARIF 2.1.0, the form in which code scanners hand their findings on. Rules are the reasons
//! that findings have; a result has the place in the file and the path of the field.

use std::collections::BTreeMap;
use std::fmt::Write;

use llsd_yaml::Position;
use serde_json::{Value, json};

use super::summary::{Line, Report};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

impl Report {
    pub fn to_sarif(&self) -> String {
        let lines = self.in_order();
        let mut rules: BTreeMap<String, usize> = BTreeMap::new();
        for line in &lines {
            rules.insert(rule(line), 0);
        }
        for (index, place) in rules.values_mut().enumerate() {
            *place = index;
        }
        let results = lines.iter().map(|line| result(line, &rules, self.has_several()));
        let log = json!({
            "$schema": SCHEMA,
            "version": "2.1.0",
            "runs": [{
                "tool": {"driver": {
                    "name": "llsd",
                    "version": env!("CARGO_PKG_VERSION"),
                    "rules": rules.keys().map(|id| json!({"id": id})).collect::<Vec<_>>(),
                }},
                "columnKind": "unicodeCodePoints",
                "results": results.collect::<Vec<_>>(),
            }],
        });
        format!("{log:#}\n")
    }
}

fn rule(line: &Line<'_>) -> String {
    format!("{:?}", line.finding.problem.reason)
}

fn result(line: &Line<'_>, rules: &BTreeMap<String, usize>, several: bool) -> Value {
    let Position { line: row, column } = line.finding.at;
    let mut location = json!({"physicalLocation": {
        "artifactLocation": {"uri": uri(line.file)},
        "region": {"startLine": row, "startColumn": column},
    }});
    let path = &line.finding.problem.path;
    if !path.segments().is_empty() {
        location["logicalLocations"] = json!([{"fullyQualifiedName": path}]);
    }
    let id = rule(line);
    json!({
        "ruleIndex": rules[&id],
        "ruleId": id,
        "level": if line.warning { "warning" } else { "error" },
        "message": {"text": line.said_with_remedy(several)},
        "locations": [location],
    })
}

/// The file as a URI: relative as it was named, or absolute.
fn uri(file: &str) -> String {
    let mut uri = if file.starts_with('/') { "file://" } else { "" }.to_owned();
    for byte in file.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~/!$&'()*+;=@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_named_as_a_uri() {
        for (file, named) in [
            ("deploy/stack.yaml", "deploy/stack.yaml"),
            ("/srv/a b.yaml", "file:///srv/a%20b.yaml"),
            ("ü:1.yaml", "%C3%BC%3A1.yaml"),
            ("-", "-"),
        ] {
            assert_eq!(uri(file), named);
        }
    }
}
