//! The one binary of the product, as a library: the command line, what it reads and what it prints.

pub mod command;
pub mod controller;
pub mod health;
pub mod input;
pub mod leadership;
pub mod manifests;
pub mod operator_config;
pub mod redis_proxy;
pub mod report;
pub mod shutdown;
pub mod storage_migration;
pub mod telemetry;
pub mod webhook;
