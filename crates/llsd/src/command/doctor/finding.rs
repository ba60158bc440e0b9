//! What one look of the doctor found, and all of them as lines or JSON.

use std::fmt::Write;

use serde::Serialize;
use serde_json::{Value, json};

/// Brings back what lacks. Other files would take away what Helm, OLM or cert-manager added.
pub(super) const INSTALL: &str = "apply the files that you installed it with, \
    for example: llsd manifests | kubectl apply --server-side -f -";
/// The same for the definition, which may be of an earlier release.
pub(super) const DEFINE: &str = "apply the definition of this release in the way that you \
    installed it, for example: llsd crd | kubectl apply --server-side -f -";

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Level {
    Ok,
    /// Something lacks, or could not be looked at.
    Warning,
    /// Resources do not do what they should.
    Problem,
}

/// One thing that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Finding {
    pub(super) check: &'static str,
    pub(super) level: Level,
    pub(super) says: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) remedy: Option<String>,
}

impl Finding {
    pub(super) fn ok(check: &'static str, says: impl Into<String>) -> Self {
        Self { check, level: Level::Ok, says: says.into(), remedy: None }
    }

    pub(super) fn warning(
        check: &'static str,
        says: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { check, level: Level::Warning, says: says.into(), remedy: Some(remedy.into()) }
    }

    pub(super) fn problem(
        check: &'static str,
        says: impl Into<String>,
        remedy: impl Into<String>,
    ) -> Self {
        Self { check, level: Level::Problem, says: says.into(), remedy: Some(remedy.into()) }
    }

    /// The API server did not answer the question.
    pub(super) fn unasked(check: &'static str, error: &kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.code == 403 => Self::warning(
                check,
                format!("was not looked at: {}", status.message),
                "run it as an administrator of the cluster",
            ),
            other => Self::warning(
                check,
                format!("was not looked at: {}", super::api::words(other)),
                "try again once the API server answers",
            ),
        }
    }
}

pub(super) fn has_problem(findings: &[Finding]) -> bool {
    findings.iter().any(|finding| finding.level == Level::Problem)
}

pub(super) fn json(findings: &[Finding]) -> Value {
    json!({"healthy": !has_problem(findings), "checks": findings})
}

/// One line for each, with what to do below it.
pub(super) fn lines(findings: &[Finding]) -> String {
    let width = findings.iter().map(|finding| finding.check.len()).max().unwrap_or_default();
    let mut text = String::new();
    for finding in findings {
        let level = match finding.level {
            Level::Ok => "ok",
            Level::Warning => "warning",
            Level::Problem => "problem",
        };
        let _ = writeln!(text, "{level:<9}{:<width$}  {}", finding.check, finding.says);
        if let Some(remedy) = &finding.remedy {
            let _ = writeln!(text, "{:width$}→ {remedy}", "", width = width + 11);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_to_do_stands_below_what_is_wrong() {
        let found = [
            Finding::ok("Kubernetes", "1.34"),
            Finding::problem("operator", "no pod is ready", "look at its log"),
        ];
        let expected = "\
ok       Kubernetes  1.34
problem  operator    no pod is ready
                     → look at its log
";
        assert_eq!(lines(&found), expected);
        assert!(has_problem(&found) && !has_problem(&found[..1]));
    }
}
