//! `server.auth.provider_config`: the authentication of the resource, in the words of the server. Its `type` is
//! always written out: one that resolved to nothing would switch authentication off.

use llsd_api::lenient::Lenient;
use llsd_api::secret_ref::SecretRef;
use llsd_api::v1alpha2::{
    Attributes, Authentication, CustomSpec, GatewayHeadersSpec, GitHubSpec, KubernetesSpec,
    OidcSpec,
};
use serde_json::json;

use crate::config::draft::Draft;
use crate::config::wiring::Variable;
use crate::policy::audience::{self, RequiredAudience};
use crate::problems::{FieldPath, Reason};
use crate::server::guarded::{JWKS_URI, PLAIN_HTTP};
use crate::server::paths::{CLUSTER_CA_FILE, TRUST_FILE};
use llsd_yaml::document::{Node, Origin};

/// Where every cluster has its API server.
const API_SERVER: &str = "https://kubernetes.default.svc";
const DEFAULT: &str = "the server's own default, written out";
/// What comes after the issuer, where a provider says where its keys are.
const DISCOVERY: &str = "/.well-known/openid-configuration";

pub(super) fn provider_config(
    draft: &mut Draft<'_>,
    given: &Authentication,
    path: &FieldPath,
) -> Node {
    let Authentication { oidc, kubernetes, github, custom, api_keys, gateway, allow_plain_http } =
        given;
    if let Some(oidc) = oidc {
        if oidc.introspection.is_none() && *allow_plain_http == Some(true) {
            draft.plain_variables.push(Variable::literal(PLAIN_HTTP, "true"));
        }
        self::oidc(draft, oidc, RequiredAudience::of(given), &path.key("oidc"))
    } else if let Some(kubernetes) = kubernetes {
        self::kubernetes(kubernetes, &path.key("kubernetes"))
    } else if let Some(github) = github {
        self::github(github, &path.key("github"))
    } else if let Some(custom) = custom {
        self::custom(custom, &path.key("custom"))
    } else if let Some(keys) = api_keys {
        self::api_keys(draft, keys, &path.key("apiKeys"))
    } else if let Some(gateway) = gateway {
        self::gateway(gateway, &path.key("gateway"))
    } else {
        // Validation has refused the resource.
        Node::map(Origin::Field(path.clone()))
    }
}

fn section(kind: &str, path: &FieldPath) -> Section {
    let mut node = Node::map(Origin::Field(path.clone()));
    node.set("type", Node::scalar(kind, Origin::Field(path.clone())));
    Section { node, path: path.clone() }
}

/// A part of the file of which each field comes from one of the resource.
struct Section {
    node: Node,
    path: FieldPath,
}

impl Section {
    fn field(&mut self, key: &str, value: Option<&str>, own: &str) {
        if let Some(value) = value {
            self.node.set(key, Node::scalar(value, Origin::Field(self.path.key(own))));
        }
    }

    fn rule(&mut self, key: &str, value: &str, why: &'static str) {
        self.node.set(key, Node::scalar(value, Origin::Rule(why)));
    }

    fn attributes(&mut self, key: &str, given: Option<&Attributes>, own: &str) {
        if let Some(given) = given {
            self.node.set(key, Node::from_field(&json!(given), &self.path.key(own)));
        }
    }
}

fn oidc(
    draft: &mut Draft<'_>,
    given: &OidcSpec,
    audience: Option<RequiredAudience<'_>>,
    path: &FieldPath,
) -> Node {
    let mut out = section("oauth2_token", path);
    out.field("issuer", Some(&given.issuer), "issuer");
    let default = audience::default_of(draft.profile.server());
    match &given.audience {
        Some(audience) => out.field("audience", Some(audience), "audience"),
        None => out.rule("audience", default, DEFAULT),
    }
    // Without it some releases ask for introspection without checking who answers.
    out.rule("tls_cafile", TRUST_FILE, "who the server trusts");
    match audience {
        Some(audience) => out.node.set("claims_mapping", claims_with(audience, given, path)),
        None => out.attributes("claims_mapping", given.claims.as_ref(), "claims"),
    }
    out.field("tenant_claim", given.tenant_claim.as_deref(), "tenantClaim");
    if let Some(introspection) = &given.introspection {
        let path = path.key("introspection");
        let mut asked =
            Section { node: Node::map(Origin::Field(path.clone())), path: path.clone() };
        asked.field("url", Some(&introspection.url), "url");
        asked.field("client_id", Some(&introspection.client_id), "clientId");
        if let Some(secret) = introspection.client_secret.understood() {
            let path = path.key("clientSecret");
            let reference = draft.environment.bind(
                ["auth", "client_secret"],
                secret.target(),
                &path,
                &mut draft.findings,
            );
            asked.node.set("client_secret", Node::scalar(reference, Origin::Field(path)));
        }
        out.node.set("introspection", asked.node);
        return out.node;
    }
    let (uri, origin) = if let Some(uri) = &given.jwks_uri {
        (uri.clone(), path.key("jwksUri"))
    } else {
        // The start program replaces it by what the provider says.
        let issuer = given.issuer.trim_end_matches('/');
        draft.plain_variables.push(Variable::literal(JWKS_URI, format!("{issuer}{DISCOVERY}")));
        (format!("${{env.{JWKS_URI}}}"), path.key("issuer"))
    };
    let mut keys = Node::map(Origin::Field(origin.clone()));
    keys.set("uri", Node::scalar(uri, Origin::Field(origin)));
    out.node.set("jwks", keys);
    out.node
}

/// What the rules for paths ask for must be an attribute of the caller.
fn claims_with(audience: RequiredAudience<'_>, given: &OidcSpec, path: &FieldPath) -> Node {
    let mut claims = match &given.claims {
        Some(claims) => Node::from_field(&json!(claims), &path.key("claims")),
        None => Node::from_value(json!(audience.claims()), &Origin::Rule(DEFAULT)),
    };
    let own = Origin::Field(path.key("audience"));
    claims.set(audience::CLAIM, Node::scalar(audience.attribute, own));
    claims
}

fn kubernetes(given: &KubernetesSpec, path: &FieldPath) -> Node {
    let mut out = section("kubernetes", path);
    out.rule("api_server_url", API_SERVER, "where every cluster has its API server");
    out.rule("tls_cafile", CLUSTER_CA_FILE, "the cluster's own authority");
    out.attributes("claims_mapping", given.claims.as_ref(), "claims");
    out.field("tenant_claim", given.tenant_claim.as_deref(), "tenantClaim");
    out.node
}

fn github(given: &GitHubSpec, path: &FieldPath) -> Node {
    let mut out = section("github_token", path);
    out.field("github_api_base_url", given.api_url.as_deref(), "apiUrl");
    out.attributes("claims_mapping", given.claims.as_ref(), "claims");
    out.node
}

fn custom(given: &CustomSpec, path: &FieldPath) -> Node {
    let mut out = section("custom", path);
    out.field("endpoint", Some(&given.endpoint), "endpoint");
    out.field("tenant_field", given.tenant_field.as_deref(), "tenantField");
    out.node
}

fn api_keys(draft: &mut Draft<'_>, keys: &[Lenient<SecretRef>], path: &FieldPath) -> Node {
    let mut out = section("local_api_key", path);
    let mut references = Vec::new();
    for (index, secret) in keys.iter().enumerate() {
        let Some(secret) = secret.understood() else { continue };
        let (path, number) = (path.index(index), index.to_string());
        let parts = ["auth", "api_key", number.as_str()];
        let reference = draft.environment.bind(parts, secret.target(), &path, &mut draft.findings);
        references.push(Node::scalar(reference, Origin::Field(path)));
    }
    out.node.set("api_keys", Node::list(references, Origin::Field(path.clone())));
    draft.findings.warning(
        path,
        Reason::Conflict,
        "the server takes each key for the name of its user, and keeps it beside what that user makes",
        "use another way in where others can read the server's database",
    );
    out.node
}

fn gateway(given: &GatewayHeadersSpec, path: &FieldPath) -> Node {
    let mut out = section("upstream_header", path);
    out.field("principal_header", Some(&given.principal_header), "principalHeader");
    out.field("tenant_header", given.tenant_header.as_deref(), "tenantHeader");
    out.field("attributes_header", given.attributes_header.as_deref(), "attributesHeader");
    out.attributes("attribute_headers", given.attribute_headers.as_ref(), "attributeHeaders");
    if let Some(cidrs) = &given.trusted_cidrs {
        let cidrs = Node::from_field(&json!(cidrs), &path.key("trustedCidrs"));
        out.node.set("trusted_proxy_cidrs", cidrs);
    }
    out.node
}
