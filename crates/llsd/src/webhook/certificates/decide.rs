//! What to do about the certificates, purely: from the time, what the Secret holds, and who asks.
//! The protocol that these steps make up is told in the module above.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};

use super::Times;
use super::material::{Authority, Found, Leaf, Trusted};

/// Certificates begin so long before they are made, for clocks that are behind.
pub(super) const BACKDATED: Duration = Duration::from_mins(5);

/// Who asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// A replica that serves nothing yet.
    Starting,
    /// One that serves, and leaves the Secret to the leader.
    Following,
    Leading {
        /// Whether the API servers have trusted all authorities of the Secret for long enough.
        settled: bool,
    },
}

/// What the replica that asks knows of itself.
#[derive(Clone, Copy, Debug)]
pub struct Own<'a> {
    pub standing: Standing,
    /// The authority of what it serves.
    pub serving: Option<&'a Trusted>,
    /// What it is called by.
    pub names: &'a BTreeSet<String>,
}

/// What to write into the Secret, if anything.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    Keep,
    /// Everything, with what is served now among the previous ones.
    MakeAnew,
    /// A certificate of the authority that is there.
    MakeLeaf,
    /// An authority that will sign.
    PrepareNext,
    /// The next authority signs from now on.
    HandOver,
    /// What is served now was forgotten, and is trusted again.
    TrustServed,
    /// The previous authorities are no longer trusted.
    Retire,
    /// What cannot be understood goes.
    Tidy,
}

pub fn decide(now: Timestamp, found: &Found, own: &Own<'_>, times: &Times) -> Step {
    if own.standing == Standing::Following {
        return Step::Keep;
    }
    let Some(authority) = found.authority.as_ref().filter(|authority| now < authority.until())
    else {
        return Step::MakeAnew;
    };
    let leaf = found.leaf.as_ref();
    let Some(leaf) = leaf.filter(|leaf| now < leaf.until && own.names.is_subset(&leaf.names))
    else {
        return Step::MakeLeaf;
    };
    let Standing::Leading { settled } = own.standing else { return Step::Keep };
    let is_served = |trusted: &Trusted| own.serving.is_some_and(|serving| serving == trusted);
    if own.serving.is_some_and(|serving| now < serving.until) && !found.trusted().any(is_served) {
        return Step::TrustServed;
    }
    if !found.flaws.is_empty() {
        return Step::Tidy;
    }
    if is_due(now, leaf.from, leaf.until) {
        return Step::MakeLeaf;
    }
    match found.next.as_ref().filter(|next| now < next.until()) {
        Some(_) if settled => return Step::HandOver,
        None if is_due(now, authority.trusted.from, authority.until()) => return Step::PrepareNext,
        _ => {}
    }
    let retired = now >= made(leaf.from) + signed(times.retire);
    if retired && !found.previous.is_empty() && !found.previous.iter().any(is_served) {
        return Step::Retire;
    }
    Step::Keep
}

/// Whether what a replica found may take the place of what it serves: at once if the API server
/// trusts it already, else when its authority has been `seen_for` long enough.
pub fn may_serve(
    now: Timestamp,
    serving: Option<(&Leaf, &Trusted)>,
    authority: &Authority,
    seen_for: Duration,
    times: &Times,
) -> bool {
    match serving {
        None => true,
        Some((leaf, _)) if now >= leaf.until => true,
        Some((_, trusted)) => *trusted == authority.trusted || seen_for >= times.settle,
    }
}

impl Authority {
    fn until(&self) -> Timestamp {
        self.trusted.until
    }
}

/// At two thirds of a life.
fn is_due(now: Timestamp, from: Timestamp, until: Timestamp) -> bool {
    let made = made(from);
    now >= made + (until.duration_since(made) * 2) / 3
}

fn made(from: Timestamp) -> Timestamp {
    from + signed(BACKDATED)
}

fn signed(duration: Duration) -> SignedDuration {
    SignedDuration::try_from(duration).unwrap_or(SignedDuration::MAX)
}
