//! `server.auth`: who may call the server. A base's own is replaced whole: half of one policy and half
//! of another is none.

mod authentication;
mod policy;
mod risks;

use llsd_api::v1alpha2::{AccessSpec, Authentication, TenancyMode, TenancySpec};
use serde_json::json;

use super::draft::Draft;
use super::storage::{companion, ensure_section};
use crate::config::wiring::Variable;
use crate::policy::audience::RequiredAudience;
use crate::policy::{parse_policies, warn_of_gaps};
use crate::problems::{FieldPath, Findings, Reason};
use crate::server::listening::ACCESS_KNOWN;
use llsd_yaml::document::{Node, Origin};

pub(super) fn apply(draft: &mut Draft<'_>) {
    let Some(access) = &draft.spec.access else { return };
    let path = FieldPath::spec().key("access");
    let parts = Part::parts_of(access, &path);
    if !has_all(draft, &parts) {
        return;
    }
    check(draft, access, &path);
    let mut auth = Node::map(Origin::Field(path.clone()));
    let way = path.key("authentication");
    auth.set(
        "provider_config",
        authentication::provider_config(draft, &access.authentication, &way),
    );
    if let Some(routes) = policy::routes(access, draft.profile.releases, &path) {
        auth.set("route_policy", routes);
    }
    if let Some(rules) = policy::rules(&access.rules, &path.key("rules")) {
        auth.set("access_policy", rules);
    }
    let server = draft.document.entry_map("server", &Origin::Rule("who may call the server"));
    if server.get("auth").is_some_and(|own| !own.is_null()) {
        draft.findings.warning(
            &path,
            Reason::Conflict,
            "takes the place of the whole server.auth of the base configuration",
            "write into access what is still wanted of it",
        );
    }
    server.set("auth", auth);
    if let Some(tenancy) = &access.tenancy {
        server.set("tenancy", tenancy_section(tenancy, &path.key("tenancy")));
    }
    keep_vector_stores(draft, access);
    know(draft, access, &parts);
}

/// Whether the server has every part; one that it lacks is a problem.
fn has_all(draft: &mut Draft<'_>, parts: &[Part]) -> bool {
    let profile = draft.profile;
    let mut missing = parts.iter().filter(|part| !profile.has_access(part.name)).peekable();
    let has_all = missing.peek().is_none();
    for part in missing {
        draft.findings.problem(
            &part.path,
            Reason::Invalid,
            format!("{} does not have this", profile.name()),
            match profile.releases.named_with_access(part.name).as_str() {
                "" => "remove it".to_owned(),
                named => format!("use an image of {named}"),
            },
        );
    }
    has_all
}

/// What the server would refuse or not do as it is written.
fn check(draft: &mut Draft<'_>, access: &AccessSpec, path: &FieldPath) {
    tenants(access, path, &mut draft.findings);
    risks::check(draft, &access.authentication, &path.key("authentication"));
    let releases = draft.profile.releases;
    for (index, candidate) in draft.profile.candidates().enumerate() {
        match parse_policies(access, candidate.release, releases) {
            Ok(policies) => {
                vain(policies.vain_create(), path, &mut draft.findings);
                hidden(policies.hide_models(), path, &mut draft.findings);
                if index == 0 {
                    warn_of_gaps(access, &policies, releases, &mut draft.findings);
                }
            }
            Err(problems) => draft.findings.problems.extend(problems),
        }
    }
    if !access.rules.is_empty() && !draft.profile.layout.guards_ids {
        let name = draft.profile.name();
        draft.findings.warning(
            &path.key("rules"),
            Reason::Conflict,
            format!("{name} shows a vector store to all callers who know its id"),
            "use an image of a later release where that matters",
        );
    }
}

/// Where a store of its own says whose vector stores are, the server does not start without one.
fn keep_vector_stores(draft: &mut Draft<'_>, access: &AccessSpec) {
    let apart = !access.rules.is_empty()
        || access.tenancy.as_ref().is_some_and(|it| it.mode == TenancyMode::Multi);
    let needed = apart && draft.profile.layout.keeps_vector_stores_in_sql;
    if !needed || draft.providers("vector_io").is_empty() {
        return;
    }
    ensure_section(draft);
    let table = json!({"table_name": "vector_store_metadata", "backend": "sql_default"});
    let table = companion(draft, &table, None);
    let rule = Origin::Rule("says whose each vector store is");
    let stores = draft.document.entry_map("storage", &rule).entry_map("stores", &rule);
    if stores.get("vector_stores").is_none_or(Node::is_null) {
        stores.set("vector_stores", Node::from_value(table, &rule));
    }
}

fn vain(create: Option<usize>, path: &FieldPath, findings: &mut Findings) {
    let Some(index) = create else { return };
    findings.warning(
        &path.key("rules").index(index),
        Reason::Conflict,
        "lets no one create anything: what is about to be created has no owner yet",
        "permit create in a rule that does not ask for the owner",
    );
}

fn hidden(hides_models: bool, path: &FieldPath, findings: &mut Findings) {
    if hides_models {
        findings.warning(
            &path.key("rules"),
            Reason::Conflict,
            "no caller can read a model of the configuration, which has no owner: to all of them it is not there",
            "permit it in a rule, for example `permit: {actions: [read], resource: \"model::*\"}`",
        );
    }
}

/// What the start program must find in the server: the releases that are known to have it all, and to read the
/// rules as this one does.
fn know(draft: &mut Draft<'_>, access: &AccessSpec, parts: &[Part]) {
    let names: Vec<&str> = parts.iter().map(|part| part.name).collect();
    let releases = draft.profile.releases;
    let reads = |release| parse_policies(access, release, releases).is_ok();
    // In no release that is not known to have it all does the start program take it for granted.
    let (first, last) = draft.profile.known_with_access(&names, reads).unwrap_or_default();
    let [first, last] = [first, last].map(|n| format!("{}.{}.{}", n.major, n.minor, n.patch));
    draft.plain_variables.push(Variable::literal(ACCESS_KNOWN, format!("{first} {last}")));
}

fn tenancy_section(tenancy: &TenancySpec, path: &FieldPath) -> Node {
    let mut section = json!({"mode": tenancy.mode});
    if let Some(tenant) = &tenancy.default_tenant_id {
        section["default_tenant_id"] = tenant.as_str().into();
    }
    Node::from_value(section, &Origin::Field(path.clone()))
}

/// Where each caller has a tenant, the authentication must name it.
fn tenants(access: &AccessSpec, path: &FieldPath, findings: &mut Findings) {
    let many = access.tenancy.as_ref().is_some_and(|it| it.mode == TenancyMode::Multi);
    if many && !tenant_fields(&access.authentication).iter().any(|(given, ..)| *given) {
        findings.problem(
            &path.key("tenancy").key("mode"),
            Reason::Required,
            "mode multi needs a way in that names the tenant of each caller",
            "set tenantClaim, tenantField or tenantHeader, which github and apiKeys do not have",
        );
    }
}

/// Whether each field that names the tenant of a caller is given, and where.
fn tenant_fields(given: &Authentication) -> [(bool, &'static str, &'static str); 4] {
    let Authentication { oidc, kubernetes, custom, gateway, .. } = given;
    let of_cluster = kubernetes.as_ref().is_some_and(|it| it.tenant_claim.is_some());
    [
        (oidc.as_ref().is_some_and(|it| it.tenant_claim.is_some()), "oidc", "tenantClaim"),
        (of_cluster, "kubernetes", "tenantClaim"),
        (custom.as_ref().is_some_and(|it| it.tenant_field.is_some()), "custom", "tenantField"),
        (gateway.as_ref().is_some_and(|it| it.tenant_header.is_some()), "gateway", "tenantHeader"),
    ]
}

/// A part of access that only some releases have.
struct Part {
    /// As `releases/access.yaml` names it.
    name: &'static str,
    path: FieldPath,
}

impl Part {
    fn parts_of(access: &AccessSpec, path: &FieldPath) -> Vec<Self> {
        let AccessSpec { authentication, routes, rules, tenancy } = access;
        let Authentication {
            oidc,
            kubernetes,
            github,
            custom,
            api_keys,
            gateway,
            allow_plain_http: _,
        } = authentication;
        let way = path.key("authentication");
        let cidrs = gateway.as_ref().is_some_and(|it| it.trusted_cidrs.is_some());
        let given = [
            (oidc.is_some(), "oidc", way.key("oidc")),
            (kubernetes.is_some(), "kubernetes", way.key("kubernetes")),
            (github.is_some(), "github", way.key("github")),
            (custom.is_some(), "custom", way.key("custom")),
            (api_keys.is_some(), "apiKeys", way.key("apiKeys")),
            (gateway.is_some(), "gateway", way.key("gateway")),
            (cidrs, "trustedCidrs", way.key("gateway").key("trustedCidrs")),
            (!routes.is_empty(), "routes", path.key("routes")),
            (
                RequiredAudience::of(authentication).is_some(),
                "routes",
                way.key("oidc").key("audience"),
            ),
            (!rules.is_empty(), "rules", path.key("rules")),
            (tenancy.is_some(), "tenancy", path.key("tenancy")),
        ];
        let tenants = tenant_fields(authentication)
            .map(|(given, holder, field)| (given, "tenancy", way.key(holder).key(field)));
        let parts = given.into_iter().chain(tenants).filter(|(given, ..)| *given);
        parts.map(|(_, name, path)| Self { name, path }).collect()
    }
}
