//! Who may call a server, in one sentence for people; and whether it is reached by those alone whom the resource
//! names.

use llsd_api::v1alpha2::{AccessSpec, Authentication, LlamaStackDistributionSpec};
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

/// Whether a NetworkPolicy admits only the operator's own pods and those whom the resource names. Any other pod
/// that reaches a server which trusts a gateway could pose as the gateway. Resources without `allowedFrom.pods`
/// keep what every other server has: the gateway may be in the resource's own namespace.
pub fn admits_named_alone(spec: &LlamaStackDistributionSpec) -> bool {
    let access = spec.access.as_ref();
    let allowed = spec.networking.as_ref().and_then(|networking| networking.allowed_from.as_ref());
    access.is_some_and(|access| access.authentication.gateway.is_some())
        && allowed.is_some_and(|allowed| allowed.pods.is_some())
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

    #[rstest]
    #[case(json!({"pods": [{"labels": {"app": "proxy"}}]}), true)]
    #[case(json!({"namespaces": ["gateways"], "pods": []}), true)]
    #[case(json!({"namespaces": ["gateways"]}), false)]
    #[case(json!({}), false)]
    fn only_a_resource_that_names_pods_admits_nothing_else(
        #[case] allowed: Value,
        #[case] alone: bool,
    ) {
        let mut spec = json!({"distribution": {"name": "starter"}, "networking": {}});
        spec["networking"]["allowedFrom"] = allowed;
        spec["access"] = json!({"authentication": {"gateway": {"principalHeader": "x-user"}}});
        let admits =
            |spec: &Value| admits_named_alone(&serde_json::from_value(spec.clone()).unwrap());
        assert_eq!(admits(&spec), alone);
        spec["access"] = json!({"authentication": {"github": {}}});
        assert!(!admits(&spec), "nothing is believed there that any pod could say");
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
