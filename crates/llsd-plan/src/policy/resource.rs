//! What a caller may do to a resource of the server, by the rules of `spec.access.rules`.

use llsd_api::v1alpha2::Action;

use super::caller::Caller;
use super::condition::Condition;
use super::policies::Policies;
use super::rule::{DecidedBy, Match, Outcome, Rule, RuleDecision, first};
use super::scope::ResourceScope;
use crate::releases::Release;

/// Whether a caller may do something to a resource, `model::llama`, that `owner` made. Whatever is created
/// has no owner yet.
pub fn decide_resource(
    policies: &Policies,
    caller: Option<&Caller>,
    action: Action,
    resource: &str,
    owner: Option<&Caller>,
) -> RuleDecision {
    let Some(caller) = caller else {
        return RuleDecision { outcome: Outcome::Allowed, by: DecidedBy::Nobody };
    };
    if owner.is_some_and(|owner| owner.is_of_another_tenant(caller)) {
        return RuleDecision { outcome: Outcome::Denied, by: DecidedBy::OtherTenant };
    }
    let holds = |rule: &Rule<ResourceScope>| {
        let scope = &rule.scope;
        let is_meant = scope.principal.as_ref().is_none_or(|name| *name == caller.principal)
            && scope.actions.contains(&action)
            && rule.guard.holds_for_resource(caller, owner, policies.release);
        if !is_meant {
            return Match::No;
        }
        scope.resource.as_ref().map_or(Match::Yes, |resources| resources.matches(resource))
    };
    if !policies.rules.is_empty() {
        return first(&policies.rules, holds);
    }
    let mut own = default_rules(policies.release);
    let holds = |condition: &Condition| condition.holds(caller, owner, policies.release);
    match own.find(|(_, conditions)| conditions.iter().all(holds)) {
        Some((sentence, _)) => {
            RuleDecision { outcome: Outcome::Allowed, by: DecidedBy::Default(sentence) }
        }
        None => RuleDecision { outcome: Outcome::Denied, by: DecidedBy::NoRule },
    }
}

/// What the server permits where a resource has no rules. Before there was a condition for what nobody
/// owns, all attributes had to be shared, which what has none does.
fn default_rules(release: &Release) -> impl Iterator<Item = (&'static str, Vec<Condition>)> {
    const SHARED: [&str; 4] = ["roles", "teams", "projects", "namespaces"];
    let shares = |name: &str| Condition::Shares { name: name.to_owned() };
    let all = ("user shares all attributes", SHARED.map(shares).to_vec());
    let each = [
        ("user in owners roles", shares(SHARED[0])),
        ("user in owners teams", shares(SHARED[1])),
        ("user in owners projects", shares(SHARED[2])),
        ("user in owners namespaces", shares(SHARED[3])),
        ("user is owner", Condition::IsOwner),
        ("resource is unowned", Condition::IsUnowned),
    ];
    let each = each.map(|(sentence, condition)| (sentence, vec![condition]));
    let rules = if release.knows_unowned { each.to_vec() } else { vec![all] };
    rules.into_iter()
}
