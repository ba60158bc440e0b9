//! How a server is reached from outside the cluster: the decision, and the object for each way.

mod check;
mod decision;
mod http_route;
mod ingress;
mod route;
mod timeouts;
mod withheld;

pub use check::CATCH_ALL;
pub(super) use check::check;
pub(super) use decision::{Via, exposure};
pub(super) use http_route::http_route;
pub(super) use ingress::ingress;
pub(super) use route::route;
pub use timeouts::REQUEST_TIMEOUT;
pub(super) use withheld::withheld;
