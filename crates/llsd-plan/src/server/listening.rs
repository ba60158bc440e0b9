//! How the pods of a server listen, told from their template. What leads to them (Service, NetworkPolicy,
//! exposure) follows the pods that serve, which may run another template than the planned one.

use llsd_api::v1alpha2::LlamaStackDistributionSpec;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The volume with the server's certificate.
pub const TLS_VOLUME: &str = "server-tls";

/// The variable of a server that asks its callers who they are. It says which releases are known to have all
/// that `access` asks for, the first and the last; in any other one the start program looks for it, and starts
/// no server that lacks it.
pub const ACCESS_KNOWN: &str = "LLS_ACCESS";

/// Ports, TLS and guard of pods.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Listening {
    pub port: i32,
    /// The Secret with the server's certificate, where the server speaks TLS.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tls: Option<Box<str>>,
    /// The port that the server's figures are served on, where they are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metrics: Option<i32>,
    /// The server asks its callers who they are.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub guarded: bool,
}

/// Whether the server of a pod template asks its callers who they are.
pub fn is_guarded(template: &Value) -> bool {
    let variables = template["spec"]["containers"][0]["env"].as_array().into_iter().flatten();
    variables.into_iter().any(|variable| variable["name"] == ACCESS_KNOWN)
}

impl Listening {
    /// As the server's container in a pod template says; `None` where it names no port.
    pub fn of_template(template: &Value) -> Option<Self> {
        let pod = &template["spec"];
        let ports = &pod["containers"][0]["ports"];
        let number = |port: &Value| i32::try_from(port["containerPort"].as_i64()?).ok();
        let mut volumes = pod["volumes"].as_array().into_iter().flatten();
        let tls = volumes.find(|volume| volume["name"] == TLS_VOLUME);
        Some(Self {
            port: number(&ports[0])?,
            tls: tls.and_then(|volume| volume["secret"]["secretName"].as_str()).map(Into::into),
            metrics: number(&ports[1]),
            guarded: is_guarded(template),
        })
    }

    /// As an annotation has it.
    pub fn text(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text).ok()
    }

    /// The spec of a server that listens like this, and is as it was in all else.
    pub fn laid_over(&self, spec: &LlamaStackDistributionSpec) -> LlamaStackDistributionSpec {
        let mut spec = spec.clone();
        let networking = spec.networking.get_or_insert_default();
        networking.port = Some(self.port);
        if self.tls.is_some() || networking.tls.is_some() {
            let tls = networking.tls.get_or_insert_default();
            tls.enabled = Some(self.tls.is_some());
            tls.secret_name = self.tls.as_deref().map(str::to_owned);
        }
        if self.metrics.is_some() || spec.monitoring.is_some() {
            let monitoring = spec.monitoring.get_or_insert_default();
            let metrics = monitoring.metrics.get_or_insert_default();
            (metrics.enabled, metrics.port) = (self.metrics.is_some(), self.metrics);
        }
        spec
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_template_says_how_its_pods_listen() {
        let template = json!({"spec": {
            "containers": [{
                "name": "server", "env": [{"name": ACCESS_KNOWN, "value": "0.7.0 0.7.3"}],
                "ports": [{"containerPort": 8321}, {"containerPort": 9464}],
            }],
            "volumes": [{"name": TLS_VOLUME, "secret": {"secretName": "certificate"}}],
        }});
        let told = Listening::of_template(&template).unwrap();
        let expected = Listening {
            port: 8321,
            tls: Some("certificate".into()),
            metrics: Some(9464),
            guarded: true,
        };
        assert_eq!(told, expected);
        assert_eq!(Listening::parse(&told.text()), Some(told));
        assert_eq!(Listening::of_template(&json!({"spec": {"containers": [{}]}})), None);
    }

    #[test]
    fn a_spec_takes_over_how_pods_listen_and_nothing_else() {
        let spec: LlamaStackDistributionSpec = serde_json::from_value(json!({
            "distribution": {"name": "starter"},
            "networking": {"port": 9000, "tls": {"enabled": true, "secretName": "new"}, "expose": true},
            "monitoring": {"metrics": {"enabled": true}},
        }))
        .unwrap();
        let plain = Listening { port: 8321, tls: None, metrics: None, guarded: false };
        let laid = serde_json::to_value(plain.laid_over(&spec)).unwrap();
        assert_eq!(
            laid["networking"],
            json!({"port": 8321, "tls": {"enabled": false}, "expose": true})
        );
        assert_eq!(laid["monitoring"]["metrics"], json!({"enabled": false}));
    }
}
