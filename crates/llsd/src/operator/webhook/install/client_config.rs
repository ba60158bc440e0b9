//! What a `clientConfig` should be, purely: how the API server reaches a webhook and whom it trusts
//! there. The smallest change is what is asked for, because what is written is owned.

use k8s_openapi::ByteString;
use llsd_install::names::{WEBHOOK_SERVICE, WEBHOOK_SERVICE_PORT};
use serde_json::{Value, json};

use crate::operator::webhook::certificates::Bundle;

/// Where the webhooks are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WebhookTarget {
    /// Behind the Service of the install files, in the operator's namespace.
    Service { namespace: String },
    /// At an address outside of the cluster, without a path.
    Url(String),
}

/// What is to be done about a `clientConfig`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    AsItShould,
    /// Merge this into it.
    Change(Value),
    /// It is about somebody else, and not to be touched.
    NotOurs(String),
}

/// Decides about the `clientConfig` of the webhook at `path`.
pub fn decide(found: &Value, target: &WebhookTarget, path: &str, bundle: &Bundle) -> Decision {
    let trusted = json!(ByteString(bundle.0.clone().into_bytes()));
    let is_trusted = found["caBundle"] == trusted;
    match target {
        WebhookTarget::Url(address) => {
            let url = format!("{address}{path}");
            if is_trusted && found["url"] == url.as_str() && found["service"].is_null() {
                return Decision::AsItShould;
            }
            Decision::Change(json!({"url": url, "service": null, "caBundle": trusted}))
        }
        WebhookTarget::Service { namespace } if found["url"].is_string() => {
            let service = json!({
                "namespace": namespace, "name": WEBHOOK_SERVICE, "path": path,
                "port": WEBHOOK_SERVICE_PORT,
            });
            Decision::Change(json!({"url": null, "service": service, "caBundle": trusted}))
        }
        WebhookTarget::Service { namespace } => {
            let text = |field: &str| found["service"][field].as_str().unwrap_or_default();
            let named = (text("namespace"), text("name"));
            if named != (namespace, WEBHOOK_SERVICE) {
                return Decision::NotOurs(format!(
                    "it names the Service {}/{}, and this operator is behind \
                     {namespace}/{WEBHOOK_SERVICE}",
                    named.0, named.1,
                ));
            }
            if is_trusted {
                return Decision::AsItShould;
            }
            Decision::Change(json!({"caBundle": trusted}))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bundle() -> Bundle {
        Bundle("certificate".to_owned())
    }

    fn ours() -> WebhookTarget {
        WebhookTarget::Service { namespace: "home".to_owned() }
    }

    fn service(namespace: &str) -> Value {
        json!({"service": {
            "namespace": namespace, "name": WEBHOOK_SERVICE, "path": "/convert", "port": 443,
        }})
    }

    fn changed(mut found: Value, target: &WebhookTarget) -> Value {
        let Decision::Change(change) = decide(&found, target, "/convert", &bundle()) else {
            panic!("nothing to change");
        };
        for (field, value) in change.as_object().unwrap() {
            match value {
                Value::Null => drop(found.as_object_mut().unwrap().remove(field)),
                value => found[field] = value.clone(),
            }
        }
        assert_eq!(decide(&found, target, "/convert", &bundle()), Decision::AsItShould);
        found
    }

    #[test]
    fn behind_its_service_only_the_authorities_are_written() {
        let change = decide(&service("home"), &ours(), "/convert", &bundle());
        assert_eq!(change, Decision::Change(json!({"caBundle": "Y2VydGlmaWNhdGU="})));
        changed(service("home"), &ours());
    }

    #[test]
    fn the_service_of_another_operator_is_left_alone() {
        let decision = decide(&service("elsewhere"), &ours(), "/convert", &bundle());
        assert!(matches!(decision, Decision::NotOurs(why) if why.contains("elsewhere")));
    }

    #[test]
    fn an_address_takes_the_place_of_the_service_and_gives_it_back() {
        let target = WebhookTarget::Url("https://127.0.0.1:9443".to_owned());
        let outside = changed(service("home"), &target);
        assert_eq!(outside["url"], "https://127.0.0.1:9443/convert");
        assert_eq!(outside.get("service"), None);
        let inside = changed(outside, &ours());
        assert_eq!(inside["service"], service("home")["service"]);
        assert_eq!(inside.get("url"), None);
    }
}
