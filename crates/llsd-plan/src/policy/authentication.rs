//! What each kind of authentication makes of what it is told about a caller.

use std::collections::BTreeMap;

use llsd_api::v1alpha2::{Authentication, GitHubSpec, KubernetesSpec, OidcSpec};
use serde_json::{Map, Value};

use super::audience::RequiredAudience;
use super::caller::{Attributes, Caller, Stranger};
use super::claims::{self, OF_GITHUB, OF_KUBERNETES, OF_TOKENS};
use super::gateway;
use super::tenant::{of_field, tenant};
use crate::releases::{Release, ServerFamily};

/// What a service, a token or a gateway says.
type Told = Map<String, Value>;

/// The caller that an authentication makes of what it is told: the claims of a token, the answer of an
/// introspection or of a service of one's own, the cluster's or GitHub's words on a user, the headers of a
/// gateway, or with API keys `{"principal": KEY}`.
pub fn caller(
    authentication: &Authentication,
    release: &Release,
    told: &Told,
) -> Result<Caller, Stranger> {
    let Authentication { oidc, kubernetes, github, custom, gateway, .. } = authentication;
    if let Some(oidc) = oidc {
        let required = RequiredAudience::of(authentication).map(|audience| audience.claims());
        by_token(oidc, required.as_ref().or(oidc.claims.as_ref()), release, told)
    } else if let Some(kubernetes) = kubernetes {
        by_cluster(kubernetes, release, told)
    } else if let Some(github) = github {
        by_github(github, release, told)
    } else if let Some(custom) = custom {
        let tenant = of_field(told, custom.tenant_field.as_deref())?;
        Ok(Caller {
            principal: text(told, "principal")?,
            attributes: listed(told, release)?,
            tenant,
        })
    } else if let Some(gateway) = gateway {
        gateway::caller(gateway, told)
    } else {
        // Exactly one kind is given, so it is that of keys.
        Ok(by_key(text(told, "principal")?))
    }
}

fn by_token(
    oidc: &OidcSpec,
    claims: Option<&BTreeMap<String, String>>,
    release: &Release,
    told: &Told,
) -> Result<Caller, Stranger> {
    let principal = match &oidc.introspection {
        Some(_) => introspected(told)?,
        None => text(told, "sub")?,
    };
    let attributes = claims::attributes(told, claims, &OF_TOKENS, release)?;
    let tenant = of_field(told, oidc.tenant_claim.as_deref())?;
    Ok(Caller { principal, attributes, tenant })
}

/// Who is asked about must be there under `sub`, be it empty.
fn introspected(told: &Told) -> Result<String, Stranger> {
    if matches!(told.get("active"), Some(Value::Bool(false) | Value::Null)) {
        return Err(Stranger::refused("the token is not active"));
    }
    match told.get("sub") {
        Some(Value::Null) => text(told, "username"),
        Some(Value::String(sub)) if sub.is_empty() => text(told, "username"),
        _ => text(told, "sub"),
    }
}

fn by_cluster(spec: &KubernetesSpec, release: &Release, told: &Told) -> Result<Caller, Stranger> {
    let principal = text(told, "username")?;
    if principal.is_empty() {
        return Err(Stranger::refused("username is empty"));
    }
    let attributes = claims::attributes(told, spec.claims.as_ref(), &OF_KUBERNETES, release)?;
    let values = spec.tenant_claim.as_ref().map(|claim| claims::values(told, claim, release));
    let first = values.transpose()?.flatten().and_then(|values| values.into_iter().next());
    Ok(Caller { principal, attributes, tenant: tenant(first.as_deref())? })
}

/// llama-stack does not ask GitHub for organizations.
fn by_github(spec: &GitHubSpec, release: &Release, told: &Told) -> Result<Caller, Stranger> {
    let principal = text(told, "login")?;
    let mut user = Told::new();
    user.insert("login".to_owned(), principal.as_str().into());
    if let Some(id) = told.get("id") {
        let id = id.as_str().map_or_else(|| id.to_string(), str::to_owned);
        user.insert("id".to_owned(), id.into());
    }
    let organizations = told.get("organizations").filter(|_| release.server == ServerFamily::Ogx);
    let organizations = organizations.cloned().unwrap_or_else(|| Value::Array(Vec::new()));
    user.insert("organizations".to_owned(), organizations);
    let attributes = claims::attributes(&user, spec.claims.as_ref(), &OF_GITHUB, release)?;
    Ok(Caller { principal, attributes, tenant: None })
}

/// Every key is an administrator's, and its own name.
fn by_key(principal: String) -> Caller {
    let roles = ["admin", "owner"].map(str::to_owned).to_vec();
    let attributes =
        [("roles".to_owned(), roles), ("teams".to_owned(), vec![principal.clone()])].into();
    Caller { principal, attributes, tenant: None }
}

/// The attributes of a service of one's own: lists of texts by name.
fn listed(told: &Told, release: &Release) -> Result<Attributes, Stranger> {
    match told.get("attributes") {
        None | Some(Value::Null) if release.takes_bare_callers => Ok(Attributes::new()),
        None | Some(Value::Null) => Err(Stranger::Failed("there are no attributes".to_owned())),
        Some(attributes) => serde_json::from_value(attributes.clone())
            .map_err(|_| Stranger::refused("attributes must be lists of texts by name")),
    }
}

fn text(told: &Told, field: &str) -> Result<String, Stranger> {
    match told.get(field) {
        Some(Value::String(text)) => Ok(text.clone()),
        Some(_) => Err(Stranger::refused(format!("{field} is no text"))),
        None => Err(Stranger::refused(format!("there is no {field}"))),
    }
}
