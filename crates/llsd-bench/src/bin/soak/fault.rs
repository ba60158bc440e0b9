//! What goes wrong in clusters.

use std::fmt;

/// One thing that goes wrong, and passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The API server is killed and started again: every watch and connection is cut.
    ApiServerRestarts,
    /// It answers nothing for three seconds, too short for the leader to lose its lease.
    ApiServerStalls,
    /// It answers nothing for twenty seconds, longer than leadership lasts without a renewal: either replica may lead
    /// afterwards.
    ApiServerHangs,
    /// The leader does not run for thirty seconds, loses the lease, and wakes up beside the next one.
    LeaderHangs,
    /// The leader is killed; another replica stands by.
    LeaderIsKilled,
    /// The leader ends in good order, as in an upgrade.
    LeaderLeaves,
}

impl Fault {
    /// After which the processes are the same. The leader is too, unless the API server takes longer to start than the
    /// lease lasts.
    const PASSING: [Self; 2] = [Self::ApiServerRestarts, Self::ApiServerStalls];
    const ALL: [Self; 6] = [
        Self::ApiServerRestarts,
        Self::ApiServerStalls,
        Self::ApiServerHangs,
        Self::LeaderHangs,
        Self::LeaderIsKilled,
        Self::LeaderLeaves,
    ];

    /// Any of them; or of those that hardly ever change who leads.
    pub fn any(random: &mut fastrand::Rng, may_replace: bool) -> Self {
        let choice: &[Self] = if may_replace { &Self::ALL } else { &Self::PASSING };
        choice[random.usize(..choice.len())]
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ApiServerRestarts => "the API server restarts",
            Self::ApiServerStalls => "the API server stalls",
            Self::ApiServerHangs => "the API server hangs",
            Self::LeaderHangs => "the leader hangs",
            Self::LeaderIsKilled => "the leader is killed",
            Self::LeaderLeaves => "the leader leaves",
        })
    }
}
