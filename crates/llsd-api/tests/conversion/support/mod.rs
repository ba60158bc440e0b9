//! Generated objects of both versions, and the laws that conversion keeps on all of them.

pub(crate) mod api_server;
pub(crate) mod generate;
pub(crate) mod laws;
pub(crate) mod random;
pub(crate) mod shapes;
