//! How a node comes up: what it needs is tried, programs are found or built, and nothing is handed out
//! before pods can run.

use std::{fs, time::Instant};

use http::Request;
use k8s_openapi::api::{core::v1::Service, discovery::v1::EndpointSlice};
use kube::{Api, Client, api::PostParams};
use llsd_testkit::{
    Pki, Unobtainable, announce, free_port, install_crypto_provider, started_or_skipped,
};

use crate::{
    addresses::MachineNumber,
    configuration::{MachineFiles, dns_objects, hosts},
    control_plane::{API_SOCKET, ControlPlaneParts, REGISTRY_SOCKET},
    found::clear_away_leftovers,
    images, kubeconfig,
    missing::missing,
    namespaces::{self, Machine, MachineSettings},
    node::Node,
    options::NodeOptions,
    programs::{Programs, SUBJECT},
    readiness::{containerd_answers, node_is_ready, pods_may_be_created, wait},
    relay::Relay,
    state::StateFolder,
    worker::{Part, Worker},
};

/// Finds or builds all programs ahead of the first start, and gives the folders they are in.
pub fn fetch() -> Result<String, Unobtainable> {
    Programs::locate().map(|programs| programs.path())
}

impl Node {
    /// As [`start`](Self::start), but `None`, said loudly, where a node cannot run.
    pub async fn start_or_skip(options: NodeOptions) -> Option<Self> {
        started_or_skipped(Self::start(options).await)
    }

    /// Starts a node: seconds with all programs in the cache, a quarter of an hour without.
    pub async fn start(options: NodeOptions) -> anyhow::Result<Self> {
        install_crypto_provider();
        if let Some(missing) = missing() {
            return Err(missing.into());
        }
        let programs = tokio::task::spawn_blocking(Programs::locate).await??;
        clear_away_leftovers()?;
        let started = Instant::now();
        let count = options.machines;
        let mut node = Self::first_machine(programs, options)?;
        node.bring_up().await?;
        for number in 2..=count {
            node.power_on(MachineNumber(number)).await?;
        }
        say(&format!("ready after {} s", started.elapsed().as_secs()));
        Ok(node)
    }

    /// The namespaces of the first machine, its network and its files; no program yet.
    fn first_machine(programs: Programs, options: NodeOptions) -> anyhow::Result<Self> {
        let state = StateFolder::new_name();
        say(&format!("namespaces; everything is in {}", state.path().display()));
        let (number, hosts) = (MachineNumber::FIRST, hosts());
        let machine = Machine::first(&MachineSettings { number, state: &state, hosts: &hosts })?;
        namespaces::connect(&machine)?;
        let logs = options.logs.clone().unwrap_or_else(|| state.logs());
        fs::create_dir_all(&logs)?;
        let node = Self {
            relays: Vec::new(),
            workers: vec![Worker::new(machine)],
            programs,
            pki: Pki::create(state.pki())?,
            options,
            logs,
            port: free_port()?,
            registry_port: free_port()?,
            state,
        };
        // The port is the same inside and outside, so one file serves both.
        let server = format!("https://127.0.0.1:{}", node.port);
        kubeconfig::write(&node.kubeconfig(), &server, &node.pki, "admin", &["system:masters"])?;
        node.write_record()?;
        Ok(node)
    }

    async fn bring_up(&mut self) -> anyhow::Result<()> {
        say("etcd, API server and registries");
        let (parts, worker) = self.control_plane();
        parts.start_servers(worker)?;
        let relays = [(self.port, API_SOCKET), (self.registry_port, REGISTRY_SOCKET)];
        for (port, socket) in relays {
            self.relays.push(Relay::listen(port, self.state.file(socket))?);
        }
        let client = self.client().await?;
        wait("the API server", &mut self.workers, async || api_server_is_ready(&client).await)
            .await?;
        let pause = images::program("pause", &self.programs.pause)?;
        let (repository, tag) = images::PAUSE.split_once(':').unwrap_or((images::PAUSE, "1"));
        // The registry started long before the API server was ready.
        self.push(repository, tag, &pause).await?;
        say("controllers, scheduler, DNS, containerd, kubelet, kube-proxy");
        let (parts, worker) = self.control_plane();
        parts.start_controllers(worker)?;
        self.start_worker().await?;
        create_dns(&client, &mut self.workers).await?;
        self.machine_is_ready(&client, MachineNumber::FIRST).await
    }

    /// What the control plane is made of, and where it runs.
    fn control_plane(&mut self) -> (ControlPlaneParts<'_>, &mut Worker) {
        let parts = ControlPlaneParts {
            state: &self.state,
            programs: &self.programs,
            pki: &self.pki,
            options: &self.options,
            logs: &self.logs,
            port: self.port,
        };
        (parts, &mut self.workers[0])
    }

    /// Starts one more machine, or one again that was switched off.
    pub async fn power_on(&mut self, number: MachineNumber) -> anyhow::Result<()> {
        say(&format!("{}: namespaces, containerd, kubelet, kube-proxy", number.name()));
        let (state, hosts) = (&self.state, hosts());
        let settings = MachineSettings { number, state, hosts: &hosts };
        let first = &self.workers[0].machine;
        let machine = Machine::beside(first, &settings)?;
        namespaces::join(first, &machine)?;
        self.workers.push(Worker::new(machine));
        self.start_worker().await?;
        self.write_record()?;
        let client = self.client().await?;
        self.machine_is_ready(&client, number).await
    }

    /// Starts a program again that was stopped.
    pub async fn start_part(&mut self, machine: MachineNumber, part: Part) -> anyhow::Result<()> {
        let at = self.position(machine)?;
        let worker = &mut self.workers[at];
        worker.start_part(part)?;
        if part == Part::Containerd {
            containerd_answers(worker, &self.programs).await?;
        }
        Ok(())
    }

    /// Starts what runs on every machine, on the one that came last.
    async fn start_worker(&mut self) -> anyhow::Result<()> {
        let server = format!("https://{}:{}", MachineNumber::FIRST.address(), self.port);
        let Self { workers, programs, pki, logs, .. } = self;
        let Some((worker, _)) = workers.split_last_mut() else { return Ok(()) };
        let (number, folder) = (worker.machine.number, worker.machine.folder.clone());
        let files = MachineFiles { number, folder: &folder, programs, pki, server: &server };
        files.write()?;
        worker.start(Part::Containerd, &files, logs)?;
        containerd_answers(worker, programs).await?;
        worker.start(Part::Kubelet, &files, logs)?;
        worker.start(Part::KubeProxy, &files, logs)
    }

    async fn machine_is_ready(
        &mut self,
        client: &Client,
        number: MachineNumber,
    ) -> anyhow::Result<()> {
        let name = number.name();
        let answers = async || {
            node_is_ready(client, &name).await?;
            pods_may_be_created(client).await
        };
        wait(&name, &mut self.workers, answers).await
    }
}

/// By its own word, which it gives when the roles of the control plane are there.
async fn api_server_is_ready(client: &Client) -> anyhow::Result<()> {
    client.request_text(Request::get("/readyz").body(Vec::new())?).await?;
    // kube-system is made a moment after the server is ready, and DNS goes there.
    let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(client.clone());
    namespaces.get("kube-system").await?;
    Ok(())
}

async fn create_dns(client: &Client, workers: &mut [Worker]) -> anyhow::Result<()> {
    let [service, endpoints] = dns_objects();
    let service: Service = serde_json::from_value(service)?;
    let endpoints: EndpointSlice = serde_json::from_value(endpoints)?;
    let parameters = PostParams::default();
    let services: Api<Service> = Api::namespaced(client.clone(), "kube-system");
    let slices: Api<EndpointSlice> = Api::namespaced(client.clone(), "kube-system");
    // The allocator of addresses comes up after the server.
    wait("DNS", workers, async || Ok(services.create(&parameters, &service).await.map(drop)?))
        .await?;
    slices.create(&parameters, &endpoints).await?;
    Ok(())
}

fn say(line: &str) {
    announce(SUBJECT, line);
}
