//! The network between machines: each further one is connected to the first by a pair of devices, and the
//! first passes on what they send each other. A bridge in the first machine was tried: its packets pass the
//! rules for Services there a second time, and those to other machines are lost.

use std::fmt::Write;

use anyhow::Context;

use super::machine::Machine;
use crate::addresses::MachineNumber;

/// The device that carries a machine's address.
const DEVICE: &str = "eth0";

/// The address of the first machine.
pub(crate) fn connect(first: &Machine) -> anyhow::Result<()> {
    let mut batch = format!("link add name {DEVICE} type veth peer name outside\n");
    writeln!(batch, "link set dev outside up")?;
    batch += &own_address(first.number);
    // Addresses of Services are translated on their way out, so there has to be a way out.
    writeln!(batch, "route add default dev {DEVICE}")?;
    ip(first, &batch)
}

/// Connects one more machine to the first one.
pub(crate) fn join(first: &Machine, new: &Machine) -> anyhow::Result<()> {
    let (name, address) = (new.number.name(), new.number.address());
    let (here, namespace) = (first.number.address(), number_inside(first, new)?);
    let mut in_the_first = format!(
        "link add name {name} type veth peer name {DEVICE} netns /proc/{namespace}/ns/net\n\
         link set dev {name} up\n"
    );
    writeln!(in_the_first, "route add {address}/32 dev {name} src {here}")?;
    writeln!(in_the_first, "route add {} via {address} src {here}", new.number.pods())?;
    ip(first, &in_the_first)?;
    let mut in_the_new = own_address(new.number);
    writeln!(in_the_new, "route add {here}/32 dev {DEVICE} src {address}")?;
    writeln!(in_the_new, "route add default via {here} src {address}")?;
    ip(new, &in_the_new)
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
    format!("addr add {}/32 dev {DEVICE}\nlink set dev {DEVICE} up\n", machine.address())
}

fn ip(machine: &Machine, batch: &str) -> anyhow::Result<()> {
    machine.run("ip", &["-batch", "-"], batch).map(drop)
}
