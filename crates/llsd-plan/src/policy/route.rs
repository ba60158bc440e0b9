//! Which paths a caller may call, by the rules of `spec.access.routes` and those of the operator.

use super::caller::Caller;
use super::policies::Policies;
use super::rule::{DecidedBy, Match, Outcome, RuleDecision, first};
use super::scope::without_end_slash;

/// Whether a caller may call a path. Nobody is who comes without being known, as on open paths. The method
/// is no matter.
pub fn decide_route(policies: &Policies, caller: Option<&Caller>, path: &str) -> RuleDecision {
    if policies.routes.is_empty() {
        return RuleDecision { outcome: Outcome::Allowed, by: DecidedBy::NoPolicy };
    }
    let path = without_end_slash(path);
    first(&policies.routes, |rule| {
        if !rule.guard.holds_for_route(caller, policies.release) {
            return Match::No;
        }
        // A path that one pattern surely names is named, whatever the others say.
        rule.scope.iter().map(|paths| paths.matches(path)).max().unwrap_or(Match::No)
    })
}
