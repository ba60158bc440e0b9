//! Whom a release lets in, by its own middleware and its own access control.

use anyhow::ensure;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::Release;

/// What a release says to all that it was asked.
#[derive(Debug, Deserialize)]
pub struct Decisions {
    /// Whether it understands each sentence.
    pub conditions: Vec<bool>,
    pub cases: Vec<Decided>,
}

/// What a release decides in one case.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Decided {
    /// 200, 401, 403 or 500, before any resource is looked at.
    pub status: u16,
    /// The rule for paths that decides.
    pub route: Option<usize>,
    /// Whether the resource request is allowed, where the status is 200 and there is one.
    pub allowed: Option<bool>,
    /// The rule for resources that decides.
    pub rule: Option<usize>,
}

impl Release {
    /// Whether the release understands sentences, and whom it lets in. A case is
    /// `{"auth", "tenancy", "request": {"method", "path", "told"}, "resource_request": {"action", "resource", "owner"}}`:
    /// `auth` and `tenancy` as in the server's configuration, `told` what a service would say of the caller.
    pub fn decide(self, conditions: &[String], cases: &[Value]) -> anyhow::Result<Decisions> {
        #[derive(Serialize)]
        struct Question<'a> {
            conditions: &'a [String],
            cases: &'a [Value],
        }
        let decisions: Decisions = self.ask("policies.py", &Question { conditions, cases })?;
        ensure!(decisions.conditions.len() == conditions.len(), "not all sentences were read");
        ensure!(decisions.cases.len() == cases.len(), "not all cases were decided");
        Ok(decisions)
    }

    /// The paths that the release serves, in their order, whatever is configured.
    pub fn served_paths(self) -> anyhow::Result<Vec<String>> {
        self.ask("routes.py", &())
    }
}
