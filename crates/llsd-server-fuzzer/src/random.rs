//! Choices that a seed decides.

/// Gives the same choices for the same seed.
#[derive(Debug)]
pub struct Random(fastrand::Rng);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(fastrand::Rng::with_seed(seed))
    }

    /// The same, with neighbouring seeds far from each other.
    pub fn of_seed(seed: u64) -> Self {
        Self::new(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// True in so many cases of a hundred.
    pub fn chance(&mut self, percent: u32) -> bool {
        self.0.u32(..100) < percent
    }

    /// A number below `end`, which is not zero.
    pub fn below(&mut self, end: usize) -> usize {
        self.0.usize(..end)
    }

    /// One of these, if there is any.
    pub fn one_of<'a, T>(&mut self, all: &'a [T]) -> Option<&'a T> {
        if all.is_empty() { None } else { all.get(self.below(all.len())) }
    }

    /// One of these texts, of which there is at least one.
    pub fn text(&mut self, all: &[&str]) -> String {
        self.one_of(all).copied().unwrap_or_default().to_owned()
    }
}
