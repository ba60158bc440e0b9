//! Which distribution a text asks for, and the text with another one.

use llsd_api::KIND;
use llsd_yaml::documents;
use llsd_yaml::rewrite::rewrite;
use serde::Serialize;
use serde_json::{Value, json};

/// What `spec.distribution` says.
#[derive(Debug, Default, PartialEq, Eq, Serialize)]
pub(crate) struct Asked {
    name: Option<String>,
    image: Option<String>,
}

/// The distribution of the first resource.
pub(crate) fn asked(text: &str) -> Asked {
    let trees = documents(text).into_iter().filter_map(|document| document.content.ok());
    let mut values = trees.map(|tree| tree.to_json());
    let Some(resource) = values.find(is_ours) else { return Asked::default() };
    let field = |key| resource.pointer(place(&resource))?.get(key)?.as_str().map(str::to_owned);
    Asked { name: field("name"), image: field("image") }
}

/// The text in which every resource asks for the distribution of this name.
pub(crate) fn chosen(text: &str, name: &str) -> String {
    rewrite(text, |value| {
        if is_ours(value) {
            let pointer = place(value);
            if let Some(distribution) = value.pointer_mut(pointer) {
                *distribution = json!({"name": name});
            } else if let Some(spec) = value.get_mut("spec").and_then(Value::as_object_mut) {
                spec.insert("distribution".to_owned(), json!({"name": name}));
            }
        }
        Vec::new()
    })
}

fn is_ours(value: &Value) -> bool {
    value.get("kind").and_then(Value::as_str) == Some(KIND)
}

/// v1alpha1 has it below the server.
fn place(value: &Value) -> &'static str {
    let version = value.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    if version.ends_with("/v1alpha1") { "/spec/server/distribution" } else { "/spec/distribution" }
}
