//! What runs the pods of the demo: the real server as a process, where this machine can have it, else
//! a stand-in that only says that they run. The distribution's image is in a registry of its own,
//! with the configuration of a small one in its labels.

use anyhow::{Context, ensure};
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use llsd_install::names;
use llsd_kubelet::{ImageStandIn, RunningKubelet};
use llsd_testkit::{
    ControlPlane, Kubelet, Narrator, OpenAiStub, PodState, RegistryServer, Release, SMALL_BASE,
    TestImage,
};
use serde_json::{Value, json};

/// The model of the sample, and what it is called at the server.
const MODEL: &str = "llama3.2-8b";
const SERVED: &str = "vllm/llama3.2-8b";

const RELEASE: &str = "0.7.3";

/// The real server, and all that it needs.
pub struct Real {
    kubelet: RunningKubelet,
    model: OpenAiStub,
    /// Held for its work.
    _registry: RegistryServer,
}

pub enum Servers {
    Real(Box<Real>),
    /// Held for its work.
    Pretended {
        _kubelet: Kubelet,
    },
}

impl Servers {
    /// The release that the sample's distribution has.
    pub async fn prepare(cluster: &ControlPlane, say: &Narrator) -> anyhow::Result<Self> {
        let installed = tokio::task::spawn_blocking(|| Release::V0_7_3.install()).await?;
        let venv = match installed {
            Ok(venv) => venv,
            Err(why) => return Self::pretend(cluster, say, &why.to_string()).await,
        };
        let image = ImageStandIn::server(&venv);
        let kubelet = match RunningKubelet::start(cluster, move |_| Some(image.clone())).await {
            Ok(kubelet) => kubelet,
            Err(why) => return Self::pretend(cluster, say, &format!("{why:#}")).await,
        };
        let registry = match distribution().await {
            Ok(registry) => registry,
            Err(why) => return Self::pretend(cluster, say, &format!("{why:#}")).await,
        };
        configure(cluster, &registry).await?;
        let model = OpenAiStub::start(&[MODEL]).await?;
        let address = model.url().trim_start_matches("http://");
        let address = address.split('/').next().unwrap_or_default().parse();
        kubelet.let_pods_reach("vllm", 8000, address.context("the stub has an address")?)?;
        say.detail(&format!(
            "llama-stack {RELEASE}, the distribution in a registry at {}",
            registry.host()
        ));
        say.detail("a stub answers as the vLLM server http://vllm:8000");
        Ok(Self::Real(Box::new(Real { kubelet, model, _registry: registry })))
    }

    async fn pretend(cluster: &ControlPlane, say: &Narrator, why: &str) -> anyhow::Result<Self> {
        say.detail(&format!("not possible on this machine: {why}"));
        say.detail("pods are only said to run; everything but the server itself is real");
        let kubelet = cluster.kubelet(|_| PodState::Ready).await?;
        Ok(Self::Pretended { _kubelet: kubelet })
    }

    /// How the operator reaches the servers.
    pub fn url_template(&self) -> Option<String> {
        match self {
            Self::Real(real) => Some(real.kubelet.server_url_template()),
            Self::Pretended { .. } => None,
        }
    }

    /// Where this machine reaches the server of a resource.
    pub fn url(&self, namespace: &str, name: &str) -> Option<String> {
        let template = self.url_template()?;
        Some(template.replace("{namespace}", namespace).replace("{name}", name))
    }

    /// What the server said, for when it does not come up.
    pub fn log(&self, namespace: &str) -> String {
        match self {
            Self::Real(real) => real.kubelet.logs(namespace),
            Self::Pretended { .. } => String::new(),
        }
    }

    /// Asks the server for its providers, and the model through the server for an answer.
    pub async fn show(&self, say: &Narrator, namespace: &str, name: &str) -> anyhow::Result<()> {
        let Self::Real(real) = self else { return Ok(()) };
        let url = self.url(namespace, name).context("a real server has an address")?;
        let client = reqwest::Client::new();
        say.step("Asking the server: GET /v1/providers");
        let listed = client.get(format!("{url}/v1/providers")).send().await?.text().await?;
        let listed: Value = serde_json::from_str(&listed)?;
        let providers = listed["data"].as_array().context("the server lists providers")?;
        let inference: Vec<&Value> =
            providers.iter().filter(|provider| provider["api"] == "inference").collect();
        for provider in &inference {
            let text = |field: &str| provider[field].as_str().unwrap_or_default().to_owned();
            say.detail(&format!("{:<24} {}", text("provider_id"), text("provider_type")));
        }
        ensure!(
            inference.iter().any(|provider| provider["provider_id"] == "vllm"),
            "the server does not list the provider of the resource"
        );
        say.step(&format!("Asking {SERVED} through the server: POST /v1/chat/completions"));
        let question = json!({
            "model": SERVED,
            "messages": [{"role": "user", "content": "Who answers?"}],
        });
        let answer = client
            .post(format!("{url}/v1/chat/completions"))
            .header("content-type", "application/json")
            .body(question.to_string())
            .send()
            .await?
            .text()
            .await?;
        let parsed: Value = serde_json::from_str(&answer).context("the server answers in JSON")?;
        let content = parsed["choices"][0]["message"]["content"].as_str();
        say.quote(content.with_context(|| format!("no answer: {answer}"))?);
        let asked =
            real.model.requests().iter().any(|request| request.path.ends_with("completions"));
        ensure!(asked, "the model was not asked");
        Ok(())
    }
}

/// A registry with the image of the distribution: labels, and no layers that anybody would run.
async fn distribution() -> anyhow::Result<RegistryServer> {
    let registry = RegistryServer::builder().start().await?;
    let image = TestImage::new()
        .label("io.llamastack.config.base64", BASE64_STANDARD.encode(SMALL_BASE))
        .label("org.opencontainers.image.version", RELEASE);
    registry.push("distribution-starter", RELEASE, &image).await?;
    Ok(registry)
}

/// Tells the operator where the distribution is, as an administrator would.
async fn configure(cluster: &ControlPlane, registry: &RegistryServer) -> anyhow::Result<()> {
    let host = registry.host();
    let config = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": names::CONFIG_MAP, "namespace": names::NAMESPACE},
        "data": {
            "image-overrides": format!("starter: {host}/distribution-starter:{RELEASE}\n"),
            "registries": format!("insecureHosts: ['{host}']\nprivateHosts: ['{host}']\n"),
        },
    });
    let apply = ["apply", "--server-side", "-f", "-"];
    let applied = cluster.kubectl(&apply, Some(&config.to_string())).await?;
    ensure!(applied.success(), "kubectl: {}", applied.stderr.trim());
    Ok(())
}
