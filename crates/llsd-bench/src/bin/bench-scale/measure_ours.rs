//! What only this operator is measured by: requests through v1alpha1, a Secret that servers share, objects that do not
//! belong to it, a restart, a lost leader.

use std::time::{Duration, Instant};

use anyhow::{Context, anyhow, ensure};
use futures::TryStreamExt;
use http::Request;
use llsd_bench::api::resources;
use llsd_bench::operator::Operator;
use llsd_bench::sample::percentile;
use llsd_testkit::free_port;
use serde_json::{Value, json};

use crate::measure::Measurement;

const LISTS: usize = 20;
const WATCHED: usize = 100;
/// An annotation.
const MARK: &str = "bench.example.com/mark";
const UNRELATED_BYTES: usize = 1 << 10;
/// A change that is later than that is not seen at all.
const SEEN_WITHIN: Duration = Duration::from_mins(1);
/// A slow budget may let a shared Secret reach a namespace one server at a time.
const PATIENCE: Duration = Duration::from_mins(10);

impl Measurement {
    pub async fn ours(&mut self, unrelated: usize) -> anyhow::Result<()> {
        self.through_v1alpha1().await?;
        self.shared_secret().await?;
        self.unrelated(unrelated).await?;
        let took = self.operator.restart(&self.cluster, self.count).await?;
        self.seconds("a restart has reconciled all after", took);
        self.column.row("memory (RSS) after it", self.operator.memory()?.to_string());
        self.lost_leader().await
    }

    /// Lists of one namespace, and changes as a watch sees them, both converted.
    async fn through_v1alpha1(&mut self) -> anyhow::Result<()> {
        let mut lists = Vec::new();
        for number in 0..LISTS {
            let begun = Instant::now();
            self.api.list(&resources("v1alpha1", self.namespace(number))).await?;
            lists.push(begun.elapsed());
        }
        let watched = self.watched().await?;
        let milliseconds = |times: &[Duration]| percentile(times, 0.99).as_secs_f64() * 1e3;
        let each = self.count / self.namespaces.len();
        let what = format!("a list of {each} through v1alpha1, p99 of {LISTS}");
        self.column.row(&what, format!("{:.0} ms", milliseconds(&lists)));
        let what = format!("a change is seen by a watch through v1alpha1, p99 of {WATCHED}");
        self.column.row(&what, format!("{:.0} ms", milliseconds(&watched)));
        Ok(())
    }

    async fn watched(&self) -> anyhow::Result<Vec<Duration>> {
        let path = resources("v1alpha1", self.namespace(0));
        let list = self.api.list(&format!("{path}?limit=1")).await?;
        let version = list["metadata"]["resourceVersion"].as_str().unwrap_or_default();
        let request = Request::get(format!("{path}?watch=true&resourceVersion={version}"));
        let client = self.cluster.client();
        let events = client.request_events::<Value>(request.body(Vec::new())?).await?;
        let mut events = std::pin::pin!(events);
        let mut times = Vec::new();
        for number in 0..WATCHED {
            let mark = number.to_string();
            let begun = Instant::now();
            let change = json!({"metadata": {"annotations": {MARK: mark}}});
            self.api.patch(&self.path(0), &change).await?;
            let seen = async {
                while let Some(event) = events.try_next().await? {
                    let kube::api::WatchEvent::Modified(object) = event else { continue };
                    if object["metadata"]["annotations"][MARK] == mark.as_str() {
                        return Ok(());
                    }
                }
                Err(anyhow!("the watch has ended"))
            };
            let seen = tokio::time::timeout(SEEN_WITHIN, seen).await;
            seen.context("a watch through v1alpha1 does not see a change")??;
            times.push(begun.elapsed());
        }
        Ok(times)
    }

    /// All servers of a namespace read it.
    async fn shared_secret(&mut self) -> anyhow::Result<()> {
        let namespace = self.namespace(0).to_owned();
        let servers = self.count.div_ceil(self.namespaces.len());
        let before = self.progress.changes().now();
        let begun = Instant::now();
        let path = format!("/api/v1/namespaces/{namespace}/secrets/keys");
        self.api.patch(&path, &json!({"stringData": {"token": "rotated"}})).await?;
        let reached = self.progress.changes().reaches(before + servers);
        let what = format!("a Secret that {servers} servers share has reached all after");
        if tokio::time::timeout(PATIENCE, reached).await.is_ok() {
            self.seconds(&what, begun.elapsed());
        } else {
            self.operator.check_alive()?;
            let reached = self.progress.changes().now() - before;
            let figure = format!("{reached} of them after {} s", PATIENCE.as_secs());
            self.column.row(&what, figure);
        }
        Ok(())
    }

    async fn unrelated(&mut self, count: usize) -> anyhow::Result<()> {
        let namespace = self.cluster.namespace("unrelated").await?;
        self.api.create_unrelated(&namespace, count, UNRELATED_BYTES).await?;
        tokio::time::sleep(Duration::from_secs(10)).await;
        let what = format!("memory (RSS) beside {count} Secrets and ConfigMaps each");
        self.column.row(&what, self.operator.memory()?.to_string());
        Ok(())
    }

    /// Another replica stands by when the leader is killed; a resource changes then.
    async fn lost_leader(&mut self) -> anyhow::Result<()> {
        let mut launch = self.operator.launch.clone();
        launch.serve_webhooks(&format!("127.0.0.1:{}", free_port()?));
        let mut next = Operator::stand_by(&self.cluster, launch)?;
        tokio::time::sleep(Duration::from_secs(10)).await;
        let before = self.progress.changes().now();
        self.operator.kill();
        let begun = Instant::now();
        // Until the next leader has registered its webhooks, no write of a resource is admitted.
        let change = json!({"spec": {"workload": {"resources": {"requests": {"cpu": "350m"}}}}});
        while self.api.patch(&self.path(0), &change).await.is_err() {
            next.check_alive()?;
            ensure!(begun.elapsed() < PATIENCE, "no replica answers after the leader was killed");
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
        next.brings("changes of Deployments", self.progress.changes(), before + 1).await?;
        self.seconds(
            "the leader is killed: the first write of the next one after",
            begun.elapsed(),
        );
        self.operator = next;
        Ok(())
    }
}
