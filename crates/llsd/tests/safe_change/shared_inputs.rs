//! A bundle of certificate authorities that many servers share is replaced: it reaches a few servers at a time,
//! stops where they fail, and delays nothing that a user does.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::StreamExt;
use kube::runtime::watcher::{Config, Event, watcher};
use llsd_testbed::access::{eventually, within};
use llsd_testbed::authority::authority;
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, condition, name_of};
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::PodState;
use serde_json::{Value, json};
use tokio::task::JoinHandle;

use crate::server::{llsd, said};

const BUNDLE: &str = "roots";

/// A server keeps its place until it was available for a minute, so a few of them after each other take some.
const SOME_MINUTES: Duration = Duration::from_mins(6);

/// Servers that trust one bundle, under an operator that may change so many at a time.
struct World {
    operator: TestOperator,
    namespace: String,
    servers: Vec<String>,
}

impl World {
    async fn new(servers: usize, rollout: &str, overrides: &Value) -> Option<Self> {
        let operator = TestOperator::start(&[]).await?;
        // What fails stays as it is.
        let config = json!({"rollout": rollout, "preflight": "Off", "rollback": "Off"});
        operator.configure(config).await;
        let namespace = operator.namespace("shared").await;
        namespace.config_map(BUNDLE, json!({"ca-bundle.crt": authority("first")})).await;
        let servers: Vec<String> =
            (0..servers).map(|number| format!("server-{number:02}")).collect();
        for server in &servers {
            namespace.distribution(server, spec(overrides)).await;
        }
        for server in &servers {
            namespace.until_ready(server).await;
        }
        let namespace = namespace.name;
        Some(Self { operator, namespace, servers })
    }

    fn namespace(&self) -> Namespace<'_> {
        Namespace { cluster: &self.operator.cluster, name: self.namespace.clone() }
    }

    /// The bundle that each server's pods mount.
    async fn bundles(&self) -> BTreeMap<String, String> {
        let deployments = self.namespace().list("Deployment").await;
        deployments.iter().map(|it| (name_of(it).to_owned(), bundle_of(it).to_owned())).collect()
    }

    /// Puts another authority into the bundle; the copies that the servers' pods mounted before that.
    async fn replace_bundle(&self, authority_name: &str) -> BTreeMap<String, String> {
        let before = self.bundles().await;
        self.namespace()
            .config_map(BUNDLE, json!({"ca-bundle.crt": authority(authority_name)}))
            .await;
        before
    }

    /// The servers whose pods mount another bundle than before.
    async fn changed_since(&self, before: &BTreeMap<String, String>) -> BTreeSet<String> {
        let now = self.bundles().await.into_iter();
        now.filter(|(server, bundle)| before[server] != *bundle).map(|(server, _)| server).collect()
    }

    async fn until_changed(&self, before: &BTreeMap<String, String>, servers: usize) {
        within(SOME_MINUTES, &format!("{servers} servers have the new bundle"), async || {
            self.changed_since(before).await.len() == servers
        })
        .await;
    }

    /// Waits until all servers are ready, and nothing waits. One that waits is ready, too.
    async fn until_ready(&self) {
        for server in &self.servers {
            let has_it_all = |now: &Value| {
                condition(now, "Ready")["status"] == "True"
                    && condition(now, "UpdatePending").is_null()
            };
            let namespace = self.namespace();
            namespace
                .until(DISTRIBUTION, server, "is ready and waits for nothing", has_it_all)
                .await;
        }
    }

    /// Waits until some server says that the change is stopped.
    async fn until_stopped(&self) -> String {
        let stopped = Mutex::new(String::new());
        eventually("a server that waits says that the change is stopped", async || {
            let resources = self.namespace().list(DISTRIBUTION).await;
            let mut pending = resources.iter().map(|it| condition(it, "UpdatePending"));
            let found = pending.find(|it| {
                it["message"].as_str().is_some_and(|message| message.starts_with("Stopped"))
            });
            let Some(found) = found else { return false };
            found["message"].as_str().unwrap().clone_into(&mut stopped.lock().unwrap());
            true
        })
        .await;
        stopped.into_inner().unwrap()
    }
}

fn spec(overrides: &Value) -> Value {
    json!({
        "distribution": {"name": "starter"},
        "networking": {"tls": {"caBundle": {"configMapName": BUNDLE}}},
        "workload": {"overrides": overrides},
    })
}

fn bundle_of(deployment: &Value) -> &str {
    let volumes = deployment["spec"]["template"]["spec"]["volumes"].as_array().unwrap();
    let volume = volumes.iter().find(|volume| volume["name"] == "ca-bundle").unwrap();
    volume["configMap"]["name"].as_str().unwrap()
}

/// Counts from a watch which servers do not serve at the same time.
struct Outages {
    most: Arc<Mutex<BTreeSet<String>>>,
    task: JoinHandle<()>,
}

impl Outages {
    fn watch(namespace: &Namespace<'_>) -> Self {
        let most = Arc::new(Mutex::new(BTreeSet::new()));
        let (api, seen) = (namespace.api("Deployment"), Arc::clone(&most));
        let task = tokio::spawn(async move {
            let mut down = BTreeSet::new();
            let mut events = pin!(watcher(api, Config::default()));
            while let Some(event) = events.next().await {
                let Ok(Event::Apply(object) | Event::InitApply(object)) = event else { continue };
                let name = object.metadata.name.unwrap_or_default();
                match object.data["status"]["availableReplicas"].as_i64() {
                    Some(1..) => down.remove(&name),
                    _ => down.insert(name),
                };
                let mut most = seen.lock().unwrap();
                if down.len() > most.len() {
                    most.clone_from(&down);
                }
            }
        });
        Self { most, task }
    }

    fn most(&self) -> BTreeSet<String> {
        self.most.lock().unwrap().clone()
    }
}

impl Drop for Outages {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// From now on pods with another bundle than before do not become ready, of these many servers at most.
fn fail(operator: &TestOperator, before: &BTreeMap<String, String>, servers: usize) {
    let (before, failing) = (before.clone(), Mutex::new(BTreeSet::new()));
    operator.kubelet.decide(move |pod| {
        let mut labels = pod.metadata.labels.iter().flatten();
        let server = labels.find(|(label, _)| *label == "app.kubernetes.io/instance");
        let server = server.map(|(_, server)| server.clone()).unwrap_or_default();
        let mut volumes = pod.spec.iter().flat_map(|spec| spec.volumes.iter().flatten());
        let bundle = volumes.find(|volume| volume.name == "ca-bundle");
        let bundle = bundle.and_then(|volume| volume.config_map.as_ref()).map(|map| &map.name);
        let mut failing = failing.lock().unwrap();
        let is_new = before.get(&server) != bundle;
        if is_new && (failing.contains(&server) || failing.len() < servers) {
            failing.insert(server);
            PodState::NeverReady
        } else {
            PodState::Ready
        }
    });
}

#[tokio::test]
async fn servers_with_volumes_are_never_down_beyond_the_budget_and_others_wait_where_two_fail() {
    let overrides =
        json!({"strategy": "Recreate", "progressDeadlineSeconds": 20, "minReadySeconds": 0});
    let rollout = "{maxUnavailableServers: 2, perNamespace: 2, stopAfterFailures: 2}";
    let Some(mut world) = World::new(5, rollout, &overrides).await else { return };
    let outages = Outages::watch(&world.namespace());

    // All of them, with no trouble.
    let before = world.replace_bundle("second").await;
    world.until_changed(&before, 5).await;
    world.until_ready().await;
    assert!(outages.most().len() <= 2, "{:?}", outages.most());

    // Two fail: the others serve as before, and say why.
    let before = world.bundles().await;
    fail(&world.operator, &before, 2);
    world.replace_bundle("third").await;
    world.until_changed(&before, 2).await;
    let failed = world.changed_since(&before).await;
    let waiting: Vec<String> =
        world.servers.iter().filter(|server| !failed.contains(*server)).cloned().collect();
    let waits = world
        .namespace()
        .until_condition(&waiting[0], "UpdatePending", "True", "WaitingForTurn")
        .await;
    assert_eq!(condition(&waits, "Ready")["status"], "True", "{waits}");
    let message = world.until_stopped().await;
    assert!(failed.iter().all(|server| message.contains(server.as_str())), "{message}");
    assert_eq!(world.changed_since(&before).await, failed);

    // Another operator leads, and knows where the first one stopped. A user's own edit and an approval wait for
    // no other server.
    world.operator.restart(&[]);
    let edit = json!({"spec": {"workload": {"workers": 2}}});
    world.namespace().patch(DISTRIBUTION, &waiting[0], &edit).await;
    let approved = llsd(&world.namespace(), &["rollout", "approve", &waiting[1]]).await;
    assert!(approved.status.success(), "{}", said(&approved));
    world.until_changed(&before, 4).await;
    let asked = [waiting[0].clone(), waiting[1].clone()];
    for server in &asked {
        world.namespace().until_ready(server).await;
    }
    assert_eq!(world.changed_since(&before).await.len(), 4);
    let others = outages.most().into_iter().filter(|server| !asked.contains(server));
    assert!(others.count() <= 2, "{:?}", outages.most());

    // The cause is gone.
    world.operator.kubelet.decide(|_| PodState::Ready);
    let retried = llsd(&world.namespace(), &["rollout", "retry", "--all"]).await;
    assert!(retried.status.success(), "{}", said(&retried));
    world.until_changed(&before, 5).await;
    world.until_ready().await;
    let is_asked = |server: &String| asked.contains(server) || failed.contains(server);
    let others = outages.most().into_iter().filter(|server| !is_asked(server));
    assert!(others.count() <= 2, "{:?}", outages.most());
}

#[tokio::test]
async fn a_stopped_change_continues_after_a_retry_and_with_another_value() {
    let overrides = json!({"progressDeadlineSeconds": 15, "minReadySeconds": 0});
    let rollout = "{maxUnavailableServers: 2, perNamespace: 2, stopAfterFailures: 2}";
    let Some(world) = World::new(4, rollout, &overrides).await else { return };
    let before = world.bundles().await;
    fail(&world.operator, &before, 2);
    world.replace_bundle("second").await;
    let message = world.until_stopped().await;
    assert!(message.contains("llsd rollout retry"), "{message}");
    let stopped = world.changed_since(&before).await;
    // The first that failed serves as before, so another one may have had its place until the second failed.
    assert!((2..=3).contains(&stopped.len()), "{stopped:?}");

    // Whoever tries one of the two again lets the others go on.
    let retried = llsd(&world.namespace(), &["rollout", "retry", "--all"]).await;
    assert!(retried.status.success(), "{}", said(&retried));
    world.until_changed(&before, 4).await;
    let others = world.servers.iter().filter(|server| !stopped.contains(*server));
    for server in others {
        world.namespace().until_ready(server).await;
    }

    // Another value is another change, and reaches all that were stopped, too.
    let before = world.bundles().await;
    world.operator.kubelet.decide(|_| PodState::Ready);
    world.replace_bundle("third").await;
    world.until_changed(&before, 4).await;
    world.until_ready().await;
}

#[tokio::test]
async fn canaries_come_first_one_that_fails_stops_the_change_and_nothing_begins_outside_of_a_window()
 {
    let overrides = json!({"progressDeadlineSeconds": 15, "minReadySeconds": 0});
    // No window opens while the test runs.
    let hour = (jiff::Timestamp::now().as_second() / 3600 + 12) % 24;
    let window = format!("window: {{schedule: 30 {hour} * * *, duration: 1m}}");
    let open = "maxUnavailableServers: 4, perNamespace: 4, canaries: example.com/canary";
    let Some(world) = World::new(4, &format!("{{{open}, {window}}}"), &overrides).await else {
        return;
    };
    let canary = &world.servers[2];
    let label = json!({"metadata": {"labels": {"example.com/canary": "true"}}});
    world.namespace().patch(DISTRIBUTION, canary, &label).await;
    let only_canary = BTreeSet::from([canary.clone()]);

    let before = world.replace_bundle("second").await;
    for server in &world.servers {
        let waits = |now: &Value| message(now).contains("in the next window, which opens at 2");
        world.namespace().until(DISTRIBUTION, server, "waits for a window", waits).await;
    }
    assert_eq!(world.changed_since(&before).await, BTreeSet::new());

    fail(&world.operator, &before, 1);
    let config = json!({"rollout": format!("{{{open}}}"), "preflight": "Off", "rollback": "Off"});
    world.operator.configure(config).await;
    world.until_changed(&before, 1).await;
    let stopped = world.until_stopped().await;
    assert!(stopped.contains(canary.as_str()), "one failure is enough: {stopped}");
    assert_eq!(world.changed_since(&before).await, only_canary);

    world.operator.kubelet.decide(|_| PodState::Ready);
    let before = world.replace_bundle("third").await;
    world.until_changed(&before, 1).await;
    assert_eq!(world.changed_since(&before).await, only_canary);
    let begun = Instant::now();
    world.until_changed(&before, 4).await;
    assert!(begun.elapsed() > Duration::from_secs(50), "the canary had no minute to itself");
    world.until_ready().await;
}

fn message(resource: &Value) -> &str {
    condition(resource, "UpdatePending")["message"].as_str().unwrap_or_default()
}
