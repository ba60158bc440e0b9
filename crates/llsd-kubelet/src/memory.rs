//! The memory limit of a container. The memory of its processes is added up repeatedly, and too much ends it. For a
//! container with a cgroup of its own the kernel does this at once.

use std::{fs, future::pending, path::Path, time::Duration};

use k8s_openapi::api::core::v1::Container;
use llsd_plan::values::quantity;
use tokio::time::sleep;

use crate::process::first_process;

const LOOK: Duration = Duration::from_millis(250);

/// Returns once the processes of a container hold more than its limit; never without one.
pub(crate) async fn exceeded(container: &Container, pid_file: &Path) {
    let Some(limit) = limit(container) else { return pending().await };
    while held(pid_file) <= limit {
        sleep(LOOK).await;
    }
}

/// In bytes.
fn limit(container: &Container) -> Option<u64> {
    let limits = container.resources.as_ref()?.limits.as_ref()?;
    let nanos = quantity::nanos(&limits.get("memory")?.0)?;
    u64::try_from(nanos / 1_000_000_000).ok()
}

/// Bytes that are not in files, of all processes in the process namespace of the container's first one.
fn held(pid_file: &Path) -> u64 {
    let namespace = |process: &Path| fs::read_link(process.join("ns/pid")).ok();
    let first = first_process(pid_file).map(|first| Path::new("/proc").join(first.to_string()));
    let Some(own) = first.and_then(|first| namespace(&first)) else { return 0 };
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.map(|entry| entry.path());
    let processes = processes.filter(|process| namespace(process).as_ref() == Some(&own));
    processes.map(|process| resident(&process)).sum()
}

fn resident(process: &Path) -> u64 {
    let status = fs::read_to_string(process.join("status")).unwrap_or_default();
    let kilobytes = |line: &str| {
        let value = line.strip_prefix("RssAnon:").or_else(|| line.strip_prefix("RssShmem:"))?;
        value.trim().trim_end_matches(" kB").parse::<u64>().ok()
    };
    status.lines().filter_map(kilobytes).sum::<u64>() * 1024
}
