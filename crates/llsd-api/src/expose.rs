//! `networking.expose`: a boolean, or an object that says how.

use std::collections::BTreeMap;

use schemars::{JsonSchema, json_schema};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;
use serde_with_macros::skip_serializing_none;

use crate::lenient::Lenient;
use crate::patterns::HOST;
use crate::schema::{ENTRY, SHAPE, Shape, inline_schema};

/// Whether and how the server is reached from outside the cluster, as the user wrote it.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Expose {
    Flag(bool),
    How(Box<Lenient<ExposeSpec>>),
}

/// How the server is reached from outside the cluster.
#[skip_serializing_none]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExposeSpec {
    /// Switches exposure off without losing the other settings. An object without it is switched on.
    pub enabled: Option<bool>,
    /// The host name that clients use. Without it the cluster's own default applies: the name that
    /// OpenShift gives a Route, or `<name>-<namespace>.<ingressDomain>`.
    #[schemars(
        length(min = 1, max = 253),
        regex(
            pattern = HOST
        )
    )]
    pub hostname: Option<String>,
    /// The IngressClass of the Ingress. Without it the cluster's default class applies.
    #[schemars(length(min = 1, max = 253))]
    pub class_name: Option<String>,
    /// Annotations for the Ingress, Route or HTTPRoute. Annotations that others put there stay.
    pub annotations: Option<BTreeMap<String, String>>,
    /// The Secret with the certificate that the Ingress serves. Default: `networking.tls.secretName`.
    #[schemars(length(min = 1, max = 253))]
    pub tls_secret_name: Option<String>,
    /// The Gateway to attach to. With it an HTTPRoute is made instead of an Ingress.
    pub gateway: Option<GatewaySpec>,
    /// Fields that are not understood; validation names them.
    #[serde(flatten)]
    #[schemars(skip)]
    pub unknown: BTreeMap<String, Value>,
}

/// The Gateway that an HTTPRoute attaches to.
#[skip_serializing_none]
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct GatewaySpec {
    /// The Gateway's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// The Gateway's namespace. Default: the resource's own.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: Option<String>,
    /// The Gateway's listener. Default: any that accepts the route.
    #[schemars(length(min = 1, max = 253))]
    pub section_name: Option<String>,
}

impl Expose {
    /// Whether the server is exposed: `{}` means yes, and `enabled: false` always wins.
    pub fn is_on(&self) -> bool {
        match self {
            Self::Flag(on) => *on,
            Self::How(how) => how.understood().is_some_and(|spec| spec.enabled.unwrap_or(true)),
        }
    }
}

impl<'de> Deserialize<'de> for Expose {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match Value::deserialize(deserializer)? {
            Value::Bool(on) => Self::Flag(on),
            other => Self::How(Box::new(Lenient::from_value(other))),
        })
    }
}

inline_schema!(Expose, "Expose", |generator| {
    json_schema!({ SHAPE: Shape::BoolOrObject, ENTRY: generator.subschema_for::<ExposeSpec>() })
});

#[cfg(test)]
mod tests {
    use rstest::rstest;
    use serde_json::json;

    use super::*;

    #[rstest]
    #[case(json!(true), true)]
    #[case(json!(false), false)]
    #[case(json!({}), true)]
    #[case(json!({"hostname": "llama.example.com"}), true)]
    #[case(json!({"enabled": true}), true)]
    #[case(json!({"enabled": false, "hostname": "llama.example.com"}), false)]
    #[case(json!({"enabled": "yes"}), false)]
    #[case(json!("yes"), false)]
    #[case(json!({"hostnam": "typo"}), true)]
    fn an_empty_object_exposes_and_enabled_false_always_wins(
        #[case] written: Value,
        #[case] on: bool,
    ) {
        let read: Expose = serde_json::from_value(written.clone()).unwrap();
        assert_eq!(read.is_on(), on);
        assert_eq!(serde_json::to_value(&read).unwrap(), written);
    }
}
