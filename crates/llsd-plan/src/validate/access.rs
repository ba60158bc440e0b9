//! The rules of `spec.access`, and what is wrong where a server is published without it.

use llsd_api::expose::Expose;
use llsd_api::rules;
use serde::Deserialize;
use serde_json::Value;

use super::value::{against, broken, present};
use crate::policy::condition::{Mistake, parse};
use crate::problems::{FieldPath, Findings, Reason};
use crate::releases::Releases;

/// The kinds of authentication.
const WAYS: [&str; 6] = ["oidc", "kubernetes", "github", "custom", "apiKeys", "gateway"];

pub(super) fn check(spec: &Value, findings: &mut Findings) {
    let path = FieldPath::spec().key("access");
    match present(spec, "access") {
        Some(access) => {
            authentication(access, &path.key("authentication"), findings);
            for list in ["routes", "rules"] {
                policy(access, list, &path.key(list), findings);
            }
            tenancy(access, &path.key("tenancy"), findings);
            command(spec, findings);
        }
        None => open_to_all(spec, findings),
    }
}

fn authentication(access: &Value, path: &FieldPath, findings: &mut Findings) {
    let Some(given @ Value::Object(_)) = present(access, "authentication") else { return };
    let ways = WAYS.iter().filter(|way| present(given, way).is_some()).count();
    if ways != 1 {
        let reason = if ways == 0 { Reason::Required } else { Reason::Conflict };
        broken(&rules::ONE_WAY_IN, path, reason, findings);
    }
    if let Some(oidc) = present(given, "oidc")
        && present(oidc, "introspection").is_some()
        && present(oidc, "jwksUri").is_some()
    {
        let path = path.key("oidc").key("jwksUri");
        broken(&rules::INTROSPECTION_XOR_KEYS, &path, Reason::Conflict, findings);
    }
}

fn policy(access: &Value, list: &str, path: &FieldPath, findings: &mut Findings) {
    let entries = present(access, list).and_then(Value::as_array).into_iter().flatten();
    for (index, rule) in entries.enumerate().filter(|(_, rule)| rule.is_object()) {
        let path = path.index(index);
        let has = |field: &str| present(rule, field).is_some();
        if has("permit") == has("forbid") {
            let reason = if has("permit") { Reason::Conflict } else { Reason::Required };
            broken(&rules::PERMIT_XOR_FORBID, &path, reason, findings);
        }
        for field in ["when", "unless"] {
            conditions(rule, field, &path.key(field), findings);
        }
        if has("when") && has("unless") {
            against(rules::WHEN_OR_UNLESS, &path.key("unless"), Reason::Conflict, findings);
        }
    }
}

/// Sentences that no release understands. What one release does not is told when it is known.
fn conditions(rule: &Value, field: &str, path: &FieldPath, findings: &mut Findings) {
    let Some(release) = Releases::shipped().all().last() else { return };
    let mut sentence = |text: &str, path: &FieldPath| {
        if let Err(Mistake { message, remedy }) = parse(text, release) {
            findings.problem(path, Reason::Invalid, message, remedy);
        }
    };
    match present(rule, field) {
        Some(Value::String(text)) => sentence(text, path),
        Some(Value::Array(list)) => {
            let texts = list.iter().enumerate().filter_map(|(at, it)| Some((at, it.as_str()?)));
            texts.for_each(|(index, text)| sentence(text, &path.index(index)));
        }
        _ => {}
    }
}

fn tenancy(access: &Value, path: &FieldPath, findings: &mut Findings) {
    let Some(tenancy) = present(access, "tenancy") else { return };
    if tenancy["mode"] == "single" && present(tenancy, "defaultTenantId").is_none() {
        let path = path.key("defaultTenantId");
        broken(&rules::SINGLE_NEEDS_TENANT, &path, Reason::Required, findings);
    }
}

/// The start program sees to it that the server knows what it is asked to keep, and starts it.
fn command(spec: &Value, findings: &mut Findings) {
    let path = FieldPath::spec().key("workload").key("overrides");
    for (field, rule) in
        [("command", rules::ACCESS_EXCLUDES_COMMAND), ("args", rules::ACCESS_EXCLUDES_ARGS)]
    {
        let words = spec.pointer(&format!("/workload/overrides/{field}")).and_then(Value::as_array);
        if words.is_some_and(|words| !words.is_empty()) {
            broken(&rule, &path.key(field), Reason::Conflict, findings);
        }
    }
}

/// A file of the user's own may ask for tokens itself.
fn open_to_all(spec: &Value, findings: &mut Findings) {
    let expose = spec.pointer("/networking/expose").and_then(|it| Expose::deserialize(it).ok());
    if expose.is_some_and(|expose| expose.is_on()) && present(spec, "overrideConfig").is_none() {
        findings.warning(
            &FieldPath::spec().key("networking").key("expose"),
            Reason::Conflict,
            "without access, all clients that reach the address may call the server",
            "say in access who may, or let a gateway in front ask",
        );
    }
}
