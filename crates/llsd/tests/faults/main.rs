//! Faults that clusters really have, each beside a healthy resource in another namespace: one bad part
//! never stops the rest, and the status says what is wrong.

mod change;
mod configuration;
mod permissions;
mod registries;
mod servers;
mod upstream_suite;
mod watches;
mod webhooks;
