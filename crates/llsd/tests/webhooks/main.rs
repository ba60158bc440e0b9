//! Both versions served: conversion, admission, certificates, the upgrade from v0.9.

mod admission_answers;
mod both_versions_applied;
mod both_versions_served;
mod registration;
mod server;
mod storage_migration;
mod upgrade_from_v0_9;
mod versioned;
mod webhook_certificates;
mod webhook_files;
mod webhook_outage;
mod webhook_registration;
mod webhook_replicas;
mod webhook_server;
