//! Prepares the programs of a control plane ahead of the tests, or runs one for a developer.

use std::process::ExitCode;

use anyhow::{Context, bail};
use llsd_testkit::{Binary, ControlPlane, Kubernetes, PodState, locate};

const USAGE: &str = "\
usage: control-plane fetch [--kubernetes 1.36]   find, download or build the programs
       control-plane run   [--kubernetes 1.36]   run one until Ctrl-C; pods become ready";

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("control-plane: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &[String]) -> anyhow::Result<()> {
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let (command, kubernetes) = match arguments[..] {
        [command] => (command, Kubernetes::from_env()?),
        [command, "--kubernetes", minor] => (command, minor.parse()?),
        _ => bail!("{USAGE}"),
    };
    match command {
        "fetch" => fetch(kubernetes),
        "run" => tokio::runtime::Runtime::new()?.block_on(serve(kubernetes)),
        _ => bail!("{USAGE}"),
    }
}

fn fetch(kubernetes: Kubernetes) -> anyhow::Result<()> {
    for binary in Binary::ALL {
        println!("{}", locate(binary, kubernetes)?.display());
    }
    Ok(())
}

async fn serve(kubernetes: Kubernetes) -> anyhow::Result<()> {
    let cluster =
        ControlPlane::builder().kubernetes(kubernetes).with_controller_manager().start().await?;
    let _kubelet = cluster.kubelet(|_| PodState::Ready).await?;
    println!("Kubernetes {kubernetes} at {}", cluster.url());
    println!("logs and certificates in {}", cluster.dir().display());
    println!("export KUBECONFIG={}", cluster.kubeconfig_path().display());
    println!("Ctrl-C ends it and removes everything.");
    tokio::signal::ctrl_c().await.context("cannot wait for Ctrl-C")
}
