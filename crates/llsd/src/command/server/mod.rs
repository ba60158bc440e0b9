//! Commands about one server in a cluster: `llsd status`, `llsd history`, `llsd rollback`, `llsd logs`,
//! `llsd restart`, `llsd refresh`.

mod follow;
pub(super) mod history;
pub(super) mod logs;
pub(super) mod restart;
pub(super) mod rollback;
mod screen;
mod seen;
mod states;
pub(super) mod status;
