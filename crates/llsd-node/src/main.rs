//! A real Kubernetes node for a developer: `make node`, `make node-shell`, `make node-status` and
//! `make node-stop`.

use std::{
    os::unix::process::CommandExt,
    process::{Command, ExitCode},
    time::Duration,
};

use anyhow::{Context, bail};
use llsd_node::{
    FoundNode, Node, NodeOptions, PRIVATE_REGISTRY, PULLER, REGISTRY, clear_away_leftovers, fetch,
    missing, running_nodes,
};
use tokio::signal::unix::{SignalKind, signal};

const USAGE: &str = "\
usage: node run [NODES [LOGS]]       a cluster of NODES (1) machines until Ctrl-C; with LOGS, a folder that keeps its logs
       node shell [NODE [COMMAND…]]  a shell or a command in a machine (node-1) of the cluster that runs
       node status                   what runs, or what is missing
       node stop                     ends what runs, and clears away what was left behind
       node fetch                    finds or builds all programs ahead";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match command(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("node: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn command(arguments: &[&str]) -> anyhow::Result<()> {
    match arguments {
        ["run", further @ ..] if further.len() <= 2 => {
            let mut options = NodeOptions::default();
            if let Some(count) = further.first() {
                options = options.machines(count.parse().context("NODES is not a number")?);
            }
            if let Some(logs) = further.get(1) {
                options = options.logs(logs);
            }
            tokio::runtime::Runtime::new()?.block_on(run(options))
        }
        ["shell", further @ ..] => shell(further),
        ["status"] => status(),
        ["stop"] => stop(),
        ["fetch"] => {
            println!("{}", fetch()?);
            Ok(())
        }
        _ => bail!("{USAGE}"),
    }
}

async fn run(options: NodeOptions) -> anyhow::Result<()> {
    let mut ends = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()]
        .map(|kind| signal(kind).expect("a signal can be waited for"));
    let [interrupt, terminate, hangup] = &mut ends;
    let ended = async {
        tokio::select! { _ = interrupt.recv() => {}, _ = terminate.recv() => {}, _ = hangup.recv() => {} }
    };
    tokio::pin!(ended);
    let mut node = tokio::select! {
        () = &mut ended => return Ok(()),
        node = Node::start(options) => node?,
    };
    greet(&node);
    let stopped_outside = async {
        while !node.has_ended() {
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
    };
    tokio::select! {
        () = &mut ended => eprintln!("node: stopping"),
        () = stopped_outside => eprintln!("node: stopped from outside"),
    }
    node.stop()
}

fn greet(node: &Node) {
    let (user, password) = PULLER;
    println!("export KUBECONFIG={}", node.kubeconfig().display());
    println!("  works in this shell and in that of the node, `make node-shell`");
    println!("images: push to {} (plain HTTP), name them {REGISTRY}/… in pods,", node.registry());
    println!("  or {PRIVATE_REGISTRY}/… with the password of {user}, {password}");
    println!("logs in {}", node.logs().display());
    println!("Ctrl-C or `make node-stop` ends it and removes everything.");
}

fn shell(arguments: &[&str]) -> anyhow::Result<()> {
    let found = running()?;
    let (name, words) = match arguments {
        [] => ("node-1", &["bash", "--norc"][..]),
        [name] => (*name, &["bash", "--norc"][..]),
        [name, words @ ..] => (*name, words),
    };
    let machine = found.record.machines.iter().find(|machine| machine.name == name);
    let machine = machine.with_context(|| format!("there is no {name}"))?;
    let mut command: Command = found.record.command(machine, words[0]);
    command.args(&words[1..]).env("PS1", format!("{name}:\\w# "));
    // Returns only if the program could not be run.
    Err(command.exec().into())
}

fn running() -> anyhow::Result<FoundNode> {
    let mut found = running_nodes()?;
    found.sort_by_key(|node| std::cmp::Reverse(node.record.started_by));
    found.into_iter().next().context("no node runs here: `make node` starts one")
}

fn status() -> anyhow::Result<()> {
    let found = running_nodes()?;
    if found.is_empty() {
        match missing() {
            Some(missing) => bail!("{missing}"),
            None => println!("no node runs here: `make node` starts one"),
        }
    }
    for node in found {
        let record = &node.record;
        println!("{}, started by process {}", node.folder.display(), record.started_by);
        println!("  export KUBECONFIG={}", record.kubeconfig.display());
        println!("  registry {}, logs {}", record.registry, record.logs.display());
        let Some(first) = record.machines.first() else { continue };
        for what in [&["nodes", "--output=wide"][..], &["pods", "--all-namespaces"]] {
            record.command(first, "kubectl").arg("get").args(what).status()?;
        }
    }
    Ok(())
}

fn stop() -> anyhow::Result<()> {
    for node in running_nodes()? {
        node.stop()?;
        println!("stopped {}", node.folder.display());
    }
    for folder in clear_away_leftovers()? {
        println!("cleared away {}", folder.display());
    }
    Ok(())
}
