//! Commands that work on resources in a cluster, with the rights of the caller.

use std::time::Duration;

use clap::Args;
use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{Api, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Client, Config, ResourceExt};
use llsd_api::KIND;
use llsd_plan::objects::names;
use serde_json::{Value, json};

use super::asked_server::AskedServer;
use super::cluster_error::ClusterError;
use super::kubeconfig::KubeconfigFlags;
use super::runtime::runtime;
use super::{Printout, waiting};
use crate::operator::api_clock::{ApiClock, ApiServer};
use crate::operator::controller::resources;
use crate::operator::telemetry::Metrics;
use crate::operator::telemetry::api_calls::{Patience, patient_client};

/// Who changes annotations of a resource, in its `managedFields`.
const MANAGER: &str = "llsd";
/// On a pod template, by which kubectl restarts pods; the operator leaves it alone.
const RESTARTED: &str = "kubectl.kubernetes.io/restartedAt";

/// Which cluster is asked, and in which namespace.
#[derive(Clone, Debug, Default, Args)]
pub(super) struct ClusterFlags {
    /// The namespace; without it that of the context
    #[arg(short, long, value_name = "NAMESPACE")]
    pub(super) namespace: Option<String>,

    #[command(flatten)]
    pub(super) kubeconfig: KubeconfigFlags,
}

/// The one resource that a command is about.
#[derive(Debug, Args)]
pub(super) struct ResourceName {
    /// The resource
    pub(super) name: String,

    #[command(flatten)]
    pub(super) place: ClusterFlags,
}

/// A cluster, as the flags and the kubeconfig name it.
#[derive(Clone)]
pub(super) struct Cluster {
    pub(super) client: Client,
    pub(super) clock: ApiClock,
    /// The namespace that is meant where none is named.
    pub(super) namespace: String,
    config: Config,
    server: AskedServer,
}

/// Runs a command that asks a cluster; one that waits for the answer says so.
pub(super) fn run<T>(
    place: &ClusterFlags,
    command: impl AsyncFnOnce(Cluster) -> Result<T, ClusterError>,
) -> Result<T, Printout> {
    run_to_end(waiting::for_work("asking the cluster", asked(place, command)))
}

/// Runs a command that sets an annotation of a resource to the current time; `happens` is its answer.
pub(super) fn run_annotate(
    named: &ResourceName,
    annotation: &str,
    happens: &str,
) -> Result<Printout, Printout> {
    run(&named.place, async |cluster| {
        cluster.resource(&named.name).await?;
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
    place: &ClusterFlags,
    command: impl AsyncFnOnce(Cluster) -> Result<T, ClusterError>,
) -> Result<T, Printout> {
    run_to_end(asked(place, command))
}

/// As [`run`], without a word, and with nothing where the answer does not come in time.
pub(super) fn run_within<T>(
    place: &ClusterFlags,
    patience: Duration,
    command: impl AsyncFnOnce(Cluster) -> Result<T, ClusterError>,
) -> Option<T> {
    let late = |_| Err(Printout::unavailable("no answer in time"));
    let work = asked(place, command);
    run_to_end(async { tokio::time::timeout(patience, work).await.unwrap_or_else(late) }).ok()
}

async fn asked<T>(
    place: &ClusterFlags,
    command: impl AsyncFnOnce(Cluster) -> Result<T, ClusterError>,
) -> Result<T, Printout> {
    let cluster = Cluster::connect(place).await.map_err(|error| error.printout(None))?;
    let server = cluster.server.clone();
    command(cluster).await.map_err(|error| error.printout(Some(&server)))
}

fn run_to_end<T>(work: impl Future<Output = Result<T, Printout>>) -> Result<T, Printout> {
    let runtime = runtime().map_err(|message| Printout::unavailable(&message))?;
    runtime.block_on(Box::pin(work))
}

fn client(config: Config, clock: &ApiClock, patience: Patience) -> kube::Result<Client> {
    patient_client(config, &Metrics::new(env!("CARGO_PKG_VERSION")), clock, patience)
}

impl Cluster {
    async fn connect(place: &ClusterFlags) -> Result<Self, ClusterError> {
        let (config, server) = place.kubeconfig.config().await?;
        let clock = ApiClock::default();
        let client = client(config.clone(), &clock, Patience::default())?;
        let namespace = place.namespace.clone();
        let namespace = namespace.unwrap_or_else(|| client.default_namespace().to_owned());
        Ok(Self { client, clock, namespace, config, server })
    }

    /// The cluster, with another namespace.
    pub(super) fn in_namespace(&self, namespace: &str) -> Self {
        Self { namespace: namespace.to_owned(), ..self.clone() }
    }

    /// The same API server, as the operator's own code takes it.
    pub(super) fn api_server(&self) -> ApiServer {
        ApiServer { client: self.client.clone(), clock: self.clock.clone() }
    }

    /// A client for who listens to a server, which may be silent for long.
    pub(super) fn listener(&self) -> Result<Client, ClusterError> {
        let patience = Patience { silence: Duration::from_hours(24), ..Patience::default() };
        Ok(client(self.config.clone(), &self.clock, patience)?)
    }

    /// A resource.
    pub(super) async fn resource(&self, name: &str) -> Result<Value, ClusterError> {
        let missing = |error: &kube::Error| matches!(error, kube::Error::Api(status) if status.reason == "NotFound");
        match self.api(false).get(name).await {
            Ok(found) => Ok(json(found)),
            Err(error) if missing(&error) => {
                let message = format!("there is no {KIND} {name} in namespace {}", self.namespace);
                Err(ClusterError::NotThere { message })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// The resources of the namespace, at most so many.
    pub(super) async fn first(&self, most: u32) -> Result<Vec<Value>, ClusterError> {
        let listed = self.api(false).list(&ListParams::default().limit(most)).await?;
        Ok(listed.items.into_iter().map(json).collect())
    }

    /// All resources of a namespace, or of the cluster.
    pub(super) async fn all(&self, everywhere: bool) -> Result<Vec<Value>, ClusterError> {
        let listed = self.api(everywhere).list(&ListParams::default()).await?;
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
    ) -> Result<(), ClusterError> {
        let patch = json!({"metadata": {"annotations": {annotation: value}}});
        let api = self.resources(namespace);
        Ok(api.patch(name, &as_manager(), &Patch::Merge(&patch)).await.map(drop)?)
    }

    /// Restarts the pods of a server, as `kubectl rollout restart` does.
    pub(super) async fn restart(&self, name: &str) -> Result<(), ClusterError> {
        let deployments: Api<Deployment> = Api::namespaced(self.client.clone(), &self.namespace);
        let annotations = json!({RESTARTED: now()});
        let patch = json!({"spec": {"template": {"metadata": {"annotations": annotations}}}});
        let (name, patch) = (names::deployment(name), Patch::Merge(&patch));
        Ok(deployments.patch(&name, &as_manager(), &patch).await.map(drop)?)
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

/// Where a resource is, and its name.
pub(super) fn namespace_and_name(resource: &Value) -> [&str; 2] {
    ["namespace", "name"].map(|field| resource["metadata"][field].as_str().unwrap_or_default())
}

/// A resource without what nobody reads.
pub(super) fn json(mut object: DynamicObject) -> Value {
    object.managed_fields_mut().clear();
    serde_json::to_value(object).unwrap_or_default()
}
