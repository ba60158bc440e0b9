//! What the pods of a template read that changes without their resource: Secrets, variables, certificates.

use serde_json::Value;

use crate::objects::{ObjectKind, labels};
use crate::resource::template_inputs::{CA_BUNDLE, SECRET, VARIABLES};

/// Stands for Secrets that are read through one of the operator's own, by which their parts reach the pods.
const STORAGE: &str = "secret:*";

/// The parts of a record of inputs that the pods of a template read.
pub fn reads(template: &Value) -> Vec<Box<str>> {
    let mut parts: Vec<Box<str>> = Vec::new();
    let pod = &template["spec"];
    for container in list(&pod["initContainers"]).chain(list(&pod["containers"])) {
        for variable in list(&container["env"]) {
            let secret = &variable["valueFrom"]["secretKeyRef"];
            let (Some(name), Some(key)) = (secret["name"].as_str(), secret["key"].as_str()) else {
                continue;
            };
            let is_ours = ObjectKind::Secret.resource_named(name).is_some();
            parts.push(if is_ours {
                STORAGE.into()
            } else {
                format!("{SECRET}{name}/{key}").into()
            });
        }
    }
    for volume in list(&pod["volumes"]) {
        let name = volume["secret"]["secretName"].as_str();
        parts.extend(name.map(|name| format!("{SECRET}{name}/").into()));
    }
    let annotations = &template["metadata"]["annotations"];
    for (hash, part) in [(labels::VARIABLES_HASH, VARIABLES), (labels::CA_BUNDLE_HASH, CA_BUNDLE)] {
        parts.extend(annotations[hash].is_string().then(|| part.into()));
    }
    parts.sort();
    parts.dedup();
    parts
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Whether pods that read these parts read this one.
pub fn read_part(reads: &[Box<str>], part: &str) -> bool {
    reads.iter().map(|read| &**read).any(|read| {
        read == part
            || read.ends_with('/') && part.starts_with(read)
            || read == STORAGE && part.starts_with(SECRET)
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_tells_what_its_pods_read() {
        let from = |name: &str| json!({"secretKeyRef": {"name": name, "key": "token"}});
        let template = json!({
            "metadata": {"annotations": {labels::CA_BUNDLE_HASH: "1"}},
            "spec": {
                "containers": [{"env": [{"name": "A", "valueFrom": from("keys")}]}],
                "volumes": [{"name": "tls", "secret": {"secretName": "certificate"}}],
            },
        });
        let reads = reads(&template);
        for part in ["secret:keys/token", "secret:certificate/tls.crt", CA_BUNDLE] {
            assert!(read_part(&reads, part), "{part}");
        }
        for part in ["secret:keys/other", "secret:more/token", VARIABLES] {
            assert!(!read_part(&reads, part), "{part}");
        }
    }

    #[test]
    fn a_connection_string_is_read_through_the_operators_own_secret() {
        let name = crate::objects::names::storage_secret("llama", Some("0123456789"));
        let from = json!({"secretKeyRef": {"name": name, "key": "host"}});
        let template =
            json!({"spec": {"containers": [{"env": [{"name": "A", "valueFrom": from}]}]}});
        assert!(read_part(&reads(&template), "secret:database/dsn"));
    }
}
