//! What a plugin answered, for as long as it allowed: per image, per registry or for everything.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::credentials::Credential;

/// Tenants choose image names, so an answer per image must not grow without end.
const MAX_ANSWERS: usize = 1000;

pub(super) type Entries = Arc<Vec<(String, Credential)>>;

/// What an answer holds for, as `cacheKeyType` says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Deserialize)]
pub(super) enum Scope {
    Image,
    Registry,
    Global,
}

/// The image, its registry, or nothing.
pub(super) type Key = (Scope, String);

impl Scope {
    pub(super) fn key(self, image: &str) -> Key {
        let of = match self {
            Self::Image => image,
            Self::Registry => image.split('/').next().unwrap_or(image),
            Self::Global => "",
        };
        (self, of.to_owned())
    }
}

#[derive(Default)]
pub(super) struct Cache {
    answers: Mutex<HashMap<Key, Answer>>,
}

struct Answer {
    entries: Entries,
    fresh_until: Instant,
}

impl Cache {
    /// A fresh answer for this image: its own, else its registry's, else the one for everything.
    pub(super) fn get(&self, image: &str, now: Instant) -> Option<Entries> {
        let answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        [Scope::Image, Scope::Registry, Scope::Global].into_iter().find_map(|scope| {
            let answer = answers.get(&scope.key(image)).filter(|one| now < one.fresh_until)?;
            Some(Arc::clone(&answer.entries))
        })
    }

    /// Keeps an answer; one that is fresh for no time at all is not kept.
    pub(super) fn put(&self, key: Key, entries: &Entries, now: Instant, fresh_for: Duration) {
        // A duration beyond what the clock can hold is as good as a day; it is asked again then.
        let day = Duration::from_hours(24);
        let Some(fresh_until) = now.checked_add(fresh_for).or_else(|| now.checked_add(day)) else {
            return;
        };
        if fresh_for.is_zero() {
            return;
        }
        let mut answers = self.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MAX_ANSWERS {
            answers.retain(|_, answer| now < answer.fresh_until);
        }
        if answers.len() >= MAX_ANSWERS {
            answers.clear();
        }
        answers.insert(key, Answer { entries: Arc::clone(entries), fresh_until });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_per_image_do_not_grow_without_end() {
        let cache = Cache::default();
        let now = Instant::now();
        for number in 0..3 * MAX_ANSWERS {
            let key = Scope::Image.key(&format!("registry.example.com/{number}"));
            cache.put(key, &Entries::default(), now, Duration::from_mins(1));
        }
        assert!(cache.answers.lock().unwrap().len() <= MAX_ANSWERS);
        assert!(cache.get(&format!("registry.example.com/{}", 3 * MAX_ANSWERS - 1), now).is_some());
    }

    #[test]
    fn a_duration_beyond_the_clock_is_kept() {
        let cache = Cache::default();
        let now = Instant::now();
        cache.put(Scope::Global.key(""), &Entries::default(), now, Duration::MAX);
        assert!(cache.get("registry.example.com/a", now).is_some());
    }
}
