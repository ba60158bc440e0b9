//! The answer to a whole request: who calls, of which tenant, and whether the path is open to them.

use llsd_api::v1alpha2::{AccessSpec, TenancyMode};
use serde_json::{Map, Value};

use super::authentication::caller;
use super::caller::{Caller, Stranger};
use super::policies::Policies;
use super::route::decide_route;
use super::rule::RuleDecision;
use crate::releases::Release;
use crate::server::paths::OPEN_PATHS;

/// A request, as far as the answer depends on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    pub method: String,
    /// As the server has it: decoded, and without a query.
    pub path: String,
    /// What the authentication is told of the caller; nothing without a token.
    pub told: Option<Map<String, Value>>,
}

/// What the server answers before it looks at any resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// 401, and why.
    Unknown(String),
    /// 500, and why.
    Failed(String),
    /// What the server makes of the caller is not known here.
    Undecided(String),
    /// The caller is known, or needs not be, and the rules for paths have decided.
    Decided {
        /// Nobody on open paths, even with a token.
        caller: Option<Caller>,
        decision: RuleDecision,
    },
}

/// The answer of a server to a request.
pub fn answer(spec: &AccessSpec, policies: &Policies, request: &Request) -> Answer {
    let release = policies.release;
    let caller = if is_open(request) {
        None
    } else {
        match known(spec, release, request) {
            Ok(caller) => caller,
            Err(Stranger::Refused(why)) => return Answer::Unknown(why),
            Err(Stranger::Failed(why)) => return Answer::Failed(why),
            Err(Stranger::Undecided(why)) => return Answer::Undecided(why),
        }
    };
    let decision = decide_route(policies, caller.as_ref(), &request.path);
    Answer::Decided { caller, decision }
}

fn is_open(request: &Request) -> bool {
    let is_get = request.method.eq_ignore_ascii_case("GET");
    is_get && OPEN_PATHS.contains(&request.path.as_str())
}

fn known(
    spec: &AccessSpec,
    release: &Release,
    request: &Request,
) -> Result<Option<Caller>, Stranger> {
    let Some(told) = &request.told else {
        return Err(Stranger::Refused("there is no token".to_owned()));
    };
    let mut caller = caller(&spec.authentication, release, told)?;
    let tenancy = spec.tenancy.as_ref();
    match tenancy.map(|tenancy| tenancy.mode) {
        Some(TenancyMode::Single) => {
            caller.tenant = tenancy.and_then(|tenancy| tenancy.default_tenant_id.clone());
            if caller.principal.is_empty() {
                "system".clone_into(&mut caller.principal);
            }
        }
        Some(TenancyMode::Multi) if caller.tenant.is_none() => {
            return Err(Stranger::Refused("the caller is of no tenant".to_owned()));
        }
        None | Some(TenancyMode::Disabled | TenancyMode::Multi) => {}
    }
    let is_nobody = caller.principal.is_empty() && caller.attributes.is_empty();
    Ok(Some(caller).filter(|_| !is_nobody))
}
