//! Sequences of the explorer on a real control plane: what its simulated cluster comes to, a real one comes to.

use std::time::{Duration, Instant};

use futures::future::join_all;
use k8s_openapi::api::core::v1::Pod;
use llsd_explorer::ending::{Ending, KINDS};
use llsd_explorer::explore::endings;
use llsd_explorer::say::say;
use llsd_explorer::shown::SHOWN;
use llsd_explorer::step::Step;
use llsd_explorer::wish::{MOOD, SECRETS};
use llsd_explorer::world::{Given, NAME};
use llsd_plan::objects::{labels, names};
use llsd_testbed::namespace::{DISTRIBUTION, Namespace, PATIENCE};
use llsd_testbed::test_operator::TestOperator;
use llsd_testkit::PodState;
use serde_json::{Value, json};
use tokio::time::sleep;

use crate::preflight::{is_preflight, refusal};

/// So long a server must have been available for its state to be a good one.
const GOOD_AFTER: Duration = Duration::from_secs(62);

/// So long nothing may change for a cluster to be at rest.
const QUIET: Duration = Duration::from_secs(3);

#[tokio::test]
async fn a_real_control_plane_comes_to_what_the_simulated_one_comes_to() {
    let flags = ["--preflight-deadline", "15", "--secret-refresh", "3"];
    let Some(operator) = TestOperator::start(&flags).await else { return };
    operator.kubelet.decide(fate);
    let servers = SHOWN.map(|(name, steps)| Server::start(&operator, name, steps));
    let mut servers = join_all(servers).await;
    sleep(GOOD_AFTER).await;
    join_all(servers.iter_mut().map(Server::go_through)).await;
}

/// What becomes of a pod, by the variable that the explorer gives it.
fn fate(pod: &Pod) -> PodState {
    let containers = pod.spec.iter().flat_map(|spec| &spec.containers);
    let mut env = containers.flat_map(|container| container.env.iter().flatten());
    let mood = env.find(|variable| variable.name == MOOD).and_then(|it| it.value.clone());
    let mood = mood.unwrap_or_default();
    match (is_preflight(pod), mood.split('-').next()) {
        (true, Some("Refused")) => refusal("providers"),
        (false, Some("Refused" | "Broken")) => PodState::NeverReady,
        _ => PodState::Ready,
    }
}

/// One resource in a namespace of its own.
struct Server<'a> {
    namespace: Namespace<'a>,
    steps: &'static [Step],
    given: Given,
    /// What is still to come, by the simulation.
    endings: std::vec::IntoIter<Ending>,
}

impl<'a> Server<'a> {
    async fn start(operator: &'a TestOperator, name: &str, steps: &'static [Step]) -> Self {
        let namespace = operator.namespace(name).await;
        let endings = endings(steps).unwrap().into_iter();
        let mut server = Self { namespace, steps, given: Given::default(), endings };
        for which in 0..SECRETS.len() {
            server.write_secret(which).await;
        }
        server.write_spec().await;
        server.comes_to_rest().await;
        server
    }

    async fn go_through(&mut self) {
        for step in self.steps {
            self.step(*step).await;
        }
        self.comes_to_rest().await;
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::Settle => self.comes_to_rest().await,
            Step::Autoscale(number) => {
                let patch = json!({"spec": {"replicas": number}});
                self.namespace.patch("Deployment", NAME, &patch).await;
            }
            Step::LoseLabel => {
                let lost = json!({"metadata": {"labels": {labels::MANAGED_BY: "somebody"}}});
                self.namespace.patch("Deployment", NAME, &lost).await;
            }
            Step::RollBack => self.ask_back().await,
            said => {
                let before = self.given.clone();
                say(&mut self.given, said);
                self.carry_out(&before).await;
            }
        }
    }

    /// Brings what was said to the cluster.
    async fn carry_out(&self, before: &Given) {
        let now = &self.given;
        for which in 0..SECRETS.len() {
            if now.secrets[which] != before.secrets[which] {
                self.write_secret(which).await;
            }
        }
        if now.trouble.quota && !before.trouble.quota {
            let quota = json!({
                "apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "none"},
                "spec": {"hard": {"pods": "0"}},
            });
            self.namespace.apply(&quota.to_string()).await;
            let is_at_work = |now: &Value| now["status"]["hard"].is_object();
            self.namespace.until("ResourceQuota", "none", "is at work", is_at_work).await;
        }
        if now.wish != before.wish {
            self.write_spec().await;
        }
        if !now.exists {
            self.namespace.delete(DISTRIBUTION, NAME).await;
        }
    }

    async fn write_secret(&self, which: usize) {
        let value = json!({"token": format!("token-{}", self.given.secrets[which])});
        self.namespace.secret(SECRETS[which], value).await;
    }

    async fn write_spec(&self) {
        let mut spec = self.given.wish.spec();
        // Kubernetes gives up on its rollouts after some seconds.
        spec["workload"]["overrides"]["progressDeadlineSeconds"] = json!(15);
        spec["workload"]["overrides"]["minReadySeconds"] = json!(0);
        self.namespace.distribution(NAME, spec).await;
    }

    async fn ask_back(&self) {
        let sets = self.namespace.list("ReplicaSet").await;
        let revision = |set: &&Value| {
            let revision = &set["metadata"]["annotations"]["deployment.kubernetes.io/revision"];
            revision.as_str().and_then(|number| number.parse::<u32>().ok())
        };
        let before = sets.iter().min_by_key(revision).unwrap();
        let hash = &before["metadata"]["labels"][labels::POD_TEMPLATE_HASH];
        let asked = json!({"metadata": {"annotations": {"llamastack.io/rollback-to": hash}}});
        self.namespace.patch(DISTRIBUTION, NAME, &asked).await;
    }

    /// Waits until the cluster is as the simulated one is at rest, and stays so.
    async fn comes_to_rest(&mut self) {
        let expected = self.endings.next().unwrap();
        let begun = Instant::now();
        loop {
            let found = self.found().await;
            if found == expected {
                sleep(QUIET).await;
                if self.found().await == expected {
                    return;
                }
            }
            let (name, steps) = (&self.namespace.name, self.steps);
            assert!(
                begun.elapsed() < PATIENCE,
                "{name} {steps:?}: the simulation comes to {expected:#?}\nand this to {found:#?}"
            );
            sleep(Duration::from_secs(1)).await;
        }
    }

    async fn found(&self) -> Ending {
        let names = KINDS.map(|kind| names::only_name(kind, NAME).unwrap());
        let kinds = KINDS.iter().zip(&names);
        let found = kinds.map(|(kind, name)| self.namespace.get(kind.name(), name));
        let found: [Option<Value>; 5] = join_all(found).await.try_into().unwrap();
        let resource = self.namespace.get(DISTRIBUTION, NAME).await.unwrap_or_default();
        let states = self.namespace.list("ReplicaSet").await.len();
        Ending::read(found.each_ref().map(Option::as_ref), &resource["status"], states)
    }
}
