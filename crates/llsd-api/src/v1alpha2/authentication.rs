//! `spec.access.authentication`: the ways in, of which a resource has one.

use std::collections::BTreeMap;

use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use crate::lenient::Lenient;
use crate::patterns::{CIDR, HEADER, KEY, LITERAL, URL};
use crate::rules::{INTROSPECTION_XOR_KEYS, ONE_WAY_IN, validations};
use crate::schema::inline_schema;
use crate::secret_ref::SecretRef;

/// Claims, or headers, by the attribute of the user that they give.
pub type Attributes = BTreeMap<String, String>;

/// How callers show who they are: exactly one of these.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = validations(&[ONE_WAY_IN])))]
pub struct Authentication {
    /// By tokens of an OpenID Connect provider.
    pub oidc: Option<OidcSpec>,
    /// By tokens of this cluster, as service accounts have them. The server asks the API server who
    /// the token belongs to; it needs no rights of its own.
    pub kubernetes: Option<KubernetesSpec>,
    /// By access tokens of GitHub.
    pub github: Option<GitHubSpec>,
    /// By a service of your own, which the server asks about every token.
    pub custom: Option<CustomSpec>,
    /// By keys that you hand out, one Secret reference for each. OGX from 1.4. The server takes the key
    /// itself for the user's name, and keeps it beside what that user makes.
    #[schemars(length(min = 1, max = 64))]
    pub api_keys: Option<Vec<Lenient<SecretRef>>>,
    /// By a gateway in front, which has checked the caller and says in headers who it is. OGX.
    pub gateway: Option<GatewayHeadersSpec>,
    /// Allows plain HTTP to the identity provider. Traffic can be intercepted. Loopback addresses are
    /// always allowed.
    pub allow_plain_http: Option<bool>,
}

/// An OpenID Connect provider.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = validations(&[INTROSPECTION_XOR_KEYS])))]
pub struct OidcSpec {
    /// The provider, exactly as its tokens name it in `iss`. Tokens of others are refused.
    #[schemars(length(max = 2048), regex(pattern = URL))]
    pub issuer: String,
    /// Whom tokens must be for, in `aud`. Default: `llama-stack`, or `ogx` for OGX, which every server has
    /// that names none. With `introspection`, tokens for any audience are accepted unless it is set.
    #[schemars(length(min = 1, max = 512), regex(pattern = LITERAL))]
    pub audience: Option<String>,
    /// Where the provider's keys are. Default: where the provider says, which is asked when the pod
    /// starts.
    #[schemars(length(max = 2048), regex(pattern = URL))]
    pub jwks_uri: Option<String>,
    /// Asks the provider about every token, instead of checking tokens by the provider's keys.
    pub introspection: Option<IntrospectionSpec>,
    /// Certificate authorities of the provider, beside those that the server trusts anyway.
    pub ca_bundle: Option<AccessCaBundle>,
    /// Which claim of a token becomes which attribute of the user. What you write replaces the whole
    /// default: `sub` and `username` as `roles`, `groups` and `team` as `teams`, `project` as
    /// `projects`, `tenant` and `namespace` as `namespaces`.
    #[schemars(with = "Option<AttributeMap>")]
    pub claims: Option<Attributes>,
    /// The claim that names the tenant. OGX from 1.2.
    #[schemars(length(min = 1, max = 256), regex(pattern = LITERAL))]
    pub tenant_claim: Option<String>,
}

/// The provider's introspection endpoint (RFC 7662).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct IntrospectionSpec {
    /// The endpoint.
    #[schemars(length(max = 2048), regex(pattern = URL))]
    pub url: String,
    /// The name under which the server asks.
    #[schemars(length(min = 1, max = 512), regex(pattern = LITERAL))]
    pub client_id: String,
    /// The Secret with the password for that name.
    pub client_secret: Lenient<SecretRef>,
}

/// One key of a ConfigMap with certificates of certificate authorities.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AccessCaBundle {
    /// The ConfigMap's name, in the resource's own namespace.
    #[schemars(length(min = 1, max = 253))]
    pub config_map_name: String,
    /// The key. Default: `ca-bundle.crt`.
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = KEY)
    )]
    pub key: Option<String>,
}

/// Tokens of this cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KubernetesSpec {
    /// Which of `username`, `groups` and `uid` becomes which attribute of the user. Default: `username`
    /// and `groups` as `roles`.
    #[schemars(with = "Option<AttributeMap>")]
    pub claims: Option<Attributes>,
    /// The claim that names the tenant. OGX from 1.2.
    #[schemars(length(min = 1, max = 256), regex(pattern = LITERAL))]
    pub tenant_claim: Option<String>,
}

/// Tokens of GitHub.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GitHubSpec {
    /// The API of a GitHub of your own. Default: `https://api.github.com`.
    #[schemars(length(max = 2048), regex(pattern = URL))]
    pub api_url: Option<String>,
    /// Which of `login`, `id` and `organizations` becomes which attribute of the user. Default: `login`
    /// as `roles`, `organizations` as `teams`.
    #[schemars(with = "Option<AttributeMap>")]
    pub claims: Option<Attributes>,
}

/// A service of your own that knows tokens.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CustomSpec {
    /// Where the server sends each token, by POST; the answer names the user.
    #[schemars(length(max = 2048), regex(pattern = URL))]
    pub endpoint: String,
    /// The field of the answer that names the tenant. OGX from 1.2.
    #[schemars(length(min = 1, max = 256), regex(pattern = LITERAL))]
    pub tenant_field: Option<String>,
}

/// Headers that a gateway sets, after it has taken away those of the caller.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewayHeadersSpec {
    /// The header with the user's name.
    #[schemars(length(max = 256), regex(pattern = HEADER))]
    pub principal_header: String,
    /// The header with the tenant. OGX from 1.2.
    #[schemars(length(max = 256), regex(pattern = HEADER))]
    pub tenant_header: Option<String>,
    /// The header with the user's attributes, as JSON.
    #[schemars(length(max = 256), regex(pattern = HEADER))]
    pub attributes_header: Option<String>,
    /// Which header becomes which attribute of the user.
    #[schemars(with = "Option<AttributeMap>")]
    pub attribute_headers: Option<Attributes>,
    /// The addresses of the gateway, as `192.0.2.10/32`. Requests from elsewhere are refused; without it,
    /// or where other clients have such addresses too, any client that reaches the server can impersonate
    /// any user.
    #[schemars(
        length(min = 1, max = 64),
        inner(length(max = 64), regex(pattern = CIDR))
    )]
    pub trusted_cidrs: Option<Vec<String>>,
}

/// The schema of a map whose values the server takes as they stand.
struct AttributeMap;

inline_schema!(AttributeMap, "AttributeMap", |_| {
    let value = json_schema!({
        "type": "string", "minLength": 1, "maxLength": 256, "pattern": LITERAL,
    });
    json_schema!({
        "type": "object", "minProperties": 1, "maxProperties": 32, "additionalProperties": value,
    })
});
