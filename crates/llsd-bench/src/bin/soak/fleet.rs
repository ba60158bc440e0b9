//! A fleet under two replicas of the operator: changes, faults, and whether all is in sync in the end.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use llsd_bench::api::{Api, resource, resources};
use llsd_bench::operator::{Launch, Operator};
use llsd_bench::readiness::{self, Progress};
use llsd_testbed::install::install;
use llsd_testbed::stub_server::StubServer;
use llsd_testkit::ControlPlane;
use serde_json::{Value, json};

use crate::fault::Fault;
use crate::terms::Terms;

const VERSION: &str = "v1alpha2";
/// The garbage collector is needed, which removes what a deleted resource owned. Deployments are left to the stand-in
/// that makes them Ready.
const NO_DEPLOYMENTS: &str = "--controllers=-deployment-controller,-replicaset-controller";
const STALLS: Duration = Duration::from_secs(3);
const HANGS: Duration = Duration::from_secs(20);
const LOSES_THE_LEASE: Duration = Duration::from_secs(30);
/// However a replica was lost, another one leads by then.
const REPLACES: Duration = Duration::from_mins(2);
/// Everything that a last change or fault leads to is over by then.
const SETTLES: Duration = Duration::from_mins(10);
const QUIET: Duration = Duration::from_secs(30);

/// A running fleet.
pub struct Fleet {
    cluster: ControlPlane,
    api: Api,
    user: String,
    namespace: String,
    count: usize,
    progress: Progress,
    launch: Launch,
    /// The one that was last seen to lead is the first.
    replicas: Vec<Operator>,
    terms: Terms,
    suffered: BTreeMap<Fault, usize>,
}

impl Fleet {
    /// All Ready.
    pub async fn start(program: &Path, count: usize) -> anyhow::Result<Self> {
        let builder = ControlPlane::builder().with_controller_manager();
        let cluster = builder.controller_manager_flag(NO_DEPLOYMENTS).start().await?;
        let user = install(&cluster).await;
        let api = Api::new(cluster.client());
        let servers = StubServer::of_all_servers().address();
        let launch = Launch::ours(&cluster, &user, program, &servers);
        let namespace = cluster.namespace("soak").await?;
        api.secret(&namespace).await?;
        let leader = Operator::start(&cluster, launch.clone()).await?;
        let progress = readiness::start(&cluster, None, VERSION);
        let terms = Terms::start(leader.process_id(), progress.resources());
        let mut fleet = Self {
            cluster,
            api,
            user,
            namespace,
            count,
            progress,
            launch,
            replicas: vec![leader],
            terms,
            suffered: BTreeMap::new(),
        };
        for number in 0..count {
            fleet.create(number).await?;
        }
        let ready = fleet.progress.resources();
        fleet.replicas[0].brings("Ready resources", ready, count).await?;
        fleet.stand_by()?;
        Ok(fleet)
    }

    fn path(&self, number: usize) -> String {
        format!("{}/server-{number}", resources(VERSION, &self.namespace))
    }

    async fn create(&self, number: usize) -> anyhow::Result<()> {
        let mut resource = resource(&self.namespace, number);
        // No Job of a preflight would run here.
        resource["spec"]["workload"] = json!({"preflight": "Off"});
        self.api.post(&resources(VERSION, &self.namespace), &resource).await.map(drop)
    }

    /// Another replica beside the one that leads.
    fn stand_by(&mut self) -> anyhow::Result<()> {
        self.replicas.push(Operator::stand_by(&self.cluster, self.launch.clone())?);
        Ok(())
    }

    /// Looks which replica leads, and follows that one from here on. False while none says that it does, or more than
    /// one: a leader that was stopped may not know yet that another one has taken its place.
    pub async fn look(&mut self) -> anyhow::Result<bool> {
        let mut leading = Vec::new();
        for (place, replica) in self.replicas.iter_mut().enumerate() {
            replica.check_alive()?;
            if replica.leads().await {
                leading.push(place);
            }
        }
        let &[leader] = leading.as_slice() else { return Ok(false) };
        self.replicas.swap(0, leader);
        self.terms.pass_to(self.replicas[0].process_id());
        Ok(true)
    }

    async fn until_one_leads(&mut self) -> anyhow::Result<()> {
        let begun = Instant::now();
        while !self.look().await? {
            ensure!(
                begun.elapsed() < REPLACES,
                "no replica leads, or more than one, for {} s",
                REPLACES.as_secs()
            );
            tokio::time::sleep(Duration::from_secs(1)).await;
        }
        Ok(())
    }

    /// One random change; what the API server refuses meanwhile is left out.
    pub async fn change(&self, random: &mut fastrand::Rng) {
        let number = random.usize(..self.count);
        let path = self.path(number);
        let spec = |spec: Value| json!({"spec": spec});
        let changed = match random.u8(..6) {
            0 => {
                let replicas = random.u8(1..4);
                self.api.patch(&path, &spec(json!({"workload": {"replicas": replicas}}))).await
            }
            1 => {
                let endpoint = format!("http://vllm-{}:8000", random.u8(..9));
                let change = json!({"providers": {"inference": {"endpoint": endpoint}}});
                self.api.patch(&path, &spec(change)).await
            }
            2 => {
                let cpu = format!("{}m", 200 + 10 * random.u16(..20));
                let change = json!({"workload": {"resources": {"requests": {"cpu": cpu}}}});
                self.api.patch(&path, &spec(change)).await
            }
            3 => {
                // As another client would.
                let deployment = format!(
                    "/apis/apps/v1/namespaces/{}/deployments/server-{number}",
                    self.namespace
                );
                self.api.patch(&deployment, &json!({"spec": {"replicas": 7}})).await
            }
            4 => {
                let service = format!(
                    "/api/v1/namespaces/{}/services/server-{number}-service",
                    self.namespace
                );
                self.api.delete_all(&service).await.map(|()| Value::Null)
            }
            _ => {
                // What it owned is still there when the next one of its name is.
                let deleted = self.api.delete_all(&path).await;
                let created = self.create(number).await;
                deleted.and(created).map(|()| Value::Null)
            }
        };
        drop(changed);
    }

    /// Returns when the fault has passed. Where it took the leader, changes go on while another one takes over.
    pub async fn suffer(&mut self, fault: Fault) -> anyhow::Result<()> {
        self.until_one_leads().await?;
        *self.suffered.entry(fault).or_default() += 1;
        match fault {
            Fault::ApiServerRestarts => self.cluster.restart_api_server().await?,
            Fault::ApiServerStalls => self.freeze_api_server(STALLS).await?,
            Fault::ApiServerHangs => self.freeze_api_server(HANGS).await?,
            Fault::LeaderHangs => {
                self.replicas[0].signal("STOP")?;
                tokio::time::sleep(LOSES_THE_LEASE).await;
                self.replicas[0].signal("CONT")?;
            }
            Fault::LeaderIsKilled => self.replicas.remove(0).kill(),
            Fault::LeaderLeaves => self.replicas.remove(0).stop()?,
        }
        if self.replicas.len() < 2 {
            self.stand_by()?;
        }
        Ok(())
    }

    async fn freeze_api_server(&self, time: Duration) -> anyhow::Result<()> {
        self.cluster.pause_api_server()?;
        tokio::time::sleep(time).await;
        self.cluster.resume_api_server()
    }

    /// What the leaders took of the machine.
    pub fn terms(&self) -> &Terms {
        &self.terms
    }

    pub fn faults(&self) -> String {
        let counts = self.suffered.iter().map(|(fault, count)| format!("{count} x {fault}"));
        counts.collect::<Vec<_>>().join(", ")
    }

    /// Every resource is Ready, each Deployment is as its resource says, and a restart finds nothing to write.
    pub async fn is_in_sync(&mut self) -> anyhow::Result<()> {
        self.until_one_leads().await?;
        self.settle().await?;
        self.replicas_agree().await?;
        let mark = self.cluster.audit().mark().await?;
        for replica in &mut self.replicas {
            replica.stop()?;
        }
        self.replicas = vec![Operator::start(&self.cluster, self.launch.clone()).await?];
        tokio::time::sleep(QUIET).await;
        let requests = self.cluster.audit().requests_of(&self.user).await?.since(mark);
        let writes = requests.except_leases().writes();
        println!("a restart at the end wrote {} objects", writes.len());
        ensure!(writes.is_empty(), "a restart wrote {:?}", writes.by_verb_and_resource());
        Ok(())
    }

    async fn settle(&self) -> anyhow::Result<()> {
        let begun = Instant::now();
        loop {
            // A resource that was deleted and could not be created again, because the API server was down.
            for number in 0..self.count {
                let _ = self.create(number).await;
            }
            let mark = self.cluster.audit().mark().await?;
            tokio::time::sleep(QUIET).await;
            let requests = self.cluster.audit().requests_of(&self.user).await?.since(mark);
            let writes = requests.except_leases().writes();
            let unready = self.unready().await?;
            if writes.is_empty() && unready.is_empty() {
                return Ok(());
            }
            ensure!(
                begun.elapsed() < SETTLES,
                "after {} s it still writes {:?}; not Ready: [{}]",
                SETTLES.as_secs(),
                writes.by_verb_and_resource(),
                unready.join(", ")
            );
        }
    }

    /// Names of resources that are missing or not Ready.
    async fn unready(&self) -> anyhow::Result<Vec<String>> {
        let list = self.api.list(&resources(VERSION, &self.namespace)).await?;
        let items = list["items"].as_array().context("a list")?;
        let is_ready = |wanted: &str| {
            let mut all = items.iter();
            all.any(|it| it["metadata"]["name"] == wanted && it["status"]["phase"] == "Ready")
        };
        let names = (0..self.count).map(|number| format!("server-{number}"));
        Ok(names.filter(|name| !is_ready(name)).collect())
    }

    /// What another hand wrote is undone, and what was deleted is there.
    async fn replicas_agree(&self) -> anyhow::Result<()> {
        for number in 0..self.count {
            let resource = self.api.list(&self.path(number)).await?;
            let wanted = resource["spec"]["workload"]["replicas"].as_i64().unwrap_or(1);
            let namespace = &self.namespace;
            let path = format!("/apis/apps/v1/namespaces/{namespace}/deployments/server-{number}");
            let deployment = self.api.list(&path).await?;
            let found = &deployment["spec"]["replicas"];
            ensure!(*found == wanted, "server-{number} has {found} replicas instead of {wanted}");
            let service =
                format!("/api/v1/namespaces/{namespace}/services/server-{number}-service");
            self.api.list(&service).await.with_context(|| format!("server-{number}'s Service"))?;
        }
        Ok(())
    }
}
