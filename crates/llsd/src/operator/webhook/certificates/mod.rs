//! The certificates that the webhooks are served with. The operator makes them itself, or they come
//! as files from somebody else; how they reach the API server as `caBundle` is in `install`.
//!
//! # How they change without a failing call
//!
//! One Secret of the operator's namespace holds all: the authority that signs, the one that will
//! sign *next*, *previous* ones that are still trusted, and the certificate that is served. All
//! replicas read it every [`Times::poll`]. It is written under optimistic concurrency, so that of
//! several writers the first wins and the others read. The `caBundle` is always the certificates of
//! all authorities in it.
//!
//! - **At start** any replica makes what is missing, broken or expired, because webhooks are served
//!   before anybody leads. Everything below is done by the leader alone.
//! - **A new certificate** of the same authority is trusted already: it is written at two thirds of
//!   the old one's life, and each replica takes it when it sees it.
//! - **A new authority** goes in three steps. At two thirds of the old one's life the leader adds
//!   it as *next*, and so to the `caBundle`. Once both registrations were seen with it, and
//!   [`Times::settle`] has passed for the API servers to take notice, *next* signs: one write makes
//!   it the authority, the old one *previous* (its key is gone), and holds a new certificate.
//!   [`Times::retire`] after that, when every replica has read the Secret a hundred times, the
//!   previous one leaves the Secret and the `caBundle`.
//! - **A lost or broken Secret** is made again, and then there was no *next*. So a replica that serves
//!   goes on with what it has until it has seen the new authority for [`Times::settle`]: time
//!   enough for the leader to add it to the `caBundle`. The leader puts the authority that it still
//!   serves under back among the previous ones, so that nobody's certificate is distrusted
//!   meanwhile.
//!
//! No step depends on what a leader remembers: a new one waits once more at worst.

mod certificate;
mod decide;
mod files;
mod keep;
mod make;
mod material;
mod secret;
mod served;

use std::time::Duration;

pub use certificate::{Authority, Leaf, Trusted, all_trusted, signed_by};
pub use decide::{Replica, Standing, Step, decide};
pub use files::Files;
pub use keep::{Bundle, CertificateKeeper, Confirmed};
pub use material::Material;
pub use served::{Served, server_config};

/// How long a certificate of our own lives unless somebody says otherwise.
pub const LEAF_LIFETIME: Duration = Duration::from_hours(90 * 24);
/// How long an authority of our own lives unless somebody says otherwise.
pub const AUTHORITY_LIFETIME: Duration = Duration::from_hours(365 * 24);

/// When something is done. All follow from the two lifetimes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Times {
    pub leaf: Duration,
    pub authority: Duration,
    /// How often the Secret is read.
    pub poll: Duration,
    /// How long an authority is trusted before anything is served that it signed.
    pub settle: Duration,
    /// How long an authority is still trusted after the last certificate of it was replaced.
    pub retire: Duration,
}

impl Times {
    /// Shorter lives make everything quicker. An authority lives longer than what it signs.
    pub fn new(leaf: Duration, authority: Duration) -> Self {
        Self {
            leaf,
            authority: authority.max(leaf),
            poll: (leaf / 50).min(Duration::from_secs(30)),
            settle: (leaf / 10).min(Duration::from_secs(90)),
            retire: (leaf / 3).min(Duration::from_hours(1)),
        }
    }
}

impl Default for Times {
    fn default() -> Self {
        Self::new(LEAF_LIFETIME, AUTHORITY_LIFETIME)
    }
}
