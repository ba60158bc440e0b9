//! Running servers: when each is asked how it is, how, and what it answered last.

mod answers;
mod pinned_certificate;
mod probe;

pub use answers::{LastAnswer, Servers, Target};
pub use probe::ServerProbe;
