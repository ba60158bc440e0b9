//! The network between machines: a bridge in the first one, to which each is connected by a pair of
//! devices, and the routes to each other's pods.

use std::fmt::Write;

use anyhow::Context;

use super::machine::Machine;
use crate::addresses::MachineNumber;

const BRIDGE: &str = "machines";
/// The device that carries a machine's address.
const DEVICE: &str = "eth0";

/// Makes the bridge in the first machine and connects the machine itself to it.
pub(crate) fn connect(first: &Machine) -> anyhow::Result<()> {
    let port = port(first.number);
    let mut batch = format!(
        "link add name {BRIDGE} type bridge\n\
         link set dev {BRIDGE} up\n\
         link add name {DEVICE} type veth peer name {port}\n\
         link set dev {port} master {BRIDGE} up\n"
    );
    batch += &own_address(first.number);
    // Addresses of Services are translated on their way out, so there has to be a way out.
    writeln!(batch, "route add default dev {DEVICE}")?;
    ip(first, &batch)
}

/// Connects one more machine to the bridge, with routes between its pods and those of the machines that
/// run, the first of which has the bridge.
pub(crate) fn join(new: &Machine, running: &[&Machine]) -> anyhow::Result<()> {
    let Some(first) = running.first() else { return Ok(()) };
    let port = port(new.number);
    let namespace = number_inside(first, new)?;
    let at_the_bridge = format!(
        "link add name {port} type veth peer name {DEVICE} netns /proc/{namespace}/ns/net\n\
         link set dev {port} master {BRIDGE} up\n"
    );
    ip(first, &at_the_bridge)?;
    let mut in_the_machine = own_address(new.number);
    writeln!(in_the_machine, "route add default via {}", first.number.address())?;
    for other in running {
        in_the_machine += &route_to_pods(other.number);
        ip(other, &route_to_pods(new.number))?;
    }
    ip(new, &in_the_machine)
}

/// The new machine's first process as the first machine numbers it.
fn number_inside(first: &Machine, new: &Machine) -> anyhow::Result<String> {
    let depth = numbers(first.first_process)?.len();
    let mut numbers = numbers(new.first_process)?.into_iter();
    numbers.nth(depth - 1).context("the new machine is not inside the first one")
}

/// The numbers of a process, from the outermost namespace to its own.
fn numbers(process: u32) -> anyhow::Result<Vec<String>> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let line = line.context("the kernel does not say the numbers of processes")?;
    Ok(line.split_whitespace().map(str::to_owned).collect())
}

fn own_address(machine: MachineNumber) -> String {
    format!("addr add {}/24 dev {DEVICE}\nlink set dev {DEVICE} up\n", machine.address())
}

fn route_to_pods(of: MachineNumber) -> String {
    format!("route replace {} via {}\n", of.pods(), of.address())
}

fn port(machine: MachineNumber) -> String {
    format!("port-{}", machine.0)
}

fn ip(machine: &Machine, batch: &str) -> anyhow::Result<()> {
    machine.run("ip", &["-batch", "-"], batch).map(drop)
}
