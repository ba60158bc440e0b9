//! The external providers that a resource lists, in the order in which they are installed, and the names of
//! the init containers that do it.

use llsd_api::v1alpha2::{ExternalProvider, ExternalProvidersSpec, LlamaStackDistributionSpec};

use crate::problems::FieldPath;

/// How the names of init containers begin that install external providers.
pub const INSTALL: &str = "install-";

/// One external provider of a resource.
#[derive(Clone, Debug)]
pub struct Listed<'a> {
    /// The API, as the resource spells it.
    pub api: &'static str,
    pub path: FieldPath,
    pub provider: &'a ExternalProvider,
    /// The name of its init container.
    pub container: String,
}

/// All of them: in the schema's order of APIs, and then in that of the lists.
pub fn listed(spec: &LlamaStackDistributionSpec) -> Vec<Listed<'_>> {
    let mut all: Vec<Listed<'_>> = Vec::new();
    for (api, providers) in spec.external_providers.iter().flat_map(ExternalProvidersSpec::by_api) {
        for (index, provider) in providers.iter().flatten().enumerate() {
            let path = FieldPath::spec().key("externalProviders").key(api).index(index);
            let container = container(provider.provider_id.as_str(), &all);
            all.push(Listed { api, path, provider, container });
        }
    }
    all
}

/// The id as part of a DNS label, with a number where two would be alike.
fn container(id: &str, others: &[Listed<'_>]) -> String {
    let safe: String = id
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .take(50)
        .collect();
    let safe = match safe.trim_matches('-') {
        "" => "provider",
        safe => safe,
    };
    let name = format!("{INSTALL}{safe}");
    let is_taken = |name: &String| others.iter().any(|other| other.container == *name);
    let numbered = (2..).map(|number| format!("{name}-{number}"));
    let mut names = std::iter::once(name.clone()).chain(numbered);
    names.find(|name| !is_taken(name)).unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_provider_has_a_container_whose_name_kubernetes_takes() {
        let provider = |id: &str| json!({"providerId": id, "image": "i"});
        let spec: LlamaStackDistributionSpec = serde_json::from_value(json!({
            "distribution": {"name": "starter"},
            "externalProviders": {
                "safety": [provider("a.b"), provider("A_B"), provider(&"x".repeat(63))],
                "inference": [provider("last-in-the-text")],
            },
        }))
        .unwrap();
        let names: Vec<String> = listed(&spec).into_iter().map(|it| it.container).collect();
        assert_eq!(names[..3], ["install-last-in-the-text", "install-a-b", "install-a-b-2"]);
        assert!(names.iter().all(|name| name.len() <= 63), "{names:?}");
    }
}
