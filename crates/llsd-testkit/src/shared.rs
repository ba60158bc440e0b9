//! One control plane for all tests of a file: each test then costs a namespace instead of seconds
//! and hundreds of megabytes.

use tokio::sync::OnceCell;

use crate::{
    builder::Builder,
    control_plane::ControlPlane,
    skip::{Unobtainable, skip},
};

/// Started by the first test that asks, and kept in a static. Statics are never dropped; the
/// watchdog clears away when the test process ends.
///
/// ```no_run
/// use llsd_testkit::{ControlPlane, SharedControlPlane};
///
/// static CLUSTER: SharedControlPlane =
///     SharedControlPlane::new(|| ControlPlane::builder().with_controller_manager());
///
/// # async fn test() {
/// let Some(cluster) = CLUSTER.get_or_skip().await else {
///     return;
/// };
/// let namespace = cluster.namespace("a-name").await.unwrap();
/// # }
/// ```
#[derive(Debug)]
pub struct SharedControlPlane {
    builder: fn() -> Builder,
    started: OnceCell<Result<ControlPlane, Unobtainable>>,
}

impl SharedControlPlane {
    pub const fn new(builder: fn() -> Builder) -> Self {
        Self { builder, started: OnceCell::const_new() }
    }

    /// As [`Builder::start_or_skip`], for the one that all tests share. Every test that goes
    /// without it is reported by name.
    pub async fn get_or_skip(&self) -> Option<&ControlPlane> {
        let start = async || match (self.builder)().start().await {
            Ok(control_plane) => Ok(control_plane),
            Err(error) => match error.downcast::<Unobtainable>() {
                Ok(why) => Err(why),
                Err(error) => panic!("the control plane did not start: {error:#}"),
            },
        };
        match self.started.get_or_init(start).await {
            Ok(control_plane) => Some(control_plane),
            Err(why) => {
                skip(&why.to_string());
                None
            }
        }
    }
}
