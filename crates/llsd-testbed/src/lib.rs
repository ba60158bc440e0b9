//! For tests only: the operator at work on a control plane of [`llsd_testkit`], and what the tests
//! of the program `llsd` share.
//!
//! | module | what it gives |
//! |---|---|
//! | [`test_operator`] | a control plane, pods that become ready, and the operator |
//! | [`namespace`] | making, reading and awaiting objects in one namespace |
//! | [`operator`] | the operator as a process, alone or as one of several replicas |
//! | [`cluster`], [`install`] | the install files on a control plane, without the operator |
//! | [`cluster_pool`] | the same for one test after the other |
//! | [`webhooks`] | operators that serve webhooks, and calls through both versions |
//! | [`webhook_client`] | the certificate by which webhooks know the API server |
//! | [`v0_9`] | what operator v0.9 leaves behind |
//! | [`gate`], [`relay`] | ways to the API server and to servers that a test can shut |
//! | [`stub_server`], [`registry`], [`authority`] | what stands in for servers, registries and authorities |
//! | [`blackhole_server`] | an address that accepts connections and never answers |
//! | [`story`], [`everything`], [`running`] | resources, and what runs for them |
//! | [`neighbour`] | somebody else's resource, which a fault must not delay |
//! | [`access`], [`rights`], [`granted`], [`definitions`] | what users may do, and the kinds of other projects |

pub mod access;
pub mod authority;
pub mod blackhole_server;
pub mod cluster;
pub mod cluster_pool;
pub mod definitions;
pub mod everything;
pub mod gate;
pub mod granted;
pub mod install;
pub mod namespace;
pub mod neighbour;
pub mod operator;
pub mod registry;
pub mod relay;
pub mod rights;
pub mod running;
pub mod story;
pub mod stub_server;
pub mod test_operator;
pub mod v0_9;
pub mod webhook_client;
pub mod webhooks;
