//! What the preflight program says of a configuration.

use serde::Deserialize;

/// The program's answer.
#[derive(Clone, Debug, Deserialize)]
pub struct PreflightAnswer {
    verdict: String,
    /// The installed server, as `llama-stack 0.7.3`.
    #[serde(default)]
    pub server: String,
    #[serde(default)]
    why: String,
    problems: Vec<PreflightProblem>,
    #[serde(default)]
    more: usize,
}

/// One finding of the server's own code, by its path in config.yaml.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct PreflightProblem {
    kind: String,
    path: String,
    message: String,
}

impl PreflightProblem {
    fn line(&self) -> String {
        let path = if self.path.is_empty() { "config.yaml" } else { &self.path };
        format!("{path}: {}", self.message)
    }

    /// The server starts with it.
    fn is_warning(&self) -> bool {
        matches!(self.kind.as_str(), "dropped" | "mismatch")
    }
}

impl PreflightAnswer {
    /// Why the server would not start, one line each; nothing where it would, or where that is not known.
    pub fn refusal(&self) -> Option<Vec<String>> {
        if self.verdict != "refused" {
            return None;
        }
        let wrong = self.problems.iter().filter(|problem| !problem.is_warning());
        let mut lines: Vec<String> = wrong.map(PreflightProblem::line).collect();
        if self.more > 0 {
            lines.push(format!("and {} more", self.more));
        }
        Some(lines)
    }

    /// Why the configuration could not be checked.
    pub fn unchecked(&self) -> Option<&str> {
        (self.verdict == "unjudged").then_some(self.why.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stops_the_server_is_a_reason_to_refuse() {
        let answer = |text: &str| serde_json::from_str::<PreflightAnswer>(text).unwrap();
        let refused = answer(
            r#"{"verdict": "refused", "server": "llama-stack 0.7.3", "more": 2, "problems": [
                {"kind": "schema", "path": "", "message": "not YAML"},
                {"kind": "dropped", "path": "a", "message": "ignored"},
                {"kind": "package", "path": "providers.inference[0].provider_type", "message": "no torch"}]}"#,
        );
        let expected = [
            "config.yaml: not YAML",
            "providers.inference[0].provider_type: no torch",
            "and 2 more",
        ];
        assert_eq!(refused.refusal().unwrap(), expected);
        let good = answer(r#"{"verdict": "good", "problems": []}"#);
        assert_eq!((good.refusal(), good.unchecked()), (None, None));
        let unknown = answer(r#"{"verdict": "unjudged", "why": "too slow", "problems": []}"#);
        assert_eq!((unknown.refusal(), unknown.unchecked()), (None, Some("too slow")));
    }
}
