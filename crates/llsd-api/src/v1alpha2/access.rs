//! `spec.access`: who may call the server, and what they may do there.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_with_macros::skip_serializing_none;

use super::authentication::Authentication;
use crate::one_or_many::OneOrMany;
use crate::patterns::{LITERAL, ROUTE, TENANT};
use crate::rules::{PERMIT_XOR_FORBID, SINGLE_NEEDS_TENANT, validations};
use crate::text_or_list::TextOrList;

/// Who may call the server. Without it everybody who reaches the server may. The paths `/v1/health`
/// and `/v1/version` stay open, for probes.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct AccessSpec {
    /// How callers show who they are. Exactly one way in.
    pub authentication: Authentication,
    /// Who may call which paths: the first rule that matches decides, and where none does the answer
    /// is 403. Without any, every caller who is known may call every path.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub routes: Vec<RouteRule>,
    /// Who may do what to which resource of the server: the first rule that matches decides, and where
    /// none does it is forbidden. Without any, a resource is for its owner and for those who share the
    /// owner's attributes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 64))]
    pub rules: Vec<AccessRule>,
    /// Whether the server keeps the state of several tenants apart. OGX from 1.2.
    pub tenancy: Option<TenancySpec>,
}

/// Permits or forbids paths.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = validations(&[PERMIT_XOR_FORBID])))]
pub struct RouteRule {
    /// The paths that may be called.
    pub permit: Option<Paths>,
    /// The paths that may not be called.
    pub forbid: Option<Paths>,
    /// The rule holds where this is so: one condition, or a list of which all must be met. For example
    /// `user with admin in roles`.
    #[schemars(with = "Option<TextOrList>")]
    pub when: Option<OneOrMany<String>>,
    /// The rule holds except where this is so. Excludes `when`.
    #[schemars(with = "Option<TextOrList>")]
    pub unless: Option<OneOrMany<String>>,
    /// What the rule is for, in your own words. The server keeps it.
    #[schemars(length(max = 1024), regex(pattern = LITERAL))]
    pub description: Option<String>,
}

/// Paths of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Paths {
    /// Each is a path, a beginning (`/v1/files*`), `*` for all, or `regex:` with a pattern.
    #[schemars(
        length(min = 1, max = 64),
        inner(
            length(min = 1, max = 512),
            regex(pattern = ROUTE)
        )
    )]
    pub paths: Vec<String>,
}

/// Permits or forbids actions on resources of the server.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[schemars(extend("x-kubernetes-validations" = validations(&[PERMIT_XOR_FORBID])))]
pub struct AccessRule {
    /// What may be done.
    pub permit: Option<Scope>,
    /// What may not be done.
    pub forbid: Option<Scope>,
    /// The rule holds where this is so: one condition, or a list of which all must be met. For example
    /// `user is owner`, `user in owners teams`, `user with admin in roles`.
    #[schemars(with = "Option<TextOrList>")]
    pub when: Option<OneOrMany<String>>,
    /// The rule holds except where this is so. Excludes `when`.
    #[schemars(with = "Option<TextOrList>")]
    pub unless: Option<OneOrMany<String>>,
    /// What the rule is for, in your own words. The server keeps it.
    #[schemars(length(max = 1024), regex(pattern = LITERAL))]
    pub description: Option<String>,
}

/// Who, what, and to which resource. What is left out matches all.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Scope {
    /// The name of one user, as the way in gives it.
    #[schemars(length(min = 1, max = 512), regex(pattern = LITERAL))]
    pub principal: Option<String>,
    /// The actions.
    #[schemars(length(min = 1, max = 4), extend("x-kubernetes-list-type" = "set"))]
    pub actions: Vec<Action>,
    /// The resource, as `model::NAME`, `vector_store::*` or `regex:` with a pattern.
    #[schemars(length(min = 1, max = 512), regex(pattern = LITERAL))]
    pub resource: Option<String>,
}

/// What can be done to a resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    Create,
    Read,
    Update,
    Delete,
}

/// Whether the server keeps tenants apart.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(extend("x-kubernetes-validations" = validations(&[SINGLE_NEEDS_TENANT])))]
pub struct TenancySpec {
    /// `disabled`: there are no tenants. `single`: all belong to one. `multi`: each caller belongs to
    /// the one that the way in names.
    pub mode: TenancyMode,
    /// The tenant of all callers, where the mode is `single`.
    #[schemars(regex(pattern = TENANT))]
    pub default_tenant_id: Option<String>,
}

/// How many tenants there are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum TenancyMode {
    #[default]
    Disabled,
    Single,
    Multi,
}
