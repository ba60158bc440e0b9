//! One operator with one number of resources: from nothing to a fleet that is Ready, a minute of rest, a change of
//! each resource.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use futures::{StreamExt, TryStreamExt, stream};
use llsd_bench::api::{Api, resource, resource_v1alpha1, resources};
use llsd_bench::operator::{Launch, Operator};
use llsd_bench::readiness::{self, Progress};
use llsd_bench::sample::Sampler;
use llsd_bench::{CONCURRENCY, floor, webhooks};
use llsd_testbed::install::install;
use llsd_testbed::stub_server::StubServer;
use llsd_testkit::ControlPlane;
use serde_json::{Value, json};

use crate::figures::Column;
use crate::{Arguments, Candidate};

const OTHER_USER: &str = "another-operator";
const SAMPLED_EVERY: Duration = Duration::from_millis(500);
/// Without a write for so long, the operator has nothing left to do.
const QUIET: Duration = Duration::from_secs(10);
const REST: Duration = Duration::from_mins(1);
/// Another operator may write without end.
const PATIENCE: Duration = Duration::from_mins(5);

/// An operator at work, and the figures so far.
pub struct Measurement {
    pub cluster: ControlPlane,
    pub api: Api,
    user: String,
    version: &'static str,
    pub namespaces: Vec<String>,
    pub count: usize,
    pub operator: Operator,
    pub progress: Progress,
    pub column: Column,
}

impl Measurement {
    pub async fn take(
        candidate: &Candidate,
        count: usize,
        arguments: &Arguments,
    ) -> anyhow::Result<Column> {
        let cluster = ControlPlane::start().await?;
        let api = Api::new(cluster.client());
        let column = Column::new(candidate.name(), count);
        let (launch, user, version) = install_candidate(candidate, &cluster).await?;
        let mut namespaces = Vec::new();
        for _ in 0..arguments.namespaces.min(count) {
            let namespace = cluster.namespace("fleet").await?;
            api.secret(&namespace).await?;
            namespaces.push(namespace);
        }
        let operator = Operator::start(&cluster, launch).await?;
        let progress = readiness::start(&cluster, None, version);
        let mut measurement =
            Self { cluster, api, user, version, namespaces, count, operator, progress, column };
        let process = measurement.operator.process_id();
        let ready = measurement.progress.resources().clone();
        let sampler = Sampler::start(process, ready, SAMPLED_EVERY);
        measurement.work().await?;
        measurement.at_rest().await?;
        measurement.change_of_all().await?;
        let samples = sampler.samples();
        let descriptors = samples.iter().map(|sample| sample.descriptors).max();
        measurement.column.row("descriptors, at most", descriptors.unwrap_or_default().to_string());
        measurement.column.sampled(samples);
        if measurement.operator.launch.is_ours() {
            measurement.ours(arguments.unrelated).await?;
        }
        measurement.floor().await?;
        Ok(measurement.column)
    }

    pub async fn work(&mut self) -> anyhow::Result<()> {
        tokio::time::sleep(QUIET).await;
        if self.operator.launch.is_ours() {
            webhooks::until_admitted(&self.api, self.namespace(0)).await;
        }
        self.column.row("memory (RSS) idle", self.operator.memory()?.to_string());
        let before = self.operator.cpu()?;
        let mark = self.cluster.audit().mark().await?;
        let begun = Instant::now();
        self.create().await?;
        self.operator.brings("Deployments", self.progress.deployments(), self.count).await?;
        self.seconds("all Deployments exist after", begun.elapsed());
        self.operator.brings("Ready resources", self.progress.resources(), self.count).await?;
        let ready = begun.elapsed();
        self.seconds("all are Ready after", ready);
        self.column.grows("seconds until all are Ready", ready.as_secs_f64());
        let cpu = self.operator.cpu()?.saturating_sub(before);
        self.seconds("CPU time for it", cpu);
        let requests = self.cluster.audit().requests_of(&self.user).await?.since(mark);
        let requests = requests.except_leases().except_watches();
        let each = |number: usize| number as f64 / self.count as f64;
        let by_verb = requests.by_verb();
        let by_verb: Vec<String> =
            by_verb.into_iter().map(|(verb, n)| format!("{:.2} {verb}", each(n))).collect();
        let figure = format!("{:.2} ({})", each(requests.len()), by_verb.join(", "));
        self.column.row("requests for each resource", figure);
        Ok(())
    }

    /// Spread over the namespaces.
    async fn create(&self) -> anyhow::Result<()> {
        stream::iter((0..self.count).map(anyhow::Ok))
            .try_for_each_concurrent(CONCURRENCY, async |number| {
                let namespace = self.namespace(number);
                let resource = match self.version {
                    "v1alpha1" => resource_v1alpha1(namespace, number),
                    _ => resource(namespace, number),
                };
                self.api.post(&resources(self.version, namespace), &resource).await.map(drop)
            })
            .await
    }

    pub fn namespace(&self, number: usize) -> &str {
        &self.namespaces[number % self.namespaces.len()]
    }

    /// Where one resource is.
    pub fn path(&self, number: usize) -> String {
        format!("{}/server-{number}", resources(self.version, self.namespace(number)))
    }

    async fn at_rest(&mut self) -> anyhow::Result<()> {
        let begun = Instant::now();
        while self.writes_within(QUIET).await? > 0 && begun.elapsed() < PATIENCE {}
        self.column.row("memory (RSS) with the resources", self.operator.memory()?.to_string());
        self.column.grows("MB of memory", self.operator.memory()?.megabytes());
        let stored = self.stored().await?;
        self.column.row("etcd's database", format!("{:.1} MB", stored / 1e6));
        self.column.grows("MB in etcd", stored / 1e6);
        let before = self.operator.cpu()?;
        let writes = self.writes_within(REST).await?;
        let cpu = self.operator.cpu()?.saturating_sub(before);
        let share = cpu.as_secs_f64() / REST.as_secs_f64() * 100.0;
        self.column.row("at rest for a minute", format!("{writes} writes, {share:.2} % of a core"));
        Ok(())
    }

    async fn writes_within(&mut self, time: Duration) -> anyhow::Result<usize> {
        let mark = self.cluster.audit().mark().await?;
        tokio::time::sleep(time).await;
        // One that has ended writes nothing either.
        self.operator.check_alive()?;
        let requests = self.cluster.audit().requests_of(&self.user).await?.since(mark);
        Ok(requests.except_leases().writes().len())
    }

    /// As the API server reports it: all revisions that are not compacted yet.
    async fn stored(&self) -> anyhow::Result<f64> {
        let metrics = self.api.text("/metrics").await?;
        let line = metrics.lines().find(|line| line.starts_with("apiserver_storage_size_bytes"));
        let size =
            line.and_then(|line| line.rsplit(' ').next()).context("no size of the database")?;
        Ok(size.parse()?)
    }

    /// A change of every resource that replaces its pods.
    async fn change_of_all(&mut self) -> anyhow::Result<()> {
        let change = match self.version {
            "v1alpha1" => json!({"spec": {"server": {"containerSpec": {
                "resources": {"requests": {"cpu": "300m"}},
            }}}}),
            // No Job of a preflight would run here.
            _ => json!({"spec": {"workload": {
                "preflight": "Off", "resources": {"requests": {"cpu": "300m"}},
            }}}),
        };
        let before = self.progress.changes().now();
        let begun = Instant::now();
        self.patch_all(&change).await?;
        let changes = self.progress.changes();
        self.operator.brings("changes of Deployments", changes, before + self.count).await?;
        self.seconds("a change of all has reached all Deployments after", begun.elapsed());
        Ok(())
    }

    async fn patch_all(&self, change: &Value) -> anyhow::Result<()> {
        stream::iter(0..self.count)
            .map(|number| async move { self.api.patch(&self.path(number), change).await })
            .buffer_unordered(CONCURRENCY)
            .try_for_each(async |_| Ok(()))
            .await
    }

    /// The same objects by a bare client, on a control plane of its own.
    async fn floor(&mut self) -> anyhow::Result<()> {
        if !self.operator.launch.is_ours() {
            return Ok(());
        }
        self.operator.stop()?;
        let cluster = ControlPlane::start().await?;
        install(&cluster).await;
        let namespace = cluster.namespace("floor").await?;
        let _ready = readiness::start(&cluster, Some(&namespace), self.version);
        let took = floor::measure(&Api::new(cluster.client()), &namespace, self.count).await?;
        self.seconds("the floor: a bare client writes the same objects within", took);
        Ok(())
    }

    pub fn seconds(&mut self, what: &str, time: Duration) {
        self.column.row(what, format!("{:.1} s", time.as_secs_f64()));
    }
}

/// What it needs in the cluster, as whom it acts, and the version that it serves.
async fn install_candidate(
    candidate: &Candidate,
    cluster: &ControlPlane,
) -> anyhow::Result<(Launch, String, &'static str)> {
    match candidate {
        Candidate::Ours(program) => {
            let user = install(cluster).await;
            let servers = StubServer::of_all_servers().address();
            let address = webhooks::install(cluster).await?;
            let mut launch = Launch::ours(cluster, &user, program, &servers);
            launch.serve_webhooks(&address);
            Ok((launch, user, "v1alpha2"))
        }
        Candidate::Other { program, manifests, arguments } => {
            apply(cluster, manifests).await?;
            let launch = Launch::other(cluster, OTHER_USER, program, arguments);
            Ok((launch, OTHER_USER.to_owned(), "v1alpha1"))
        }
    }
}

async fn apply(cluster: &ControlPlane, manifests: &Path) -> anyhow::Result<()> {
    let file = manifests.to_str().context("the manifests' path is not Unicode")?;
    cluster.kubectl(&["apply", "--server-side", "-f", file], None).await?.expect_success();
    Ok(())
}
