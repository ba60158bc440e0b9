//! The engine of `llsd access test`: what a server would answer to a request, and the rule that decides, by
//! its field in the resource.

use llsd_api::v1alpha2::{AccessSpec, Action};
use llsd_plan::policy::{
    self, Answer, Caller, DecidedBy, Outcome, Policies, Request, RuleDecision, Stranger, audience,
    decide_resource,
};
use llsd_plan::problems::FieldPath;
use llsd_plan::releases::{Release, Releases};
use serde::Serialize;
use serde_json::{Map, Value};

use crate::examined::{Examined, Planned};

/// What is asked.
#[derive(Clone, Debug)]
pub struct Question {
    pub method: String,
    /// As a client writes it, with a query or without.
    pub path: String,
    /// What the authentication is told of the caller; nothing without a token.
    pub caller: Option<Map<String, Value>>,
    pub resource_request: Option<ResourceRequest>,
}

/// Something that is done to a resource of the server.
#[derive(Clone, Debug)]
pub struct ResourceRequest {
    pub action: Action,
    /// `vector_store::vs_1`.
    pub resource: String,
    /// What the authentication is told of the owner; nothing where there is none.
    pub owner: Option<Map<String, Value>>,
}

/// What the server would answer.
#[derive(Clone, Debug, Serialize)]
pub struct Reply {
    /// The release whose rules of reading count.
    pub release: String,
    /// Whom the server takes the caller for; nobody on open paths.
    pub caller: Option<KnownCaller>,
    pub path: Step,
    /// Only where the path is allowed and a resource request is asked about.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource: Option<Step>,
}

/// A caller as the server knows them.
#[derive(Clone, Debug, Serialize)]
pub struct KnownCaller {
    principal: String,
    attributes: policy::Attributes,
    #[serde(skip_serializing_if = "Option::is_none")]
    tenant: Option<String>,
}

/// One decision on the way.
#[derive(Clone, Debug, Serialize)]
pub struct Step {
    /// What is asked for: `GET /v1/models`, `read model::llama`.
    pub request: String,
    /// Nothing where it is not known here.
    pub allowed: Option<bool>,
    /// What the client gets; 200 also stands for what comes after.
    pub status: Option<u16>,
    /// The field of the rule that decides, where one does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub field: Option<String>,
    /// Why, in words.
    pub reason: String,
}

impl Reply {
    /// Whether all that was asked for is allowed; nothing where that is not known here.
    pub fn allowed(&self) -> Option<bool> {
        self.resource.as_ref().unwrap_or(&self.path).allowed
    }

    pub fn to_text(&self) -> String {
        let who = self.caller.as_ref().map_or_else(|| "nobody".to_owned(), KnownCaller::described);
        let steps = [Some(&self.path), self.resource.as_ref()].into_iter().flatten();
        let lines = steps.map(|step| {
            let status = step.status.map_or_else(|| "???".to_owned(), |status| status.to_string());
            format!("{status}  {}: {}\n", step.request, step.reason)
        });
        format!("{}as {who}, by {}\n", lines.collect::<String>(), self.release)
    }
}

impl KnownCaller {
    fn described(&self) -> String {
        let attributes = self.attributes.iter();
        let mut about: Vec<String> =
            attributes.map(|(name, values)| format!("{name}: {}", values.join(", "))).collect();
        about.extend(self.tenant.as_ref().map(|tenant| format!("tenant: {tenant}")));
        if about.is_empty() {
            return self.principal.clone();
        }
        format!("{} ({})", self.principal, about.join("; "))
    }
}

impl From<&Caller> for KnownCaller {
    fn from(caller: &Caller) -> Self {
        let Caller { principal, attributes, tenant } = caller.clone();
        Self { principal, attributes, tenant }
    }
}

/// The answer of a planned server. The error says why there is none.
pub fn ask(examined: &Examined, planned: &Planned, question: &Question) -> Result<Reply, String> {
    let request = format!("{} {}", question.method, question.path);
    let Some(written) = planned.object.pointer("/spec/access") else {
        let reason = "allowed: without spec.access everybody may do everything".to_owned();
        let path = step(request, true, 200, reason);
        let release = "any release".to_owned();
        return Ok(Reply { release, caller: None, path, resource: None });
    };
    let spec: AccessSpec =
        serde_json::from_value(written.clone()).map_err(|error| format!("spec.access: {error}"))?;
    let name = planned.plan.generated.as_ref().map(|generated| generated.release);
    let releases = Releases::shipped();
    let release = name.and_then(|name| releases.by_title(name));
    let release =
        release.ok_or("the release of the server is not known; give it with --release")?;
    let policies = policy::parse_policies(&spec, release, releases).map_err(|problems| {
        let lines: Vec<String> =
            problems.iter().map(|it| format!("{}: {}", it.path, it.message)).collect();
        lines.join("; ")
    })?;
    Ok(Evaluator { examined, spec: &spec, policies: &policies, release }.reply(request, question))
}

/// All that a decision is made by.
struct Evaluator<'a> {
    examined: &'a Examined,
    spec: &'a AccessSpec,
    policies: &'a Policies,
    release: &'static Release,
}

impl Evaluator<'_> {
    fn reply(&self, request: String, question: &Question) -> Reply {
        let asked = Request {
            method: question.method.clone(),
            path: as_server_reads(&question.path),
            told: question.caller.clone(),
        };
        let told = question.caller.as_ref();
        let (authentication, server) = (&self.spec.authentication, self.release.server);
        let missed = told.and_then(|told| audience::missed(authentication, server, told));
        let refused = |why: &str| step(request.clone(), false, 401, format!("denied: {why}"));
        let (caller, path) = match (policy::answer(self.spec, self.policies, &asked), missed) {
            // An open path is open to every token.
            (Answer::Decided { caller: Some(_), .. }, Some(wanted)) => {
                (None, refused(&format!("the token was issued for another audience than {wanted}")))
            }
            (Answer::Unknown(why), _) => (None, refused(&why)),
            (Answer::Failed(why), _) => {
                (None, step(request, false, 500, format!("the server fails: {why}")))
            }
            (Answer::Undecided(what), _) => (None, undecided(request, &what)),
            (Answer::Decided { caller, decision }, _) => {
                (caller, self.step(request, decision, "routes", 403))
            }
        };
        let asked = question.resource_request.as_ref().filter(|_| path.allowed == Some(true));
        let resource = asked.map(|request| self.resource_request(request, caller.as_ref()));
        let caller = caller.as_ref().map(KnownCaller::from);
        Reply { release: self.release.title.clone(), caller, path, resource }
    }

    fn resource_request(
        &self,
        resource_request: &ResourceRequest,
        caller: Option<&Caller>,
    ) -> Step {
        let action = serde_json::to_value(resource_request.action).unwrap_or_default();
        let request =
            format!("{} {}", action.as_str().unwrap_or_default(), resource_request.resource);
        let owner = resource_request.owner.as_ref();
        let owner = owner.map(|told| policy::caller(&self.spec.authentication, self.release, told));
        let owner = match owner.transpose() {
            Ok(owner) => owner.map(|owner| self.with_tenant(owner)),
            Err(Stranger::Refused(why) | Stranger::Failed(why) | Stranger::Undecided(why)) => {
                return undecided(request, &format!("the owner: {why}"));
            }
        };
        let decision = decide_resource(
            self.policies,
            caller,
            resource_request.action,
            &resource_request.resource,
            owner.as_ref(),
        );
        // Whoever may not read something is not told that it exists.
        let denied = if resource_request.action == Action::Read { 404 } else { 403 };
        self.step(request, decision, "rules", denied)
    }

    /// An owner was once a caller, and so of the tenant of all.
    fn with_tenant(&self, mut owner: Caller) -> Caller {
        let tenancy = self.spec.tenancy.as_ref();
        let all = tenancy.and_then(|tenancy| tenancy.default_tenant_id.clone());
        owner.tenant = all.or(owner.tenant);
        owner
    }

    fn step(&self, request: String, decision: RuleDecision, list: &str, denied: u16) -> Step {
        let path = FieldPath::spec().key("access").key(list);
        let mut field = None;
        let what = match decision.by {
            DecidedBy::Rule(index) => {
                let own = field.insert(self.examined.own_path(&path.index(index)).to_string());
                format!(" by {own}{}", self.description(list, index))
            }
            DecidedBy::OpenPaths => {
                " by the operator's own rule for the paths of probes".to_owned()
            }
            DecidedBy::Audience => {
                let audience = FieldPath::spec().key("access").key("authentication").key("oidc");
                let own = self.examined.own_path(&audience.key("audience")).to_string();
                format!(" by {}: the token was issued for another audience", field.insert(own))
            }
            DecidedBy::Default(sentence) => format!(" by a rule of the server's own: {sentence}"),
            DecidedBy::NoRule if list == "rules" && self.spec.rules.is_empty() => {
                ": none of the server's own rules matches".to_owned()
            }
            DecidedBy::NoRule => format!(": no rule of {path} matches"),
            DecidedBy::NoPolicy => format!(": there is no {path}"),
            DecidedBy::Nobody => ": the caller is nobody, and no rule binds nobody".to_owned(),
            DecidedBy::OtherTenant => ": the owner belongs to another tenant".to_owned(),
        };
        let (allowed, status, word) = match decision.outcome {
            Outcome::Allowed => (Some(true), Some(200), "allowed"),
            Outcome::Denied => (Some(false), Some(denied), "denied"),
            Outcome::Unsure => (None, None, "a pattern that only the server can read decides,"),
        };
        Step { request, allowed, status, field, reason: format!("{word}{what}") }
    }

    /// What the rule is for, in its author's words.
    fn description(&self, list: &str, index: usize) -> String {
        let description = match list {
            "routes" => self.spec.routes[index].description.as_deref(),
            _ => self.spec.rules[index].description.as_deref(),
        };
        description.map(|text| format!(" ({text})")).unwrap_or_default()
    }
}

fn step(request: String, allowed: bool, status: u16, reason: String) -> Step {
    Step { request, allowed: Some(allowed), status: Some(status), field: None, reason }
}

fn undecided(request: String, what: &str) -> Step {
    let reason = format!("not known: {what}");
    Step { request, allowed: None, status: None, field: None, reason }
}

/// A path as the server has it: without the query, and decoded.
fn as_server_reads(path: &str) -> String {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let mut bytes = Vec::new();
    let mut rest = path.as_bytes();
    while let Some((&first, after)) = rest.split_first() {
        let code = (first == b'%').then(|| after.get(..2)).flatten();
        let code = code.and_then(|digits| std::str::from_utf8(digits).ok());
        let code = code.filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        if let Some(byte) = code.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(first);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_compared_as_the_server_reads_it() {
        assert_eq!(as_server_reads("/v1/models?limit=1"), "/v1/models");
        assert_eq!(as_server_reads("/v1/%6Dodels/a%2Fb%"), "/v1/models/a/b%");
    }
}
