//! A real node is started, used, killed and looked behind. Each test takes half a minute and a good part of
//! the machine, so they run only where `LLSD_TEST_NODE` is set, as `make node-test` does.

mod footprint;
mod left_behind;
mod machines;
mod pods;
mod workload;
