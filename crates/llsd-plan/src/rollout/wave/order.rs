//! The order of those that wait: small namespaces come first, and in them who has waited longest.

use std::collections::{BTreeMap, VecDeque};

/// Where a server stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct WavePlace {
    /// How many servers its namespace has: where few are, little is at stake.
    pub(super) neighbours: usize,
    /// Grows with each that joins.
    pub(super) joined: u64,
}

/// All places that are taken. Most join at the end and leave from the front.
#[derive(Clone, Debug, Default)]
pub(super) struct Order(BTreeMap<usize, VecDeque<u64>>);

impl Order {
    pub(super) fn insert(&mut self, place: WavePlace) {
        let joined = self.0.entry(place.neighbours).or_default();
        let at = joined.partition_point(|other| *other < place.joined);
        joined.insert(at, place.joined);
    }

    pub(super) fn remove(&mut self, place: WavePlace) {
        let Some(joined) = self.0.get_mut(&place.neighbours) else { return };
        if let Ok(at) = joined.binary_search(&place.joined) {
            joined.remove(at);
        }
        if joined.is_empty() {
            self.0.remove(&place.neighbours);
        }
    }

    /// How many places come before this one.
    pub(super) fn ahead_of(&self, place: WavePlace) -> usize {
        let smaller: usize = self.0.range(..place.neighbours).map(|(_, joined)| joined.len()).sum();
        let alike = self.0.get(&place.neighbours);
        let earlier = alike.map(|it| it.partition_point(|other| *other < place.joined));
        smaller + earlier.unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_knows_how_many_come_before_it() {
        let place = |neighbours, joined| WavePlace { neighbours, joined };
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
    }
}
