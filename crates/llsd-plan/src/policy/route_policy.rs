//! The rules for paths that the server gets: those of the resource, behind and with what the operator adds. The
//! generated configuration has them, and `llsd access test` decides by them.

use llsd_api::lenient::Lenient;
use llsd_api::one_or_many::OneOrMany;
use llsd_api::v1alpha2::{AccessSpec, Paths, RouteRule};

use super::audience::RequiredAudience;
use super::rule::DecidedBy;
use super::spelling::other_spellings;
use crate::releases::Releases;
use crate::server::paths::OPEN_PATHS;

/// A rule of the server, and how its decisions are named.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerRule {
    pub by: DecidedBy,
    pub rule: RouteRule,
}

/// All of them, in their order; none where every caller who is known may call every path.
pub fn route_policy(access: &AccessSpec, releases: &Releases) -> Vec<ServerRule> {
    let audience = RequiredAudience::of(&access.authentication);
    let audience = audience.map(|it| OneOrMany::One(Lenient::Read(it.condition())));
    if access.routes.is_empty() && audience.is_none() {
        return Vec::new();
    }
    let mut rules = vec![open_paths()];
    if audience.is_some() {
        let rule = RouteRule {
            forbid: Some(all()),
            unless: audience.clone(),
            description: Some("tokens issued for another audience".to_owned()),
            ..RouteRule::default()
        };
        rules.push(ServerRule { by: DecidedBy::Audience, rule });
    }
    let written = access.routes.iter().enumerate();
    rules.extend(written.map(|(index, rule)| ServerRule {
        by: DecidedBy::Rule(index),
        rule: for_everybody_of(audience.as_ref(), spelled_out(rule.clone(), releases)),
    }));
    if access.routes.is_empty() {
        let rule = RouteRule { permit: Some(all()), when: audience, ..RouteRule::default() };
        rules.push(ServerRule { by: DecidedBy::NoPolicy, rule });
    }
    rules
}

/// The first rule that matches decides, so the paths of the probes come first.
fn open_paths() -> ServerRule {
    let rule = RouteRule {
        permit: Some(Paths { paths: OPEN_PATHS.map(str::to_owned).to_vec() }),
        description: Some("probes, and everybody who asks which release this is".to_owned()),
        ..RouteRule::default()
    };
    ServerRule { by: DecidedBy::OpenPaths, rule }
}

fn all() -> Paths {
    Paths { paths: vec!["*".to_owned()] }
}

/// What is forbidden is forbidden under all its names; behind those that the resource writes.
fn spelled_out(mut rule: RouteRule, releases: &Releases) -> RouteRule {
    if let Some(forbid) = &mut rule.forbid {
        let others = forbid.paths.iter().flat_map(|it| other_spellings(it, releases));
        for other in others.collect::<Vec<String>>() {
            if !forbid.paths.contains(&other) {
                forbid.paths.push(other);
            }
        }
    }
    rule
}

/// To the server a caller without a name and attributes is nobody. No condition holds for nobody, so a rule
/// that permits without one gets one.
fn for_everybody_of(audience: Option<&OneOrMany<String>>, mut rule: RouteRule) -> RouteRule {
    if rule.permit.is_some() && rule.unless.is_none() && rule.when.is_none() {
        rule.when = audience.cloned();
    }
    rule
}
