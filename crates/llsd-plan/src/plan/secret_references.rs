//! Every secret that a pod depends on: what the generated file refers to, the state's passwords, and
//! the server's certificate.

use std::collections::BTreeSet;

use llsd_api::v1alpha2::LlamaStackDistributionSpec;

use super::secret_check::{By, SecretUse};
use crate::config::wiring::Database;
use crate::config::{Generated, Merged};
use crate::facts::Facts;
use crate::plan::references::{self, Purpose};
use crate::problems::{Findings, Reason};
use crate::values::connection::Form;

/// Every secret key that the pod depends on.
pub(super) fn secret_references(
    spec: &LlamaStackDistributionSpec,
    generated: Option<&Generated>,
    merged: Option<&Merged>,
) -> Vec<SecretUse> {
    let mut uses = Vec::new();
    let of_generated = generated.map(|file| (&file.secrets, file.coerces_variables));
    let of_merged = merged.map(|file| (&file.secrets, file.coerces_variables));
    if let Some((secrets, coerced)) = of_generated.or(of_merged) {
        let by = By::Variable { coerced };
        uses.extend(secrets.iter().map(|bound| SecretUse {
            secret: bound.secret.clone(),
            path: bound.path.clone(),
            by,
        }));
    }
    let has_sidecar = generated.is_some_and(|generated| generated.redis.is_some());
    for reference in references::walk(spec) {
        let is_used = match reference.purpose {
            Purpose::RedisPassword => has_sidecar,
            Purpose::ConnectionString => generated.is_some(),
            // The server reads it once, at its start, and no pod starts without it.
            Purpose::Certificate => true,
            _ => false,
        };
        if is_used {
            let path = &reference.path;
            uses.extend(reference.secret_keys().into_iter().map(|secret| SecretUse {
                secret,
                path: path.clone(),
                by: By::Other,
            }));
        }
    }
    uses
}

/// How many fields refer to a secret; a certificate is one field and two keys.
pub(super) fn fields(references: &[SecretUse]) -> usize {
    references.iter().map(|reference| &reference.path).collect::<BTreeSet<_>>().len()
}

/// The parts of the connection string, as far as the facts hold them.
pub(super) fn database(
    spec: &LlamaStackDistributionSpec,
    facts: &Facts,
    form: Form,
    findings: &mut Findings,
) -> Option<Database> {
    let mut references = references::walk(spec).into_iter();
    let reference = references.find(|found| found.purpose == Purpose::ConnectionString)?;
    let (secret, path) = (reference.secret_key()?, reference.path);
    let value = facts.secrets.get(&secret.name).and_then(|found| found.keys.get(&secret.key));
    let refuse = |wrong: &str, findings: &mut Findings| {
        findings.problem(
            &path,
            Reason::SecretValueRejected,
            format!("the value of `{}` in Secret {} {wrong}", secret.key, secret.name),
            "write postgresql://USER:PASSWORD@HOST:PORT/DB",
        );
        None
    };
    let hash = value.map(|value| value.hash.clone()).filter(|hash| !hash.is_empty());
    match value.and_then(|value| value.connection.as_ref()) {
        None => Some(Database { form, connection: None, hash }),
        Some(Ok(connection)) => {
            for parameter in connection.ignored() {
                findings.warning(
                    &path,
                    Reason::Ignored,
                    format!("the server has no place for the parameter `{parameter}`"),
                    "remove it from the connection string",
                );
            }
            match connection.values(form) {
                Ok(_) => Some(Database { form, connection: Some(connection.clone()), hash }),
                Err(wrong) => refuse(wrong, findings),
            }
        }
        Some(Err(wrong)) => refuse(wrong, findings),
    }
}
