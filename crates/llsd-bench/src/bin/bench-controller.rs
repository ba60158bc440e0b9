//! How fast and how small the operator is: N resources on a real API server, next to a bare client
//! that writes the same objects. `make bench-controller N=1000` runs it with the operator as it is
//! shipped; a second argument names another one.

#![allow(clippy::cast_precision_loss, reason = "figures for people")]

use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use llsd_testbed::install::install;
use llsd_testbed::stub_server::StubServer;
use llsd_testkit::ControlPlane;

use llsd_bench::api::Api;
use llsd_bench::operator::{Launch, Memory, Operator};
use llsd_bench::table::Table;
use llsd_bench::{floor, hostile, readiness, webhooks};

const VERSION: &str = "v1alpha2";
/// Without a write for so long, the operator has nothing left to do.
const QUIET: Duration = Duration::from_secs(10);
const REST: Duration = Duration::from_mins(1);
/// Everything is written by then.
const SETTLES: Duration = Duration::from_mins(10);
const UNRELATED: usize = 2000;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> anyhow::Result<()> {
    let count: usize = match std::env::args().nth(1) {
        Some(text) => text.parse().context("the number of resources")?,
        None => 1000,
    };
    let program = match std::env::args_os().nth(2) {
        Some(path) => path.into(),
        None => std::env::current_exe()?.with_file_name("llsd"),
    };
    let cluster = ControlPlane::start().await?;
    let user = install(&cluster).await;
    let api = Api::new(cluster.client());
    let mut table = Table::new(count);

    let namespace = cluster.namespace("floor").await?;
    // The same goes on beside it as beside the operator.
    let ready = readiness::start(&cluster, Some(&namespace), VERSION);
    let floor = floor::measure(&api, &namespace, count).await?;
    drop(ready);
    table.row("the floor: a bare client", format!("{:.1} s", floor.as_secs_f64()));

    let servers = StubServer::of_all_servers().address();
    let launch = Launch::ours(&cluster, &user, &program, &servers);
    let operator = Operator::start(&cluster, launch).await?;
    tokio::time::sleep(Duration::from_secs(5)).await;
    table.row("RSS idle", operator.memory()?.to_string());

    let namespace = cluster.namespace("bench").await?;
    let mut bench = Bench { cluster, user, api, namespace, count, operator, table };
    bench.work(floor).await?;
    bench.rest().await?;
    bench.unrelated().await?;
    bench.stored().await?;
    bench.webhooks().await?;
    bench.operator.stop()?;
    print!("{}", bench.table);
    Ok(())
}

/// What is measured, and the figures so far.
struct Bench {
    cluster: ControlPlane,
    user: String,
    api: Api,
    namespace: String,
    count: usize,
    operator: Operator,
    table: Table,
}

impl Bench {
    /// From nothing to servers that are ready.
    async fn work(&mut self, floor: Duration) -> anyhow::Result<()> {
        let Self { cluster, user, api, namespace, operator, table, .. } = self;
        let count = self.count;
        api.secret(namespace).await?;
        let mark = cluster.audit().mark().await?;
        let ready = readiness::start(cluster, Some(namespace), VERSION);
        let begun = Instant::now();
        api.create_resources(namespace, count).await?;
        let created = begun.elapsed();
        operator.brings("Deployments", ready.deployments(), count).await?;
        let deployed = begun.elapsed();
        operator.brings("Ready resources", ready.resources(), count).await?;
        table.row("all resources are made after", format!("{:.1} s", created.as_secs_f64()));
        table.row(
            "all Deployments exist after",
            format!(
                "{:.1} s, {:.2} x the floor",
                deployed.as_secs_f64(),
                deployed.as_secs_f64() / floor.as_secs_f64()
            ),
        );
        let settled = begun.elapsed().as_secs_f64();
        table.row(
            "all are Ready after",
            format!("{settled:.1} s, {:.1} s of the operator's CPU", operator.cpu()?.as_secs_f64()),
        );
        let requests = cluster.audit().requests_of(user).await?.since(mark);
        table.requests(&requests.except_leases().except_watches(), count);
        until_quiet(cluster, user).await?;
        let quiet = begun.elapsed().saturating_sub(QUIET).as_secs_f64();
        table.row("the last event is sent after", format!("{quiet:.1} s"));
        table.row("RSS with the resources", operator.memory()?.to_string());
        Ok(())
    }

    /// A minute without a change, and a restart.
    async fn rest(&mut self) -> anyhow::Result<()> {
        let (mark, cpu) = (self.cluster.audit().mark().await?, self.operator.cpu()?);
        tokio::time::sleep(REST).await;
        let requests = self.cluster.audit().requests_of(&self.user).await?;
        let requests = requests.since(mark).except_watches();
        self.table.rest(&requests, REST, self.operator.cpu()?.saturating_sub(cpu));
        self.table.row("RSS after that", self.operator.memory()?.to_string());

        let mark = self.cluster.audit().mark().await?;
        let restarted = self.restart().await?;
        let requests = self.cluster.audit().requests_of(&self.user).await?;
        let requests = requests.since(mark).except_leases();
        self.table.row(
            "restart: all looked at after",
            format!(
                "{:.1} s, {} writes, {} reads, {:.1} s of CPU",
                restarted.as_secs_f64(),
                requests.writes().len(),
                requests.reads().except_watches().len(),
                self.operator.cpu()?.as_secs_f64()
            ),
        );
        let memory = self.later_memory().await?;
        self.table.row("RSS after a restart", memory.to_string());
        Ok(())
    }

    /// Objects that the operator does not own.
    async fn unrelated(&mut self) -> anyhow::Result<()> {
        let other = self.cluster.namespace("unrelated").await?;
        self.api.create_unrelated(&other, UNRELATED, 32 << 10).await?;
        self.with_and_after_a_restart(
            "RSS with 2,000 unrelated Secrets and ConfigMaps of 32 KB each",
        )
        .await
    }

    /// A stored resource that is meant to exhaust the operator's memory.
    async fn stored(&mut self) -> anyhow::Result<()> {
        hostile::store(&self.api, &self.namespace).await?;
        self.with_and_after_a_restart("RSS with a stored resource of 500,000 values").await?;
        hostile::remove(&self.api, &self.namespace).await
    }

    /// Calls of the API server, then calls that are meant to exhaust the operator's memory.
    async fn webhooks(&mut self) -> anyhow::Result<()> {
        let address = webhooks::install(&self.cluster).await?;
        let url = format!("https://{address}");
        self.operator.launch.serve_webhooks(&address);
        self.restart().await?;
        let Self { api, namespace, count, .. } = self;
        webhooks::until_called(api, namespace).await;
        let [admitted, listed] = webhooks::call(api, namespace, *count).await?;
        let figure = format!(
            "{:.1} ms for each, {:.1} s for the list",
            admitted.as_secs_f64() * 1e3 / *count as f64,
            listed.as_secs_f64()
        );
        self.table.row("webhooks: as many resources tried, all listed as v1alpha1", figure);
        let memory = self.later_memory().await?;
        self.table.row("RSS with webhooks", memory.to_string());
        let slowest = hostile::flood(&self.api, &self.namespace, &url).await?.as_secs_f64() * 1e3;
        let memory = self.operator.memory()?;
        self.table.row(
            "RSS after 64 calls of 6 MB of zeros to /convert",
            format!("{memory}; the slowest other call took {slowest:.0} ms"),
        );
        Ok(())
    }

    async fn with_and_after_a_restart(&mut self, what: &str) -> anyhow::Result<()> {
        let while_running = self.later_memory().await?;
        self.restart().await?;
        let restarted = self.later_memory().await?;
        self.table.row(what, format!("{while_running}; after a restart {restarted}"));
        Ok(())
    }

    async fn restart(&mut self) -> anyhow::Result<Duration> {
        let Self { cluster, count, operator, .. } = self;
        operator.restart(cluster, *count).await
    }

    /// Once what it was given has been worked on.
    async fn later_memory(&self) -> anyhow::Result<Memory> {
        tokio::time::sleep(Duration::from_secs(10)).await;
        self.operator.memory()
    }
}

/// Waits until the operator writes nothing any more but its lease.
async fn until_quiet(cluster: &ControlPlane, user: &str) -> anyhow::Result<()> {
    let begun = Instant::now();
    loop {
        ensure!(begun.elapsed() < SETTLES, "it still writes after {} s", SETTLES.as_secs());
        let mark = cluster.audit().mark().await?;
        tokio::time::sleep(QUIET).await;
        let requests = cluster.audit().requests_of(user).await?.since(mark).except_leases();
        if requests.writes().is_empty() {
            return Ok(());
        }
    }
}
