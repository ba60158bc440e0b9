//! `make test-node`: what the documentation promises, on a real node with the released image. Each test starts a node
//! and takes minutes and the whole machine, so they run only where `LLSD_TEST_NODE` is set. Each promise that is kept
//! prints a line of the table in docs/real-node.md.

mod access;
mod autoscaling;
mod exposure;
mod extensions;
mod full_disks;
mod installing;
mod machines;
mod ogx;
mod one_server;
mod operator_upgrade;
mod pods;
mod provider_image;
mod rollback;
mod sample;
mod sample_needs;
mod samples;
mod scene;
mod stores;
mod streams;
mod takeover;
