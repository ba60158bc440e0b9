//! The rules of a resource, understood as a release understands them, or all that is wrong with them.

use llsd_api::one_or_many::OneOrMany;
use llsd_api::v1alpha2::{AccessRule, AccessSpec, Action, RouteRule, Scope};

use super::audience::RequiredAudience;
use super::condition::{Condition, Mistake, parse};
use super::pattern::{Fault, PREFIX};
use super::route_policy::{ServerRule, route_policy};
use super::rule::{DecidedBy, Effect, Guard, Rule};
use super::scope::{Paths, ResourceScope, Resources, without_end_slash};
use crate::problems::{FieldPath, Findings, Problem, Reason};
use crate::releases::{Release, Releases};

/// Rules that are understood.
#[derive(Clone, Debug)]
pub struct Policies {
    pub(super) release: &'static Release,
    /// As the server gets them, each with the name of its decisions.
    pub(super) routes: Vec<(DecidedBy, Rule<Vec<Paths>>)>,
    pub(super) rules: Vec<(DecidedBy, Rule<ResourceScope>)>,
}

/// Reads `spec.access` as a release does. Problems are of rules that the server would refuse, or would pass
/// over without a word.
pub fn parse_policies(
    spec: &AccessSpec,
    release: &'static Release,
    releases: &Releases,
) -> Result<Policies, Vec<Problem>> {
    let access = FieldPath::spec().key("access");
    let mut reader = PolicyReader { release, findings: Findings::default() };
    for (index, rule) in spec.routes.iter().enumerate() {
        reader.route(rule, &access.key("routes").index(index));
    }
    if let Some(mistake) = RequiredAudience::of(&spec.authentication).and_then(|it| it.mistake()) {
        let path = access.key("authentication").key("oidc").key("audience");
        reader.sound::<()>(Err(mistake), &path);
    }
    let rules = spec.rules.iter().enumerate();
    let rules = rules
        .filter_map(|(index, rule)| {
            let read = reader.rule(rule, &access.key("rules").index(index))?;
            Some((DecidedBy::Rule(index), read))
        })
        .collect();
    if !reader.findings.problems.is_empty() {
        return Err(reader.findings.problems);
    }
    let routes = route_policy(spec, releases).into_iter();
    let routes = routes
        .filter_map(|ServerRule { by, rule }| {
            Some((by, reader.route(&rule, &access.key("routes"))?))
        })
        .collect();
    Ok(Policies { release, routes, rules })
}

impl Policies {
    /// The first rule that means to permit creating, where none of those can ever hold.
    pub fn vain_create(&self) -> Option<usize> {
        let permits = |rule: &&Rule<ResourceScope>| {
            rule.effect == Effect::Permit && rule.scope.actions.contains(&Action::Create)
        };
        let rules = || self.rules.iter().map(|(_, rule)| rule);
        let mut meant = rules().filter(permits);
        if meant.any(|rule| rule.guard.can_hold_before_it_is_made(self.release)) {
            return None;
        }
        rules().position(|rule| permits(&rule))
    }

    /// Whether there are rules and no caller may read a model of the configuration, which has no owner, as what
    /// is about to be made has none.
    pub fn hide_models(&self) -> bool {
        for (_, Rule { effect, scope, guard }) in &self.rules {
            let resource = scope.resource.as_ref();
            let is_for_all = scope.principal.is_none() && *guard == Guard::Always;
            match effect {
                _ if !scope.actions.contains(&Action::Read) => {}
                Effect::Permit => {
                    let may_be_one = resource.is_none_or(Resources::may_be_models);
                    if may_be_one && guard.can_hold_before_it_is_made(self.release) {
                        return false;
                    }
                }
                Effect::Forbid => {
                    if is_for_all && resource.is_none_or(Resources::are_all_models) {
                        return true;
                    }
                }
            }
        }
        !self.rules.is_empty()
    }
}

struct PolicyReader {
    release: &'static Release,
    findings: Findings,
}

impl PolicyReader {
    fn route(&mut self, rule: &RouteRule, at: &FieldPath) -> Option<Rule<Vec<Paths>>> {
        let guard = self.guard(rule.when.as_ref(), rule.unless.as_ref(), at);
        let (effect, key, scope) = one_of(rule.permit.as_ref(), rule.forbid.as_ref())?;
        let at = at.key(key).key("paths");
        let scope = scope.paths.iter().enumerate();
        let scope =
            scope.filter_map(|(index, text)| self.paths(text, effect, &at.index(index))).collect();
        Some(Rule { effect, scope, guard: guard? })
    }

    fn paths(&mut self, text: &str, effect: Effect, at: &FieldPath) -> Option<Paths> {
        let read = self
            .pattern(text)
            .and_then(|()| Paths::parse(text, self.release).map_err(pattern_mistake));
        let is_forbidden = effect == Effect::Forbid;
        let mistake = match &read {
            Ok(Paths::Exactly(path)) if without_end_slash(path) != path => Some(end_slash(text)),
            Ok(Paths::Like(_) | Paths::Unknown) if is_forbidden && text.contains(r"\Z") => {
                Some(line_end())
            }
            _ => None,
        };
        self.sound(mistake.map_or(read, Err), at)
    }

    fn rule(&mut self, rule: &AccessRule, at: &FieldPath) -> Option<Rule<ResourceScope>> {
        let guard = self.guard(rule.when.as_ref(), rule.unless.as_ref(), at);
        let (effect, key, scope) = one_of(rule.permit.as_ref(), rule.forbid.as_ref())?;
        let scope = self.resource_scope(scope, &at.key(key));
        Some(Rule { effect, scope: scope?, guard: guard? })
    }

    fn resource_scope(&mut self, scope: &Scope, at: &FieldPath) -> Option<ResourceScope> {
        let given = |text: &&str| !text.is_empty();
        let resource = match scope.resource.as_deref().filter(given) {
            None => None,
            Some(text) => {
                let read = self
                    .pattern(text)
                    .and_then(|()| Resources::parse(text, self.release).map_err(pattern_mistake));
                let names_one = text.contains("::") || text.starts_with(PREFIX);
                let read = if names_one { read } else { Err(no_resource(text)) };
                Some(self.sound(read, &at.key("resource"))?)
            }
        };
        let principal = scope.principal.as_deref().filter(given).map(str::to_owned);
        Some(ResourceScope { principal, actions: scope.actions.clone(), resource })
    }

    fn guard(
        &mut self,
        when: Option<&OneOrMany<String>>,
        unless: Option<&OneOrMany<String>>,
        at: &FieldPath,
    ) -> Option<Guard> {
        match (when, unless) {
            (Some(when), _) => self.conditions(when, &at.key("when")).map(Guard::When),
            (None, Some(unless)) => self.conditions(unless, &at.key("unless")).map(Guard::Unless),
            (None, None) => Some(Guard::Always),
        }
    }

    fn conditions(&mut self, list: &OneOrMany<String>, at: &FieldPath) -> Option<Vec<Condition>> {
        let entries = list.entries();
        if entries.is_empty() {
            return self.sound(Err(no_condition()), at);
        }
        let mut read = Vec::new();
        for (index, entry) in entries.iter().enumerate() {
            let at = if matches!(list, OneOrMany::One(_)) { at.clone() } else { at.index(index) };
            let text = entry.understood().map(String::as_str).unwrap_or_default();
            read.push(self.sound(parse(text, self.release), &at));
        }
        read.into_iter().collect()
    }

    /// A release without patterns takes one for a name, which nothing has.
    fn pattern(&self, text: &str) -> Result<(), Mistake> {
        if text.starts_with(PREFIX) && !self.release.knows_regex {
            return Err(no_patterns(self.release));
        }
        Ok(())
    }

    fn sound<T>(&mut self, read: Result<T, Mistake>, at: &FieldPath) -> Option<T> {
        read.map_err(|Mistake { message, remedy }| {
            self.findings.problem(at, Reason::Invalid, message, remedy);
        })
        .ok()
    }
}

fn one_of<'a, S>(permit: Option<&'a S>, forbid: Option<&'a S>) -> Option<(Effect, &'a str, &'a S)> {
    let permit = permit.map(|scope| (Effect::Permit, "permit", scope));
    permit.or(forbid.map(|scope| (Effect::Forbid, "forbid", scope)))
}

fn no_patterns(release: &Release) -> Mistake {
    Mistake {
        message: format!("{} does not know `regex:`", release.title),
        remedy: "name paths and resources themselves, or use an image of a later release"
            .to_owned(),
    }
}

fn pattern_mistake(fault: Fault) -> Mistake {
    let (Fault::Broken(what) | Fault::Foreign(what)) = fault;
    Mistake {
        message: format!("the pattern has {what}, and the server would pass over it"),
        remedy: "correct the pattern".to_owned(),
    }
}

/// A router takes a line break behind a path for its end, and so does `$`.
fn line_end() -> Mistake {
    let message = r"`\Z` leaves out the path with a line break behind it, which leads to the same";
    Mistake { message: message.to_owned(), remedy: "write `$`".to_owned() }
}

fn end_slash(path: &str) -> Mistake {
    Mistake {
        message: "the server takes the slash off the end of a path before it compares".to_owned(),
        remedy: format!("write `{}`", without_end_slash(path)),
    }
}

fn no_resource(text: &str) -> Mistake {
    let remedy = if text == "*" {
        "leave `resource` out, which means all".to_owned()
    } else {
        format!("write `{text}::*` for all of a kind, or `{text}::NAME` for one")
    };
    Mistake { message: format!("`{text}` is not a resource of the server"), remedy }
}

fn no_condition() -> Mistake {
    Mistake {
        message: "an empty list is no condition: the rule would hold always".to_owned(),
        remedy: "write a condition, or leave the field out".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;

    fn problems(release: &str, routes: &Value, rules: &Value) -> Vec<String> {
        let releases = Releases::shipped();
        let release = releases.all().iter().find(|row| row.name == release).unwrap();
        let authentication = json!({"kubernetes": {}});
        let spec = json!({"authentication": authentication, "routes": routes, "rules": rules});
        let spec = serde_json::from_value(spec).unwrap();
        let problems = parse_policies(&spec, release, releases).unwrap_err();
        problems.into_iter().map(|problem| problem.path.to_string()).collect()
    }

    #[test]
    fn every_mistake_is_found_at_its_field() {
        let routes = json!([
            {"permit": {"paths": ["/v1/models", "/v1/files/"]}, "when": "user in owner teams"},
            {"forbid": {"paths": ["regex:/v1/(files"]}, "unless": ["user is owner", "never"]},
            {"forbid": {"paths": ["/v1/files", r"regex:/v1/files\Z"]}},
        ]);
        let rules = json!([
            {"permit": {"actions": ["read"], "resource": "*"}},
            {"forbid": {"actions": ["read"], "resource": "model"}, "when": []},
        ]);
        let expected = [
            "spec.access.routes[0].when",
            "spec.access.routes[0].permit.paths[1]",
            "spec.access.routes[1].unless[1]",
            "spec.access.routes[1].forbid.paths[0]",
            "spec.access.routes[2].forbid.paths[1]",
            "spec.access.rules[0].permit.resource",
            "spec.access.rules[1].when",
            "spec.access.rules[1].forbid.resource",
        ];
        assert_eq!(problems("0.7.3", &routes, &rules), expected);
    }

    fn create(condition: &Value) -> Value {
        let mut rule = json!({"permit": {"actions": ["create"]}});
        rule.as_object_mut().unwrap().extend(condition.as_object().unwrap().clone());
        rule
    }

    #[rstest]
    #[case::of_the_owner("0.7.3", json!([{"when": "user is owner"}]), Some(0))]
    #[case::shared_with_nobody("0.7.3", json!([{"when": "user in owners teams"}]), Some(0))]
    #[case::in_0_3_shared_with_all("0.3.5", json!([{"when": "user in owners teams"}]), None)]
    #[case::but_not_what_nobody_owns("0.7.3", json!([{"unless": "resource is unowned"}]), Some(0))]
    #[case::but_not_for_owners("0.7.3", json!([{"unless": "user is owner"}]), None)]
    #[case::by_another_rule("0.7.3", json!([{"when": "user is owner"}, {}]), None)]
    #[case::not_meant("0.7.3", json!([]), None)]
    fn a_rule_that_can_let_nobody_create_is_found(
        #[case] release: &str,
        #[case] conditions: Value,
        #[case] expected: Option<usize>,
    ) {
        let releases = Releases::shipped();
        let release = releases.all().iter().find(|row| row.name == release).unwrap();
        let mut rules: Vec<Value> = conditions.as_array().unwrap().iter().map(create).collect();
        rules.push(json!({"permit": {"actions": ["read"]}}));
        let spec = json!({"authentication": {"kubernetes": {}}, "rules": rules});
        let spec = serde_json::from_value(spec).unwrap();
        let read = parse_policies(&spec, release, releases).unwrap();
        assert_eq!(read.vain_create(), expected);
    }

    #[test]
    fn a_release_without_patterns_would_take_one_for_a_name() {
        let routes = json!([{"permit": {"paths": ["regex:/v1/.*"]}}]);
        let rules = json!([{"permit": {"actions": ["read"], "resource": "regex:model::a"}}]);
        let expected =
            ["spec.access.routes[0].permit.paths[0]", "spec.access.rules[0].permit.resource"];
        assert_eq!(problems("0.5.4", &routes, &rules), expected);
    }
}
