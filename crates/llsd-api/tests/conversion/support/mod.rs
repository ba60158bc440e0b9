//! Generated objects of both versions and the laws that conversion keeps on all of them, for the
//! tests and for the long run in `examples/conversion_round_trips.rs`.

pub(crate) mod api_server;
pub(crate) mod generate;
pub(crate) mod laws;
pub(crate) mod random;
pub(crate) mod shapes;
