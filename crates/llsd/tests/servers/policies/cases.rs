//! Generated cases: rules, a caller and a request, once as the resource says them and once as the server's
//! configuration does.

use fastrand::Rng;
use llsd_api::v1alpha2::{AccessSpec, Authentication, RouteRule};
use llsd_plan::policy::audience::RequiredAudience;
use llsd_plan::policy::route_policy;
use llsd_plan::releases::{Release as Row, Releases};
use llsd_testkit::Release;
use serde_json::{Map, Value, json};

/// One case in both tongues.
pub(super) struct Case {
    /// `spec.access`.
    pub(super) access: Value,
    pub(super) method: String,
    pub(super) path: String,
    pub(super) told: Option<Map<String, Value>>,
    /// As [`Release::decide`] takes it.
    pub(super) for_server: Value,
}

const NAMES: [&str; 4] = ["ann", "bob", "admin", "system"];
const ATTRIBUTES: [&str; 4] = ["roles", "teams", "projects", "namespaces"];
const VALUES: [&str; 5] = ["ann", "bob", "admin", "ml", "web"];
const PATHS: [&str; 10] = [
    "/v1/models",
    "/v1/providers",
    "/v1alpha/admin/providers*",
    "/v1/models*",
    "/v1/files*",
    "/v1/files/*",
    "*",
    "/v1/chat/completions",
    "/v1/health",
    "/",
];
const PATTERNS: [&str; 9] = [
    "regex:/v1/(models|files)",
    "regex:/v1/models$",
    "regex:/v1/[^/]+/[a-z]+",
    "regex:.*",
    "regex:(?i)/V1/FILES",
    r"regex:/v1/files/\d{1,2}$",
    "regex:models",
    "regex:/v1/[m-]odels?x*$",
    // Only the server reads it.
    "regex:/v1/(?!models)",
];
const CALLED: [&str; 19] = [
    "/v1/models",
    // A router takes the line break for the end of the path, and some paths have two names.
    "/v1/models\n",
    "/v1/providers",
    "/v1/providers\n",
    "/v1alpha/admin/providers",
    "/v1alpha/admin/providers/a",
    "/v1/models/",
    "/v1/models/llama",
    "/v1/modelsx",
    "/v1/files",
    "/v1/files/12",
    "/v1/files/123//",
    "/v1/chat/completions",
    "/v1/health",
    "/v1/health/",
    "/v1/version",
    "/v1/other",
    "/v1/FILES/a",
    "/",
];
const RESOURCES: [&str; 6] = [
    "model::*",
    "model::llama",
    "vector_store::*",
    "vector_store::vs_1",
    "vector_store::vs*",
    "sql_record::*",
];
const RESOURCE_PATTERNS: [&str; 3] =
    ["regex:model::ll.*", "regex:(model|vector_store)::[a-z]+$", "regex:.*::vs_[0-9]+"];
const DONE_TO: [&str; 4] =
    ["model::llama", "model::other", "vector_store::vs_1", "sql_record::openai_responses::r1"];
const TENANTS: [&str; 4] = ["Team-A", "team-b", " ", "no name!"];

pub(super) fn has_routes(release: Release) -> bool {
    release > Release::V0_4_7
}

fn has_tenants(release: Release) -> bool {
    release > Release::OGX_1_0_4
}

fn one<'a>(of: &[&'a str], random: &mut Rng) -> &'a str {
    of[random.usize(..of.len())]
}

/// Some of a list, and at least one.
fn some(of: &[&str], random: &mut Rng) -> Vec<String> {
    (0..random.usize(1..4)).map(|_| one(of, random).to_owned()).collect()
}

impl Case {
    pub(super) fn generate(release: Release, row: &Row, random: &mut Rng) -> Self {
        let (authentication, provider_config, told) = authentication(release, random);
        let told = (random.u8(..12) != 0).then_some(told);
        let count = |random: &mut Rng| if random.u8(..4) == 0 { 0 } else { random.usize(1..6) };
        let routes: Vec<Value> = if has_routes(release) {
            (0..count(random)).map(|_| route(row, random)).collect()
        } else {
            Vec::new()
        };
        let rules: Vec<Value> = (0..count(random)).map(|_| rule(row, random)).collect();
        let (tenancy, its_tenancy) = tenancy(release, random);
        let (method, path) = (one(&["GET", "GET", "POST", "HEAD"], random), one(&CALLED, random));
        let mut access =
            json!({"authentication": authentication, "routes": routes, "rules": rules});
        if !tenancy.is_null() {
            access["tenancy"] = tenancy;
        }
        let spec: AccessSpec = serde_json::from_value(access.clone()).unwrap();
        let rules_for_paths = route_policy(&spec, Releases::shipped()).into_iter();
        let route_policy: Vec<RouteRule> =
            rules_for_paths.map(|server_rule| server_rule.rule).collect();
        let for_server = json!({
            "auth": {
                "provider_config": provider_config,
                "route_policy": route_policy,
                "access_policy": rules,
            },
            "tenancy": its_tenancy,
            "request": {"method": method, "path": path, "told": told},
            "resource_request": resource_request(release, random),
        });
        Self { access, method: method.to_owned(), path: path.to_owned(), told, for_server }
    }
}

/// The authentication as the resource says it and as the server does, and what it is told of a caller.
fn authentication(release: Release, random: &mut Rng) -> (Value, Value, Map<String, Value>) {
    let tenants = has_tenants(release) && random.bool();
    let ways = if !release.is_ogx() {
        5
    } else if release < Release::OGX_1_5_0 {
        6
    } else {
        7
    };
    let (mut ours, mut theirs, told) = match random.u8(..ways) {
        0 => {
            let ours = json!({"oidc": {"issuer": "https://login.example.com"}});
            let theirs = json!({"type": "oauth2_token", "jwks": {"uri": "http://127.0.0.1/keys"}});
            (ours, theirs, token(random))
        }
        1 => {
            let url = "http://127.0.0.1/introspect";
            let secret = json!({"name": "n", "key": "k"});
            let introspection = json!({"url": url, "clientId": "c", "clientSecret": secret});
            let mut ours = json!({
                "oidc": {"issuer": "https://login.example.com", "introspection": introspection},
            });
            if has_routes(release) && random.bool() {
                ours["oidc"]["audience"] = "stack".into();
            }
            let introspection = json!({"url": url, "client_id": "c", "client_secret": "s"});
            (ours, json!({"type": "oauth2_token", "introspection": introspection}), token(random))
        }
        2 => (json!({"kubernetes": {}}), json!({"type": "kubernetes"}), cluster_user(random)),
        3 => (json!({"github": {}}), json!({"type": "github_token"}), github_user(random)),
        4 => {
            let endpoint = "http://127.0.0.1/ask";
            let ours = json!({"custom": {"endpoint": endpoint}});
            (ours, json!({"type": "custom", "endpoint": endpoint}), answered(random))
        }
        5 => {
            let headers = json!({"X-Team": "teams"});
            let ours = json!({"gateway": {
                "principalHeader": "X-User", "attributesHeader": "X-About", "attributeHeaders": headers,
            }});
            let theirs = json!({
                "type": "upstream_header", "principal_header": "X-User",
                "attributes_header": "X-About", "attribute_headers": headers,
            });
            (ours, theirs, sent(random))
        }
        _ => {
            let key = one(&["ann", "key"], random);
            let ours = json!({"apiKeys": [{"name": "n", "key": "k"}]});
            let theirs = json!({"type": "local_api_key", "api_keys": ["ann", "key"]});
            (ours, theirs, object(json!({"principal": key})))
        }
    };
    let kind = ours.as_object().unwrap().keys().next().unwrap().clone();
    if matches!(kind.as_str(), "oidc" | "kubernetes" | "github") && random.bool() {
        let claims = mapping(release, random);
        ours[&kind]["claims"] = claims.clone();
        theirs["claims_mapping"] = claims;
    }
    let spec: Authentication = serde_json::from_value(ours.clone()).unwrap();
    if let Some(audience) = RequiredAudience::of(&spec) {
        theirs["claims_mapping"] = json!(audience.claims());
    }
    let tenant = match kind.as_str() {
        "oidc" | "kubernetes" => Some(("tenantClaim", "tenant_claim")),
        "custom" => Some(("tenantField", "tenant_field")),
        "gateway" => Some(("tenantHeader", "tenant_header")),
        _ => None,
    };
    if let Some((field, key)) = tenant.filter(|_| tenants) {
        ours[&kind][field] = "org".into();
        theirs[key] = "org".into();
    }
    (ours, theirs, told)
}

fn mapping(release: Release, random: &mut Rng) -> Value {
    let mut mapping = Map::new();
    let dotted = if release.is_ogx() { r"k\.io.name" } else { "k.io" };
    for claim in ["groups", "realm.roles", "sub", "login", "username", dotted, "realm.flag"] {
        if random.u8(..3) == 0 {
            mapping.insert(claim.to_owned(), one(&ATTRIBUTES, random).into());
        }
    }
    // A map without entries is refused.
    mapping.insert("team".to_owned(), "teams".into());
    mapping.into()
}

fn object(value: Value) -> Map<String, Value> {
    let Value::Object(object) = value else { panic!("not an object: {value}") };
    object
}

/// What a claim may hold: a list, words, or what the server passes over or refuses.
fn claim(random: &mut Rng) -> Value {
    match random.u8(..12) {
        0..=4 => some(&VALUES, random).into(),
        5..=7 => some(&VALUES, random).join("  ").into(),
        8 => json!([]),
        9 => json!(5),
        10 => Value::Null,
        _ => {
            if random.bool() {
                json!(["ml", 5])
            } else {
                json!({"a": "b"})
            }
        }
    }
}

fn with_tenant(mut told: Map<String, Value>, random: &mut Rng) -> Map<String, Value> {
    if random.u8(..4) != 0 {
        told.insert("org".to_owned(), one(&TENANTS, random).into());
    }
    told
}

fn token(random: &mut Rng) -> Map<String, Value> {
    let mut told = Map::new();
    if random.u8(..12) != 0 {
        let name = if random.u8(..6) == 0 { "" } else { one(&NAMES, random) };
        told.insert("sub".to_owned(), name.into());
    }
    for name in ["username", "groups", "team", "project", "namespace", "k.io"] {
        if random.u8(..4) == 0 {
            told.insert(name.to_owned(), claim(random));
        }
    }
    if random.bool() {
        told.insert("aud".to_owned(), some(&["stack", "another"], random).into());
    }
    if random.bool() {
        told.insert("realm".to_owned(), json!({"roles": claim(random), "flag": true}));
    }
    if random.u8(..4) == 0 {
        told.insert("k.io".to_owned(), json!({"name": claim(random)}));
    }
    with_tenant(told, random)
}

fn cluster_user(random: &mut Rng) -> Map<String, Value> {
    let mut told = Map::new();
    if random.u8(..12) != 0 {
        told.insert("username".to_owned(), one(&NAMES, random).into());
    }
    told.insert("groups".to_owned(), claim(random));
    with_tenant(told, random)
}

fn github_user(random: &mut Rng) -> Map<String, Value> {
    let organizations = some(&VALUES, random);
    object(json!({"login": one(&NAMES, random), "id": 7, "organizations": organizations}))
}

fn answered(random: &mut Rng) -> Map<String, Value> {
    let attributes = match random.u8(..8) {
        0 => Value::Null,
        1 => json!({"roles": "admin"}),
        _ => attributes(random),
    };
    let mut told = object(json!({"principal": one(&NAMES, random), "attributes": attributes}));
    if random.u8(..12) == 0 {
        told.remove("principal");
    }
    with_tenant(told, random)
}

fn sent(random: &mut Rng) -> Map<String, Value> {
    let mut told = Map::new();
    if random.u8(..12) != 0 {
        told.insert("x-user".to_owned(), one(&NAMES, random).into());
    }
    let about = [r#"{"roles": ["admin", 5], "teams": "ml", "projects": true}"#, "[]", "{", "{}"];
    if random.bool() {
        told.insert("X-About".to_owned(), about[random.usize(..about.len())].into());
    }
    if random.bool() {
        told.insert(
            "X-TEAM".to_owned(),
            one(&["ml", r#"["ml", "web"]"#, "null", "7"], random).into(),
        );
    }
    with_tenant(told, random)
}

fn attributes(random: &mut Rng) -> Value {
    let mut attributes = Map::new();
    for name in ATTRIBUTES {
        if random.bool() {
            let values = if random.u8(..6) == 0 { Vec::new() } else { some(&VALUES, random) };
            attributes.insert(name.to_owned(), values.into());
        }
    }
    attributes.into()
}

fn condition(row: &Row, random: &mut Rng) -> String {
    let (name, value) = (one(&ATTRIBUTES, random), one(&VALUES, random));
    match random.u8(..if row.knows_unowned { 9 } else { 8 }) {
        0 => "user is owner".to_owned(),
        1 => "user is not owner".to_owned(),
        2 | 3 => format!("user in owners {name}"),
        4 => format!("user not in owners {name}"),
        5 | 6 => format!("user with {value} in {name}"),
        7 => format!("user with {value} not in {name}"),
        _ => "resource is unowned".to_owned(),
    }
}

fn guarded(scope: Value, row: &Row, random: &mut Rng) -> Value {
    let mut rule = Map::new();
    rule.insert(if random.u8(..3) == 0 { "forbid" } else { "permit" }.to_owned(), scope);
    let guard: Value = match random.u8(..4) {
        0 => condition(row, random).into(),
        1 => vec![condition(row, random)].into(),
        _ => vec![condition(row, random), condition(row, random)].into(),
    };
    match random.u8(..5) {
        0 => {}
        1 | 2 => {
            rule.insert("unless".to_owned(), guard);
        }
        _ => {
            rule.insert("when".to_owned(), guard);
        }
    }
    rule.into()
}

fn route(row: &Row, random: &mut Rng) -> Value {
    let mut paths = some(&PATHS, random);
    if row.knows_regex && random.bool() {
        paths = some(&PATTERNS, random);
    }
    guarded(json!({"paths": paths}), row, random)
}

fn rule(row: &Row, random: &mut Rng) -> Value {
    let mut scope = json!({"actions": some(&["create", "read", "update", "delete"], random)});
    if random.u8(..4) == 0 {
        scope["principal"] = one(&NAMES, random).into();
    }
    if random.bool() {
        let regex = row.knows_regex && random.u8(..3) == 0;
        let resources: &[&str] = if regex { &RESOURCE_PATTERNS } else { &RESOURCES };
        scope["resource"] = one(resources, random).into();
    }
    guarded(scope, row, random)
}

fn tenancy(release: Release, random: &mut Rng) -> (Value, Value) {
    if !has_tenants(release) {
        return (Value::Null, Value::Null);
    }
    match random.u8(..4) {
        0 => (json!({"mode": "multi"}), json!({"mode": "multi"})),
        1 => (
            json!({"mode": "single", "defaultTenantId": "team-b"}),
            json!({"mode": "single", "default_tenant_id": "team-b"}),
        ),
        _ => (Value::Null, Value::Null),
    }
}

fn resource_request(release: Release, random: &mut Rng) -> Value {
    let owner = if random.u8(..3) == 0 {
        Value::Null
    } else {
        let tenant = has_tenants(release) && random.bool();
        json!({
            "principal": one(&NAMES, random),
            "attributes": attributes(random),
            "tenant": tenant.then(|| one(&["team-a", "team-b"], random)),
        })
    };
    let action = one(&["create", "read", "update", "delete"], random);
    json!({"action": action, "resource": one(&DONE_TO, random), "owner": owner})
}
