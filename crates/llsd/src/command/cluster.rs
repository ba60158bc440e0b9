//! Commands that work on resources in a cluster, with the rights of whoever calls them.

use std::time::Duration;

use clap::Args;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Client, Config, ResourceExt};
use llsd_plan::objects::names;
use serde_json::{Value, json};

use super::runtime::runtime;
use super::{Printout, waiting};
use crate::operator::api_clock::{ApiClock, ApiServer};
use crate::operator::controller::resources;
use crate::operator::controller::state::safe_message;
use crate::operator::telemetry::Metrics;
use crate::operator::telemetry::api_calls::{Patience, patient_client};

/// Who changes annotations of a resource, in its `managedFields`.
const MANAGER: &str = "llsd";
/// On a pod template, by which kubectl restarts pods; the operator leaves it alone.
const RESTARTED: &str = "kubectl.kubernetes.io/restartedAt";

/// In which namespace a resource is looked for.
#[derive(Debug, Args)]
pub(super) struct NamespaceFlag {
    /// The resource's namespace
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(super) namespace: Option<String>,
}

/// The one resource that a command is about.
#[derive(Debug, Args)]
pub(super) struct ResourceName {
    /// The resource
    pub(super) name: String,

    #[command(flatten)]
    place: NamespaceFlag,
}

/// A cluster, as the current kubeconfig names it.
#[derive(Clone)]
pub(super) struct Cluster {
    pub(super) client: Client,
    pub(super) clock: ApiClock,
    /// The namespace that is meant where none is named.
    pub(super) namespace: String,
}

/// Runs a command that asks a cluster; one that waits for the answer says so.
pub(super) fn run<T>(
    command: impl AsyncFnOnce(Cluster) -> Result<T, String>,
) -> Result<T, Printout> {
    run_to_end(waiting::for_work("asking the cluster", asked(command)))
}

/// Runs a command that sets an annotation of a resource to the current time; `happens` is its answer.
pub(super) fn run_annotate(
    named: &ResourceName,
    annotation: &str,
    happens: &str,
) -> Result<Printout, Printout> {
    run(async |cluster| {
        let (cluster, _) = cluster.with_resource(named).await?;
        cluster.annotate(&cluster.namespace, &named.name, annotation, &now()).await?;
        Ok(under_way(&named.name, happens))
    })
}

/// The answer of a command whose effect takes a while.
pub(super) fn under_way(name: &str, happens: &str) -> Printout {
    Printout::fine(format!("{happens}; `llsd status {name}` says how it goes\n"))
}

/// As [`run`], for a command that says itself how far it is.
pub(super) fn run_speaking<T>(
    command: impl AsyncFnOnce(Cluster) -> Result<T, String>,
) -> Result<T, Printout> {
    run_to_end(asked(command))
}

/// As [`run`], without a word, and with nothing where the answer does not come in time.
pub(super) fn run_within<T>(
    patience: Duration,
    command: impl AsyncFnOnce(Cluster) -> Result<T, String>,
) -> Option<T> {
    let late = |_| Err("no answer in time".to_owned());
    run_to_end(async { tokio::time::timeout(patience, asked(command)).await.unwrap_or_else(late) })
        .ok()
}

async fn asked<T>(command: impl AsyncFnOnce(Cluster) -> Result<T, String>) -> Result<T, String> {
    command(Cluster::connect().await?).await
}

fn run_to_end<T>(work: impl Future<Output = Result<T, String>>) -> Result<T, Printout> {
    let done = runtime().and_then(|runtime| runtime.block_on(Box::pin(work)));
    done.map_err(|message| Printout::unavailable(&message))
}

/// The API server of the current kubeconfig.
pub(super) async fn connect() -> Result<ApiServer, String> {
    client(Patience::default()).await
}

/// A client for who listens to a server, which may be silent for long.
pub(super) async fn listener() -> Result<Client, String> {
    let patience = Patience { silence: Duration::from_hours(24), ..Patience::default() };
    Ok(client(patience).await?.client)
}

async fn client(patience: Patience) -> Result<ApiServer, String> {
    let config = Config::infer().await.map_err(|error| error.to_string())?;
    let metrics = Metrics::new(env!("CARGO_PKG_VERSION"));
    let clock = ApiClock::default();
    let client = patient_client(config, &metrics, &clock, patience).map_err(text)?;
    Ok(ApiServer { client, clock })
}

impl Cluster {
    async fn connect() -> Result<Self, String> {
        let ApiServer { client, clock } = connect().await?;
        Ok(Self { namespace: client.default_namespace().to_owned(), client, clock })
    }

    /// The cluster, with another namespace where one is named.
    pub(super) fn at(mut self, place: &NamespaceFlag) -> Self {
        if let Some(namespace) = &place.namespace {
            self.namespace.clone_from(namespace);
        }
        self
    }

    /// The cluster with the namespace of a resource, and that resource.
    pub(super) async fn with_resource(self, named: &ResourceName) -> Result<(Self, Value), String> {
        let cluster = self.at(&named.place);
        let resource = cluster.resource(&named.name).await?;
        Ok((cluster, resource))
    }

    /// A resource.
    pub(super) async fn resource(&self, name: &str) -> Result<Value, String> {
        let found = self.resources(&self.namespace).get_opt(name).await.map_err(text)?;
        let found = found.ok_or_else(|| {
            format!("there is no LlamaStackDistribution {name} in namespace {}", self.namespace)
        })?;
        Ok(json(found))
    }

    /// The resources of the namespace, at most so many.
    pub(super) async fn first(&self, most: u32) -> Result<Vec<Value>, String> {
        let listed = self.resources(&self.namespace).list(&ListParams::default().limit(most)).await;
        Ok(listed.map_err(text)?.items.into_iter().map(json).collect())
    }

    /// All resources of a namespace, or of the cluster.
    pub(super) async fn all(&self, everywhere: bool) -> Result<Vec<Value>, String> {
        let listed = self.api(everywhere).list(&ListParams::default()).await.map_err(text)?;
        Ok(listed.items.into_iter().map(json).collect())
    }

    /// The resources of the namespace, or of the cluster.
    pub(super) fn api(&self, everywhere: bool) -> Api<DynamicObject> {
        if everywhere {
            Api::all_with(self.client.clone(), &resources())
        } else {
            self.resources(&self.namespace)
        }
    }

    /// Sets an annotation of a resource.
    pub(super) async fn annotate(
        &self,
        namespace: &str,
        name: &str,
        annotation: &str,
        value: &str,
    ) -> Result<(), String> {
        let patch = json!({"metadata": {"annotations": {annotation: value}}});
        let api = self.resources(namespace);
        api.patch(name, &as_manager(), &Patch::Merge(&patch)).await.map(drop).map_err(text)
    }

    /// Restarts the pods of a server, as `kubectl rollout restart` does.
    pub(super) async fn restart(&self, name: &str) -> Result<(), String> {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), &self.namespace);
        let annotations = json!({RESTARTED: now()});
        let patch = json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
        let (name, patch) = (names::deployment(name), Patch::Merge(&patch));
        deployments.patch(&name, &as_manager(), &patch).await.map(drop).map_err(text)
    }

    fn resources(&self, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(self.client.clone(), namespace, &resources())
    }
}

fn as_manager() -> PatchParams {
    PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() }
}

/// The moment as annotations have it: another one each time, and a person can read it.
pub(super) fn now() -> String {
    k8s_openapi::jiff::Timestamp::now().to_string()
}

/// An error of the API server, in its words.
#[expect(clippy::needless_pass_by_value, reason = "as map_err has it")]
pub(super) fn text(error: kube::Error) -> String {
    safe_message(&error)
}

/// Where a resource is, and its name.
pub(super) fn namespace_and_name(resource: &Value) -> [&str; 2] {
    ["namespace", "name"].map(|field| resource["metadata"][field].as_str().unwrap_or_default())
}

/// A resource without what nobody reads.
pub(super) fn json(mut object: DynamicObject) -> Value {
    object.managed_fields_mut().clear();
    serde_json::to_value(object).unwrap_or_default()
}
