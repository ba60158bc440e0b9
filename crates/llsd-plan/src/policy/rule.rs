//! A rule of either policy, and what a policy comes to: the first rule that holds decides.

use super::caller::Caller;
use super::condition::Condition;
use crate::releases::Release;

/// What a rule does where it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    Permit,
    Forbid,
}

/// When a rule holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Guard {
    Always,
    When(Vec<Condition>),
    Unless(Vec<Condition>),
}

/// A rule about what `S` names.
#[derive(Clone, Debug)]
pub(super) struct Rule<S> {
    pub(super) effect: Effect,
    pub(super) scope: S,
    pub(super) guard: Guard,
}

/// Whether something is what a rule names. Where several answer, the greatest counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Match {
    No,
    /// A pattern says it that is not evaluated here.
    Unsure,
    Yes,
}

impl From<Option<bool>> for Match {
    fn from(known: Option<bool>) -> Self {
        known.map_or(Self::Unsure, |is| if is { Self::Yes } else { Self::No })
    }
}

/// What the server decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    Allowed,
    Denied,
    /// A rule decides whose pattern is not evaluated here.
    Unsure,
}

/// By what it decides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecidedBy {
    /// The rule of the resource with this index.
    Rule(usize),
    /// The operator's own rule in front of those of the resource.
    OpenPaths,
    /// The operator's own rule for the audience of tokens.
    Audience,
    /// A rule that the server has by itself where a resource has none, by its condition.
    Default(&'static str),
    /// Rules that are there, of which none holds.
    NoRule,
    /// There are no rules.
    NoPolicy,
    /// The caller is nobody, whom no rule binds.
    Nobody,
    /// The owner is of another tenant.
    OtherTenant,
}

/// What the server decides, and by what.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RuleDecision {
    pub outcome: Outcome,
    pub by: DecidedBy,
}

impl Guard {
    /// The conditions, whichever way they are asked.
    fn all(&self) -> (bool, &[Condition]) {
        match self {
            Self::Always => (true, &[]),
            Self::When(conditions) => (true, conditions),
            Self::Unless(conditions) => (false, conditions),
        }
    }

    /// Before a resource: `unless` lets the rule hold where one of its conditions does not.
    pub(super) fn holds_for_resource(
        &self,
        caller: &Caller,
        owner: Option<&Caller>,
        release: &Release,
    ) -> bool {
        let (wanted, conditions) = self.all();
        conditions.iter().all(|condition| condition.holds(caller, owner, release)) == wanted
    }

    /// Whether it holds for some caller before something that is about to be made.
    pub(super) fn can_hold_before_it_is_made(&self, release: &Release) -> bool {
        let (wanted, conditions) = self.all();
        let before = |condition: &Condition| condition.before_it_is_made(release);
        if wanted {
            conditions.iter().all(|condition| before(condition) != Some(false))
        } else {
            conditions.iter().any(|condition| before(condition) != Some(true))
        }
    }

    /// Before a path: `unless` lets the rule hold where none of its conditions does.
    pub(super) fn holds_for_route(&self, caller: Option<&Caller>, release: &Release) -> bool {
        let (wanted, conditions) = self.all();
        match caller {
            None => conditions.is_empty(),
            Some(caller) => {
                conditions.iter().all(|condition| condition.holds(caller, None, release) == wanted)
            }
        }
    }
}

/// The decision of rules in their order, each with the name of its decisions; each is asked whether it holds.
pub(super) fn first<S>(
    rules: &[(DecidedBy, Rule<S>)],
    holds: impl Fn(&Rule<S>) -> Match,
) -> RuleDecision {
    for (by, rule) in rules {
        let outcome = match (holds(rule), rule.effect) {
            (Match::No, _) => continue,
            (Match::Unsure, _) => Outcome::Unsure,
            (Match::Yes, Effect::Permit) => Outcome::Allowed,
            (Match::Yes, Effect::Forbid) => Outcome::Denied,
        };
        return RuleDecision { outcome, by: *by };
    }
    RuleDecision { outcome: Outcome::Denied, by: DecidedBy::NoRule }
}
