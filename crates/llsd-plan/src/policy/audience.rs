//! The audience of tokens that a provider is asked about. Servers compare it with the tokens that they check
//! themselves, and with no others. So it becomes an attribute of the caller, which the rules for paths ask for.

use std::collections::BTreeMap;

use llsd_api::v1alpha2::{Authentication, OidcSpec};
use serde_json::{Map, Value};

use super::claims::{OF_TOKENS, words};
use super::condition::Mistake;
use crate::releases::ServerFamily;

/// The claim that holds it.
pub const CLAIM: &str = "aud";

/// Whom tokens must be for where the resource does not say.
pub fn default_of(server: ServerFamily) -> &'static str {
    match server {
        ServerFamily::LlamaStack => "llama-stack",
        ServerFamily::Ogx => "ogx",
    }
}

/// The audience that a server asks for, where it checks tokens itself and these claims name another one. A token
/// that does not say is taken for right.
pub fn missed<'a>(
    given: &'a Authentication,
    server: ServerFamily,
    claims: &Map<String, Value>,
) -> Option<&'a str> {
    let oidc = given.oidc.as_ref().filter(|oidc| oidc.introspection.is_none())?;
    let wanted = oidc.audience.as_deref().unwrap_or(default_of(server));
    let is_it = |value: &Value| value.as_str() == Some(wanted);
    let fits = match claims.get(CLAIM)? {
        Value::Array(all) => all.iter().any(is_it),
        one => is_it(one),
    };
    (!fits).then_some(wanted)
}

/// An audience that rules have to ask for.
#[derive(Clone, Copy, Debug)]
pub struct RequiredAudience<'a> {
    oidc: &'a OidcSpec,
    audience: &'a str,
    /// The attribute of callers that holds it.
    pub attribute: &'a str,
}

impl<'a> RequiredAudience<'a> {
    /// Of a provider that is asked about tokens, where the resource says whom they must be for.
    pub fn of(given: &'a Authentication) -> Option<Self> {
        let oidc = given.oidc.as_ref().filter(|oidc| oidc.introspection.is_some())?;
        let mapped = oidc.claims.as_ref().and_then(|claims| claims.get(CLAIM));
        let attribute = mapped.map_or("audiences", String::as_str);
        Some(Self { oidc, audience: oidc.audience.as_deref()?, attribute })
    }

    /// What must hold for every caller.
    pub(super) fn condition(&self) -> String {
        format!("user with {} in {}", self.audience, self.attribute)
    }

    /// The claims that become attributes, the audience among them.
    pub fn claims(&self) -> BTreeMap<String, String> {
        let default = || OF_TOKENS.map(|(claim, name)| (claim.to_owned(), name.to_owned())).into();
        let mut claims = self.oidc.claims.clone().unwrap_or_else(default);
        claims.insert(CLAIM.to_owned(), self.attribute.to_owned());
        claims
    }

    /// Why it cannot be asked for.
    pub(super) fn mistake(&self) -> Option<Mistake> {
        let Self { audience, attribute, .. } = self;
        if [audience, attribute].iter().any(|word| words(word).count() != 1) {
            return Some(Mistake {
                message: format!("a condition cannot ask for `{audience}` in `{attribute}`"),
                remedy: "use names without a space".to_owned(),
            });
        }
        let shared = self.claims().into_iter();
        let mut shared = shared.filter(|(claim, name)| name == attribute && claim != CLAIM);
        shared.next().map(|(claim, _)| Mistake {
            message: format!("who has `{audience}` in the claim {claim} would be let in, too"),
            remedy: format!("let claims give {CLAIM} an attribute of its own"),
        })
    }
}
