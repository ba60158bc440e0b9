//! What operator v0.9 leaves behind: its definition of the resource, its objects, and a cluster in
//! which it worked.

pub mod definition;
pub mod installation;
pub mod stage;
