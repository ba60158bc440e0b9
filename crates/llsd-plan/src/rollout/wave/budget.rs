//! How many servers a change of shared inputs may reach at a time, and how many of them may fail.

/// What an administrator allows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// How many servers may be changing or down because of such changes.
    pub max_unavailable: Share,
    /// The same within one namespace.
    pub per_namespace: usize,
    /// After so many failed servers the others wait.
    pub stop_after_failures: usize,
}

/// A number of servers, or a part of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    Number(usize),
    Percent(usize),
}

/// The servers that one installation of the operator manages, and what is allowed for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fleet {
    pub managed: usize,
    pub budget: Budget,
    /// When the next window opens, in seconds, while none is open: no turn begins before.
    pub opens_at: Option<i64>,
}

impl Default for Budget {
    fn default() -> Self {
        Self { max_unavailable: Share::Percent(10), per_namespace: 1, stop_after_failures: 2 }
    }
}

impl Share {
    /// Of so many servers; at least one, or no change would ever arrive.
    fn of(self, servers: usize) -> usize {
        let share = match self {
            Self::Number(number) => number,
            Self::Percent(percent) => servers.saturating_mul(percent).div_ceil(100),
        };
        share.max(1)
    }
}

impl Fleet {
    /// How many servers may be changing at a time.
    pub fn allowed(&self) -> usize {
        self.budget.max_unavailable.of(self.managed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentage_is_rounded_up_and_is_at_least_one_server() {
        let allowed = |share, managed| {
            let budget = Budget { max_unavailable: share, ..Budget::default() };
            Fleet { managed, budget, opens_at: None }.allowed()
        };
        for (managed, expected) in [(0, 1), (1, 1), (10, 1), (11, 2), (200, 20), (1001, 101)] {
            assert_eq!(allowed(Share::Percent(10), managed), expected, "{managed}");
        }
        assert_eq!(allowed(Share::Percent(100), 7), 7);
        assert_eq!(allowed(Share::Number(2), 1000), 2);
    }
}
