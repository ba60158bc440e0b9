//! The resource as people edit it, reduced to what makes a difference: one field of each group.

use serde_json::{Value, json};

/// What becomes of pods that run with a wish.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mood {
    /// They become available.
    Good,
    /// The preflight refuses them, and they would not become available.
    Refused,
    /// The preflight has nothing against them, and they do not become available.
    Broken,
}

/// What a person asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Wish {
    pub mood: Mood,
    /// Tells wishes of one mood apart.
    pub edition: u8,
    pub other_port: bool,
    /// How many pods; none leaves the number to others, such as an autoscaler.
    pub replicas: Option<u8>,
    pub other_host: bool,
    /// Whether the server reads a second Secret.
    pub second_secret: bool,
    pub volume: Option<Volume>,
}

/// What becomes of the server's volume when the resource is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Volume {
    Retain,
    Delete,
}

/// The name of the variable by which the simulated kubelet and preflight know the mood of a template.
pub const MOOD: &str = "MOOD";

/// The distribution whose image the server runs.
pub const DISTRIBUTION: &str = "starter";

/// The Secrets that a server may read.
pub const SECRETS: [&str; 2] = ["keys", "more-keys"];

impl Default for Wish {
    fn default() -> Self {
        Self {
            mood: Mood::Good,
            edition: 0,
            other_port: false,
            replicas: Some(1),
            other_host: false,
            second_secret: false,
            volume: None,
        }
    }
}

impl Wish {
    pub fn port(self) -> i64 {
        if self.other_port { 9000 } else { 8321 }
    }

    /// The same without what no pod is made from.
    #[must_use]
    pub fn of_pods(self) -> Self {
        let Self { replicas, other_host, .. } = Self::default();
        Self { replicas, other_host, ..self }
    }

    pub fn spec(self) -> Value {
        let secret = |name: &str| json!({"secretKeyRef": {"name": name, "key": "token"}});
        let provider = |id: &str, name: &str| json!({"id": id, "provider": "vllm", "endpoint": "http://vllm:8000", "apiKey": secret(name)});
        let mut inference = vec![provider("first", SECRETS[0])];
        if self.second_secret {
            inference.push(provider("second", SECRETS[1]));
        }
        let host = if self.other_host { "other.example.com" } else { "llama.example.com" };
        let mut workload = json!({
            "overrides": {"env": [{"name": MOOD, "value": format!("{:?}-{}", self.mood, self.edition)}]},
        });
        if let Some(replicas) = self.replicas {
            workload["replicas"] = json!(replicas);
        }
        if let Some(volume) = self.volume {
            workload["storage"] = json!({"size": "1Gi", "deletionPolicy": format!("{volume:?}")});
        }
        json!({
            "distribution": {"name": DISTRIBUTION},
            "providers": {"inference": inference},
            "networking": {"port": self.port(), "expose": {"hostname": host}, "allowedFrom": {"namespaces": ["apps"]}},
            "workload": workload,
        })
    }
}
