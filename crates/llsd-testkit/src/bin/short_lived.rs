//! A process that shares a control plane among its threads and then waits to be killed, or ends by
//! itself. The tests run it to see that nothing is left in either case.
//!
//! Usage: `short_lived waits|ends FILE`; it writes to FILE what it started.

use std::path::PathBuf;
use std::time::Duration;

use llsd_testkit::{ControlPlane, SharedControlPlane};
use serde_json::json;

static SHARED: SharedControlPlane = SharedControlPlane::new(ControlPlane::builder);

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let how_it_ends = arguments.next().expect("waits or ends");
    let file = PathBuf::from(arguments.next().expect("a file to write to"));
    let Some(cluster) = SHARED.get_or_skip().await else { return };
    let said = json!({ "ids": cluster.process_ids(), "dir": cluster.dir() });
    let half_written = file.with_extension("part");
    std::fs::write(&half_written, said.to_string()).unwrap();
    std::fs::rename(&half_written, file).unwrap();
    if how_it_ends == "waits" {
        tokio::time::sleep(Duration::from_mins(1)).await;
    }
}
