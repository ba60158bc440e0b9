//! Every secret that a pod depends on: what the generated file refers to, the state's passwords, and
//! the server's certificate, which the server reads once, at its start.

use std::collections::BTreeSet;

use llsd_api::secret_ref::SecretKey;
use llsd_api::v1alpha2::LlamaStackDistributionSpec;

use crate::config::Generated;
use crate::connection::Form;
use crate::facts::Facts;
use crate::problem::{FieldPath, Findings, Reason};
use crate::secrets::{By, Reference};
use crate::wiring::Database;

/// Every secret key that the pod depends on.
pub(super) fn of(
    spec: &LlamaStackDistributionSpec,
    generated: Option<&Generated>,
) -> Vec<Reference> {
    let mut references = Vec::new();
    if let Some(generated) = generated {
        let by = By::Variable { coerced: generated.coerces_variables };
        let bound = generated.secrets.iter();
        references.extend(bound.map(|bound| Reference {
            secret: bound.secret.clone(),
            path: bound.path.clone(),
            by,
        }));
        let other = |(secret, path)| Reference { secret, path, by: By::Other };
        if generated.redis.is_some() {
            references.extend(redis_password(spec).map(other));
        }
        references.extend(connection_string(spec).map(other));
    }
    references.extend(certificate(spec));
    references
}

/// How many fields refer to a secret; a certificate is one field and two keys.
pub(super) fn fields(references: &[Reference]) -> usize {
    references.iter().map(|reference| &reference.path).collect::<BTreeSet<_>>().len()
}

fn redis_password(spec: &LlamaStackDistributionSpec) -> Option<(SecretKey, FieldPath)> {
    let password = spec.storage.as_ref()?.kv.as_ref()?.password.as_ref()?.read()?;
    let path = FieldPath::spec().key("storage").key("kv").key("password");
    Some((password.target().clone(), path))
}

fn connection_string(spec: &LlamaStackDistributionSpec) -> Option<(SecretKey, FieldPath)> {
    let sql = spec.storage.as_ref()?.sql.as_ref()?;
    let secret = sql.connection_string.as_ref()?.read()?.target().clone();
    let path = FieldPath::spec().key("storage").key("sql").key("connectionString");
    Some((secret, path))
}

/// The two keys of the server's certificate, without which no pod starts.
fn certificate(spec: &LlamaStackDistributionSpec) -> Vec<Reference> {
    let tls = spec.networking.as_ref().and_then(|networking| networking.tls.as_ref());
    let name = tls.filter(|tls| tls.enabled == Some(true)).and_then(|tls| tls.secret_name.clone());
    let path = FieldPath::spec().key("networking").key("tls").key("secretName");
    let keys = |name: String| {
        ["tls.crt", "tls.key"].map(|key| SecretKey { name: name.clone(), key: key.to_owned() })
    };
    let secrets = name.map(keys).into_iter().flatten();
    secrets.map(|secret| Reference { secret, path: path.clone(), by: By::Other }).collect()
}

/// The parts of the connection string, as far as the facts hold them.
pub(super) fn database(
    spec: &LlamaStackDistributionSpec,
    facts: &Facts,
    form: Form,
    findings: &mut Findings,
) -> Option<Database> {
    let (secret, path) = connection_string(spec)?;
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
    match value.and_then(|value| value.connection.as_ref()) {
        None => Some(Database::Unknown(form)),
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
                Ok(_) => Some(Database::Known(connection.clone(), form)),
                Err(wrong) => refuse(wrong, findings),
            }
        }
        Some(Err(wrong)) => refuse(wrong, findings),
    }
}
