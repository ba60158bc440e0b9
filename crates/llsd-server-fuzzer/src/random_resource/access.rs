//! `spec.access`: a way in, and rules.

use serde_json::{Value, json};

use crate::random::Random;

const CONDITIONS: [&str; 6] = [
    "user is owner",
    "user is not owner",
    "user with admin in roles",
    "user with admin not in roles",
    "user in owners teams",
    "resource is unowned",
];
const PATHS: [&str; 5] = ["/v1/models", "/v1/files*", "*", "/v1/responses/{id}", "/v1/models*"];
const RESOURCES: [&str; 4] =
    ["model::llama3.2-8b", "vector_store::*", "model::*", "tool_group::mcp::orders"];

pub(super) fn access(random: &mut Random) -> Value {
    let claims = json!({"sub": "roles", "groups": "teams"});
    let mut way = match random.below(7) {
        0 | 1 => json!({"oidc": {"issuer": "https://issuer.example.com", "audience": "server"}}),
        2 => json!({"oidc": {
            "issuer": "https://issuer.example.com",
            "introspection": {
                "url": "https://issuer.example.com/introspect",
                "clientId": "server",
                "clientSecret": {"name": "client", "key": "secret"},
            },
        }}),
        3 => json!({"kubernetes": {}}),
        4 => json!({"github": {}}),
        5 => json!({"custom": {"endpoint": "https://auth.example.com/validate"}}),
        _ => json!({"apiKeys": [{"name": "keys", "key": "one"}, {"name": "keys", "key": "two"}]}),
    };
    for kind in ["oidc", "github", "kubernetes"] {
        if random.chance(30)
            && let Some(way) = way.get_mut(kind)
        {
            way["claims"] = claims.clone();
        }
    }
    let mut access = json!({"authentication": way});
    if random.chance(40) {
        let count = 1 + random.below(3);
        access["routes"] = (0..count).map(|_| route(random)).collect();
    }
    if random.chance(40) {
        let count = 1 + random.below(3);
        access["rules"] = (0..count).map(|_| rule(random)).collect();
    }
    if random.chance(10) {
        access["tenancy"] = json!({"mode": "single", "defaultTenantId": "everyone"});
    }
    access
}

fn verb(random: &mut Random) -> &'static str {
    if random.chance(70) { "permit" } else { "forbid" }
}

fn condition(random: &mut Random, rule: &mut Value) {
    if random.chance(60) {
        let key = if random.chance(70) { "when" } else { "unless" };
        rule[key] = match random.text(&CONDITIONS) {
            one if random.chance(70) => json!(one),
            one => json!([one, random.text(&CONDITIONS)]),
        };
    }
    if random.chance(20) {
        rule["description"] = json!("what it is for");
    }
}

fn route(random: &mut Random) -> Value {
    let mut rule = json!({verb(random): {"paths": [random.text(&PATHS)]}});
    condition(random, &mut rule);
    rule
}

fn rule(random: &mut Random) -> Value {
    let actions = [&["read"][..], &["create", "read"], &["update", "delete"]][random.below(3)];
    let mut scope = json!({"actions": actions});
    if random.chance(50) {
        scope["resource"] = json!(random.text(&RESOURCES));
    }
    if random.chance(15) {
        scope["principal"] = json!("system:serviceaccount:apps:client");
    }
    let mut rule = json!({verb(random): scope});
    condition(random, &mut rule);
    rule
}
