//! What an image checks of a pod template: the image itself, the file, the packages and the variables.
//! Two templates that agree in these are checked alike.

use serde_json::{Value, json};

use super::labels;
use crate::values::sha256;

/// Variables that change nothing in how a file is read.
const NOT_CHECKED: [&str; 4] = ["LLS_WORKERS", "LLS_PORT", "LLAMA_STACK_PORT", "OGX_PORT"];
/// A volume whose content no preflight looks at.
const CA_BUNDLE: &str = "ca-bundle";

/// Stands for everything that is checked of a template. ConfigMaps of ours are named by their content, so
/// their names stand for it.
pub fn combination(template: &Value) -> String {
    let spec = &template["spec"];
    let server = &spec["containers"][0];
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let installs: Vec<Value> = list(&spec["initContainers"])
        .iter()
        .filter(|container| container["restartPolicy"].is_null())
        // The operator's own image is no part of what is checked.
        .filter(|container| container["name"] != labels::PREPARE_INSTALLER)
        .map(|container| json!([container["name"], container["image"]]))
        .collect();
    let volumes: Vec<Value> = list(&spec["volumes"])
        .iter()
        .filter(|volume| volume["name"] != CA_BUNDLE)
        .map(|volume| {
            let claim = &volume["persistentVolumeClaim"]["claimName"];
            json!([volume["configMap"]["name"], volume["configMap"]["items"], claim])
        })
        .filter(|names| *names != json!([null, null, null]))
        .collect();
    let variables: Vec<Value> = list(&server["env"]).iter().filter_map(variable).collect();
    let refers = |value: &Value| value.to_string().contains("\"configMap");
    let content = (refers(&server["env"]) || refers(&server["envFrom"]))
        .then(|| template["metadata"]["annotations"][labels::VARIABLES_HASH].clone());
    let mut inputs = json!({
        "image": server["image"],
        "command": list(&server["command"]),
        "args": list(&server["args"]),
        "installs": installs,
        "volumes": volumes,
        "variables": variables,
        "variablesFrom": list(&server["envFrom"]),
        "content": content,
    });
    inputs.sort_all_objects();
    sha256::hex(&inputs.to_string())
}

/// A variable by its name, and by its value where that is no secret.
fn variable(variable: &Value) -> Option<Value> {
    let name = variable["name"].as_str().filter(|name| !NOT_CHECKED.contains(name))?;
    let from = &variable["valueFrom"];
    let value = variable["value"].as_str().unwrap_or_default();
    let is_secret = from["secretKeyRef"].is_object();
    Some(if is_secret { json!([name, "secret"]) } else { json!([name, value, from]) })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn template(change: impl Fn(&mut Value)) -> String {
        let secret = json!({"secretKeyRef": {"name": "keys", "key": "one"}});
        let mut template = json!({"metadata": {"annotations": {}}, "spec": {
            "containers": [{
                "image": "server:1", "resources": {"limits": {"cpu": "1"}},
                "env": [
                    {"name": "KEY", "valueFrom": secret}, {"name": "LLS_WORKERS", "value": "1"},
                    {"name": "URL", "value": "http://a"},
                ],
            }],
            "volumes": [{"name": "user-config", "configMap": {"name": "llama-config-1"}}],
        }});
        change(&mut template);
        combination(&template)
    }

    #[test]
    fn only_what_an_image_checks_counts() {
        let before = template(|_| {});
        let server = |template: &mut Value, field: &str, value: Value| {
            template["spec"]["containers"][0][field] = value;
        };
        assert_eq!(before, template(|it| server(it, "resources", json!({}))));
        assert_eq!(
            before,
            template(|it| it["spec"]["containers"][0]["env"][1]["value"] = json!("2")),
            "a number of workers"
        );
        let key = |it: &mut Value| {
            let from = &mut it["spec"]["containers"][0]["env"][0]["valueFrom"];
            from["secretKeyRef"]["key"] = json!("two");
        };
        assert_eq!(before, template(key), "a secret is not checked");
        assert_ne!(before, template(|it| server(it, "image", json!("server:2"))));
        assert_ne!(
            before,
            template(|it| it["spec"]["volumes"][0]["configMap"]["name"] = json!("llama-config-2"))
        );
        assert_ne!(
            before,
            template(|it| it["spec"]["containers"][0]["env"][2]["value"] = json!("http://b"))
        );
    }
}
