//! What tests of the operator share. Programs that use it also declare `mod cluster;`.
#![allow(dead_code, reason = "each test program uses its own part")]

pub mod access;
pub mod authority;
pub mod bed;
pub mod definitions;
pub mod everything;
pub mod gate;
pub mod install;
pub mod replica;
pub mod rights;
pub mod stub_server;
pub mod webhooks;
