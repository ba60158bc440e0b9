//! The environment variables through which secrets reach the server: one for each reference, named
//! after the provider and the field, and never one name for two.

use llsd_api::env_name::EnvName;
use llsd_api::secret_ref::SecretKey;

use crate::problems::{FieldPath, Findings, Reason};

/// A secret reference of the resource and the variable that carries it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Bound {
    pub name: EnvName,
    pub secret: SecretKey,
    /// Where the resource refers to it.
    pub path: FieldPath,
}

/// How the variables of `spec.storage` begin.
const RESERVED: [&str; 2] = ["LLSD_STORAGE_KV_", "LLSD_STORAGE_SQL_"];

#[derive(Clone, Debug, Default)]
pub(super) struct Environment {
    bound: Vec<Bound>,
}

impl Environment {
    /// Gives the secret a variable and returns the reference for config.yaml.
    pub(super) fn bind<'n>(
        &mut self,
        parts: impl IntoIterator<Item = &'n str>,
        secret: &SecretKey,
        path: &FieldPath,
        findings: &mut Findings,
    ) -> String {
        let name = EnvName::from_parts(parts);
        let reference = format!("${{env.{name}}}");
        if RESERVED.iter().any(|prefix| name.as_str().starts_with(prefix)) {
            findings.problem(
                path,
                Reason::Conflict,
                format!("needs the environment variable {name}, which is kept for storage"),
                "give the provider another id",
            );
        } else if let Some(earlier) = self.bound.iter().find(|bound| bound.name == name) {
            findings.problem(
                path,
                Reason::Conflict,
                format!("needs the environment variable {name}, which {} needs too", earlier.path),
                "give one of the two providers another id",
            );
        } else {
            self.bound.push(Bound { name, secret: secret.clone(), path: path.clone() });
        }
        reference
    }

    /// The variables that the finished document really refers to.
    pub(super) fn used(self, is_used: impl Fn(&str) -> bool) -> Vec<Bound> {
        self.bound.into_iter().filter(|bound| is_used(bound.name.as_str())).collect()
    }
}
