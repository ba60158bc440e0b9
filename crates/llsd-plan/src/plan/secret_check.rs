//! Checks the referenced secrets by what the facts say of them, before anything is rolled out: a
//! server that starts with a missing or unusable secret dies.

use llsd_api::secret_ref::SecretKey;

use crate::facts::{Facts, SecretFacts, SecretKeyFacts};
use crate::problems::{FieldPath, Findings, Reason};
use crate::values::sha256;

/// How a secret reaches who needs it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum By {
    /// A variable of the server, which exits where it is empty.
    Variable {
        /// Up to 0.2.12 it takes values as they are; later it also exits where it finds a number.
        coerced: bool,
    },
    /// A file, or a variable of something else.
    Other,
}

/// One secret that the resource refers to, and what may be said of its value.
#[derive(Clone, Debug)]
pub(crate) struct SecretUse {
    pub(crate) secret: SecretKey,
    pub(crate) path: FieldPath,
    pub(crate) by: By,
}

/// Reports every reference that cannot be used.
pub(crate) fn check(
    references: &[SecretUse],
    facts: &Facts,
    namespace: &str,
    findings: &mut Findings,
) {
    for reference in references {
        let SecretKey { name, key } = &reference.secret;
        if is_missing(name, facts) {
            missing(name, namespace, &reference.path, findings);
            continue;
        }
        let Some(secret) = readable(name, &reference.path, facts, findings) else { continue };
        match secret.keys.get(key) {
            Some(value) => check_value(value, reference, findings),
            None if facts.complete || !secret.keys.is_empty() => findings.problem(
                &reference.path,
                Reason::SecretKeyNotFound,
                format!("Secret {namespace}/{name} has no key `{key}`"),
                "add the key to the Secret, or name one that it has",
            ),
            None => {}
        }
    }
}

/// Whether a Secret is known not to be there.
pub(crate) fn is_missing(name: &str, facts: &Facts) -> bool {
    facts.secrets.get(name).map_or(facts.complete, |secret| secret.missing)
}

/// What is known of a Secret, if the operator may read it.
pub(crate) fn readable<'f>(
    name: &str,
    path: &FieldPath,
    facts: &'f Facts,
    findings: &mut Findings,
) -> Option<&'f SecretFacts> {
    let secret = facts.secrets.get(name)?;
    let Some(why) = &secret.forbidden else { return Some(secret) };
    findings.problem(
        path,
        Reason::SecretForbidden,
        format!("Secret {name} cannot be read: {why}"),
        "grant that right, or name another Secret",
    );
    None
}

pub(crate) fn missing(name: &str, namespace: &str, path: &FieldPath, findings: &mut Findings) {
    findings.problem(
        path,
        Reason::SecretNotFound,
        format!("Secret not found: {name} (namespace {namespace})"),
        "create the Secret, or name one that exists",
    );
}

fn check_value(value: &SecretKeyFacts, reference: &SecretUse, findings: &mut Findings) {
    let SecretKey { name, key } = &reference.secret;
    let By::Variable { coerced } = reference.by else { return };
    let wrong = if value.empty {
        "is empty"
    } else if value.coerced && coerced {
        "looks like a number or boolean"
    } else {
        return;
    };
    findings.problem(
        &reference.path,
        Reason::SecretValueRejected,
        format!("the value of `{key}` in Secret {name} {wrong}, and the server exits with it"),
        "use a value with at least one letter that cannot be read as a number",
    );
}

/// A hash over the hashes of all references; it changes when one of the values does.
pub(crate) fn hash(references: &[SecretUse], facts: &Facts) -> Option<String> {
    let mut lines: Vec<String> = references
        .iter()
        .filter_map(|reference| {
            let SecretKey { name, key } = &reference.secret;
            let value = facts.secrets.get(name)?.keys.get(key)?;
            (!value.hash.is_empty()).then(|| format!("{name}/{key} {}\n", value.hash))
        })
        .collect();
    lines.sort();
    lines.dedup();
    if lines.is_empty() {
        return None;
    }
    Some(sha256::hex(&lines.concat()))
}
