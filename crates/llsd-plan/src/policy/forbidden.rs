//! What rules that forbid leave open, told by the paths that a release serves.

use llsd_api::v1alpha2::AccessSpec;

use super::pattern::PREFIX;
use super::policies::Policies;
use super::rule::{Effect, Match};
use super::scope::Paths;
use crate::problems::{FieldPath, Findings, Reason};
use crate::releases::Releases;

/// Warns of what is forbidden and served by nobody, and of what stays open under its other name.
pub fn warn_of_gaps(
    spec: &AccessSpec,
    policies: &Policies,
    releases: &Releases,
    findings: &mut Findings,
) {
    let routes: Vec<&str> = releases.routes(policies.release.number).collect();
    let rules = spec.routes.iter().enumerate();
    for (index, forbid) in rules.filter_map(|(index, rule)| Some((index, rule.forbid.as_ref()?))) {
        let path = FieldPath::spec().key("access").key("routes").index(index);
        let path = path.key("forbid").key("paths");
        for (at, text) in forbid.paths.iter().enumerate() {
            if !routes.iter().any(|route| can_be(text, route)) {
                findings.warning(
                    &path.index(at),
                    Reason::Ignored,
                    format!("{} serves nothing under this path", policies.release.title),
                    "look for the path among those that `GET /v1/inspect/routes` lists",
                );
            }
            let aliases = releases.aliases();
            for (one, other) in aliases.filter(|(_, other)| routes.contains(other)) {
                if policies.forbids(text, one) && policies.is_open(other) {
                    findings.warning(
                        &path.index(at),
                        Reason::Conflict,
                        format!("{other} leads to the same as {one}, and stays open"),
                        format!("forbid `{other}*`, too"),
                    );
                }
            }
        }
    }
}

impl Policies {
    /// Whether this text of a rule names the path.
    fn forbids(&self, text: &str, path: &str) -> bool {
        Paths::parse(text, self.release).is_ok_and(|paths| paths.matches(path) == Match::Yes)
    }

    /// Whether a rule can permit a path that none forbids.
    fn is_open(&self, path: &str) -> bool {
        let named = |effect: Effect| {
            let mut rules = self.routes.iter().filter(|(_, rule)| rule.effect == effect);
            rules.any(|(_, rule)| rule.scope.iter().any(|it| it.matches(path) == Match::Yes))
        };
        named(Effect::Permit) && !named(Effect::Forbid)
    }
}

/// Whether a path of a rule can be one that is served. What a pattern names is not looked into.
fn can_be(text: &str, route: &str) -> bool {
    if text == "*" || text.starts_with(PREFIX) {
        return true;
    }
    let beginning = text.strip_suffix('*');
    let mut route = route.split('/');
    let mut parts = beginning.unwrap_or(text).split('/').peekable();
    while let Some(part) = parts.next() {
        let Some(own) = route.next() else { return false };
        if own.ends_with(":path}") {
            return true;
        }
        let begins = beginning.is_some() && parts.peek().is_none() && own.starts_with(part);
        if !(own == part || begins || own.starts_with('{')) {
            return false;
        }
    }
    beginning.is_some() || route.next().is_none()
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::{Value, json};

    use super::*;
    use crate::policy::parse_policies;

    fn warnings(release: &str, forbid: &Value, permit: &str) -> Vec<String> {
        let releases = Releases::shipped();
        let release = releases.all().iter().find(|row| row.name == release).unwrap();
        let spec = serde_json::from_value(json!({
            "authentication": {"github": {}},
            "routes": [{"forbid": {"paths": forbid}}, {"permit": {"paths": [permit]}}],
        }))
        .unwrap();
        let policies = parse_policies(&spec, release, releases).unwrap();
        let mut findings = Findings::default();
        warn_of_gaps(&spec, &policies, releases, &mut findings);
        findings.warnings.iter().map(|it| format!("{} {}", it.path, it.message)).collect()
    }

    const FIRST: &str = "spec.access.routes[0].forbid.paths[0]";

    #[rstest]
    #[case::both_names_are_written(json!(["/v1/providers*"]))]
    #[case::of_one_provider(json!(["/v1alpha/admin/providers/vllm"]))]
    #[case::one_part_and_the_rest(json!(["/v1/files/mine/content", "/v1/models/meta/llama", "/v1/fi*"]))]
    #[case::wider_but_both(json!(["/v1/*", "/v1alpha/*"]))]
    #[case::all(json!(["*"]))]
    fn what_is_served_and_forbidden_under_all_its_names_is_not_remarked_on(#[case] forbid: Value) {
        assert_eq!(warnings("0.7.3", &forbid, "*"), Vec::<String>::new());
    }

    #[test]
    fn what_stays_open_under_its_other_name_is_told() {
        let left = "/v1alpha/admin/providers leads to the same as /v1/providers, and stays open";
        let expected = [format!("{FIRST} {left}")];
        assert_eq!(warnings("0.7.3", &json!(["/v1/pro*"]), "*"), expected);
        assert_eq!(warnings("0.7.3", &json!(["regex:/v1/providers"]), "*"), expected);
        let nothing = Vec::<String>::new();
        assert_eq!(
            warnings("0.7.3", &json!(["/v1/pro*"]), "/v1/models*"),
            nothing,
            "not permitted"
        );
        assert_eq!(warnings("ogx-1.0.4", &json!(["/v1/pro*"]), "*"), nothing, "has no such path");
    }

    #[test]
    fn what_nobody_serves_is_told() {
        let found = warnings("0.7.3", &json!(["/v1/file", "/v1/openai/*"]), "*");
        assert_eq!(found[0], format!("{FIRST} 0.7.3 serves nothing under this path"));
        assert_eq!(found.len(), 2);
    }
}
