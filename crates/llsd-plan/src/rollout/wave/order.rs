//! The order of those that wait: canaries come first, then small namespaces, and in them who has waited longest.

use std::collections::{BTreeMap, VecDeque};

/// Where a server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WavePlace {
    /// It is no canary.
    pub(super) follows_canaries: bool,
    /// How many servers its namespace has: where few are, little is at stake.
    pub(super) neighbours: usize,
    /// Grows with each that joins.
    pub(super) joined: u64,
}

/// All places that are taken. Most join at the end and leave from the front.
#[derive(Clone, Debug, Default)]
pub(super) struct Order(BTreeMap<Rank, VecDeque<u64>>);

/// What tells places apart before the time at which they were taken.
type Rank = (bool, usize);

impl Order {
    pub(super) fn insert(&mut self, place: WavePlace) {
        let joined = self.0.entry(place.rank()).or_default();
        let at = joined.partition_point(|other| *other < place.joined);
        joined.insert(at, place.joined);
    }

    pub(super) fn remove(&mut self, place: WavePlace) {
        let Some(joined) = self.0.get_mut(&place.rank()) else { return };
        if let Ok(at) = joined.binary_search(&place.joined) {
            joined.remove(at);
        }
        if joined.is_empty() {
            self.0.remove(&place.rank());
        }
    }

    /// How many places come before this one.
    pub(super) fn ahead_of(&self, place: WavePlace) -> usize {
        let before: usize = self.0.range(..place.rank()).map(|(_, joined)| joined.len()).sum();
        let alike = self.0.get(&place.rank());
        let earlier = alike.map(|it| it.partition_point(|other| *other < place.joined));
        before + earlier.unwrap_or_default()
    }
}

impl WavePlace {
    fn rank(self) -> Rank {
        (self.follows_canaries, self.neighbours)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_knows_how_many_come_before_it() {
        let place = |neighbours, joined| WavePlace { follows_canaries: true, neighbours, joined };
        let mut order = Order::default();
        for taken in [place(2, 1), place(1, 2), place(2, 4), place(2, 3)] {
            order.insert(taken);
        }
        let ahead = |order: &Order| {
            [place(1, 2), place(2, 1), place(2, 3), place(2, 4)].map(|it| order.ahead_of(it))
        };
        assert_eq!(ahead(&order), [0, 1, 2, 3]);
        order.remove(place(2, 1));
        order.remove(place(2, 1));
        assert_eq!(order.ahead_of(place(2, 4)), 2);
        let canary = WavePlace { follows_canaries: false, neighbours: 9, joined: 9 };
        order.insert(canary);
        assert_eq!((order.ahead_of(canary), order.ahead_of(place(1, 2))), (0, 1));
    }
}
