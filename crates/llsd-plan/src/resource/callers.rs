//! Who may call a server, in one sentence for people.

use llsd_api::v1alpha2::{AccessSpec, Authentication};
use serde_json::Value;

use crate::resource::spec_of;

/// The condition of a resource whose server answers everybody, although the resource asks for access.
const UNGUARDED: &str = "Unguarded";

/// Who may call the server of a v1alpha2 resource, as it runs.
pub fn described(resource: &Value) -> String {
    let Some(spec) = spec_of(resource) else { return "unknown".to_owned() };
    let mut conditions = resource["status"]["conditions"].as_array().into_iter().flatten();
    let is_open = conditions.any(|it| it["type"] == UNGUARDED && it["status"] == "True");
    match (&spec.access, &spec.override_config) {
        (Some(access), _) if is_open => {
            format!("everybody who reaches it; once the change is rolled out {}", of_access(access))
        }
        (Some(access), _) => of_access(access),
        (None, Some(own)) => format!("as the file in ConfigMap {} says", own.config_map_name),
        (None, None) => "everybody who reaches it".to_owned(),
    }
}

fn of_access(access: &AccessSpec) -> String {
    let mut text = of_authentication(&access.authentication);
    let count = |number: usize, what: &str| match number {
        0 => None,
        1 => Some(format!("1 rule for {what}")),
        more => Some(format!("{more} rules for {what}")),
    };
    let rules = [count(access.routes.len(), "paths"), count(access.rules.len(), "resources")];
    let rules: Vec<String> = rules.into_iter().flatten().collect();
    if !rules.is_empty() {
        text = format!("{text}, by {}", rules.join(" and "));
    }
    text
}

fn of_authentication(given: &Authentication) -> String {
    let Authentication { oidc, kubernetes, github, custom, api_keys, gateway, allow_plain_http: _ } =
        given;
    if let Some(oidc) = oidc {
        let audience = match (&oidc.audience, &oidc.introspection) {
            (Some(audience), _) => audience.as_str(),
            (None, Some(_)) => "anybody",
            (None, None) => "the server's default audience",
        };
        format!("who has a token of {} for {audience}", oidc.issuer)
    } else if kubernetes.is_some() {
        "who has a token of this cluster".to_owned()
    } else if let Some(github) = github {
        let url = github.api_url.as_deref().unwrap_or("https://api.github.com");
        format!("who has a token of GitHub, {url}")
    } else if let Some(custom) = custom {
        format!("whom {} knows", custom.endpoint)
    } else if let Some(keys) = api_keys {
        let keys = keys.len();
        format!(
            "who has {}",
            if keys == 1 { "the key".to_owned() } else { format!("one of {keys} keys") }
        )
    } else if let Some(gateway) = gateway {
        let from =
            gateway.trusted_cidrs.as_ref().map(|cidrs| format!(" from {}", cidrs.join(", ")));
        format!("whom a gateway{} names in {}", from.unwrap_or_default(), gateway.principal_header)
    } else {
        "nobody".to_owned()
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!({}), "everybody who reaches it")]
    #[case(json!({"overrideConfig": {"configMapName": "mine"}}), "as the file in ConfigMap mine says")]
    #[case(
        json!({"access": {
            "authentication": {"oidc": {"issuer": "https://a.example", "audience": "stack"}},
            "routes": [{"permit": {"paths": ["*"]}}],
            "rules": [{"permit": {"actions": ["read"]}}, {"forbid": {"actions": ["delete"]}}],
        }}),
        "who has a token of https://a.example for stack, by 1 rule for paths and 2 rules for resources"
    )]
    #[case(json!({"access": {"authentication": {"kubernetes": {}}}}), "who has a token of this cluster")]
    #[case(
        json!({"access": {"authentication": {"gateway": {"principalHeader": "x-user", "trustedCidrs": ["10.0.0.0/8"]}}}}),
        "whom a gateway from 10.0.0.0/8 names in x-user"
    )]
    #[case(
        json!({"access": {"authentication": {"apiKeys": [{"name": "a", "key": "b"}]}}}),
        "who has the key"
    )]
    fn one_sentence_says_who_may_call(#[case] given: Value, #[case] expected: &str) {
        let mut spec = given;
        spec["distribution"] = json!({"name": "starter"});
        let resource = json!({
            "apiVersion": "llamastack.io/v1alpha2", "kind": "LlamaStackDistribution",
            "metadata": {"name": "a"}, "spec": spec,
        });
        assert_eq!(described(&resource), expected);
    }

    #[test]
    fn what_runs_counts_and_not_what_is_asked_for() {
        let resource = json!({
            "metadata": {"name": "a"},
            "spec": {
                "distribution": {"name": "starter"},
                "access": {"authentication": {"kubernetes": {}}},
            },
            "status": {"conditions": [{"type": UNGUARDED, "status": "True"}]},
        });
        let said = described(&resource);
        assert!(said.starts_with("everybody who reaches it; once"), "{said}");
    }
}
