//! What the preflight writes as the last words of its container.

use llsd_api::v1alpha2::PreflightVerdict;
use serde::Deserialize;
use serde_json::Value;

/// The kind of a finding that the image cannot be pulled.
pub const IMAGE: &str = "image";

/// What the preflight found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreflightResult {
    pub outcome: PreflightVerdict,
    /// The server that checked, with its release.
    pub server: Option<String>,
    /// Why nothing was checked.
    pub why: Option<String>,
    pub findings: Vec<Finding>,
    /// Findings that did not fit.
    pub more: i64,
}

/// One finding, at a place of config.yaml.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Finding {
    pub kind: String,
    pub path: String,
    pub message: String,
}

impl PreflightResult {
    /// Reads the last words; what cannot be read counts as not checked.
    pub fn parse(words: &str) -> Self {
        let Ok(said) = serde_json::from_str::<Value>(words.trim()) else {
            return Self::not_checked("the judge left no verdict");
        };
        let text = |field: &str| said[field].as_str().map(str::to_owned);
        let list = said["problems"].as_array().into_iter().flatten();
        let outcome = match said["verdict"].as_str() {
            Some("good") => PreflightVerdict::Good,
            Some("refused") => PreflightVerdict::Refused,
            _ => PreflightVerdict::NotJudged,
        };
        Self {
            outcome,
            server: text("server"),
            why: text("why"),
            findings: list.filter_map(|found| Finding::deserialize(found).ok()).collect(),
            more: said["more"].as_i64().unwrap_or(0),
        }
    }

    pub fn not_checked(why: impl Into<String>) -> Self {
        Self {
            outcome: PreflightVerdict::NotJudged,
            server: None,
            why: Some(why.into()),
            findings: Vec::new(),
            more: 0,
        }
    }

    /// What is known without a preflight: the pods would not run.
    pub fn refused(kind: &str, path: &str, message: impl Into<String>) -> Self {
        let finding =
            Finding { kind: kind.to_owned(), path: path.to_owned(), message: message.into() };
        Self {
            outcome: PreflightVerdict::Refused,
            findings: vec![finding],
            why: None,
            ..Self::not_checked("")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_result_is_read_leniently() {
        let words = r#"{"verdict": "refused", "server": "llama-stack 0.7.3", "more": 2, "problems": [
            {"kind": "new", "path": "a[0].b", "message": "m", "else": 1}, "odd"]}"#;
        let result = PreflightResult::parse(words);
        assert_eq!((result.outcome, result.more), (PreflightVerdict::Refused, 2));
        assert_eq!(result.findings.len(), 1, "a kind that nobody knows is kept: {result:?}");
        for words in ["", "Traceback", "[]", "{\"verdict\": \"perhaps\"}"] {
            assert_eq!(
                PreflightResult::parse(words).outcome,
                PreflightVerdict::NotJudged,
                "{words}"
            );
        }
        assert!(PreflightResult::parse("").why.is_some());
    }
}
