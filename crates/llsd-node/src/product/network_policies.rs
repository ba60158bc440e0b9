//! What enforces NetworkPolicies on the first machine: a bridge between pods enforces none.

use llsd_testkit::debian_program;

use super::on_node::Product;
use crate::addresses::MachineNumber;
use crate::programs::go;
use crate::running_program::ProgramSettings;

const NAME: &str = "azure-npm";

impl Product {
    /// Has them enforced from now on, by Azure's network policy manager.
    pub async fn enforce_network_policies(&mut self) -> anyhow::Result<()> {
        let located = tokio::task::spawn_blocking(|| {
            debian_program("ipset", "ipset")?;
            go(NAME, NAME, ".").locate()
        });
        let program = located.await??;
        let kubeconfig = self.node.kubeconfig().display().to_string();
        self.node.workers[0].run(ProgramSettings {
            name: NAME,
            program,
            args: vec![kubeconfig, MachineNumber::FIRST.name()],
            path: self.node.programs.path(),
            logs: self.node.logs.clone(),
        })
    }
}
