//! What is remembered of a resource between reconciles and costs nothing to lose: since when its pods
//! are not ready, what was written and is not in the status yet, what its registry was asked last.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use llsd_plan::live::probe_kill::ProbeKill;
use llsd_plan::objects::ObjectKind;
use llsd_plan::resource::{Key, Resource};
use llsd_plan::rollout::preflight::NotMade;
use llsd_plan::rollout::retention::Names;
use llsd_plan::status::Applied;
use llsd_registry::{Error, Reference};
use tokio::time::Instant;

use super::unready::Unready;

/// What is remembered of all resources.
#[derive(Debug, Default)]
pub struct Memory(Mutex<HashMap<Key, Box<Remembered>>>);

#[derive(Debug, Default, PartialEq, Eq)]
struct Remembered {
    unready: Option<Unready>,
    /// Secrets with connection strings that were deleted, or were found to be gone.
    secrets_gone: Vec<String>,
    unreported: Unreported,
    /// The state of the resource for which its image was resolved last.
    resolved_for: Option<Box<str>>,
    /// Why the registry of an image cannot be asked, in the words that were told first.
    registry_trouble: BTreeMap<Reference, RegistryTrouble>,
    record_not_kept: bool,
    /// The Job that could not be made when that was last tried.
    job_not_made: Option<(String, NotMade)>,
    /// The run of a container that was killed last, and why.
    killed: Option<(Box<str>, KillCause)>,
    /// Of a namespace: how often it was looked in vain whether what its resources shared can go.
    looks: u32,
}

/// Why the kubelet killed a container, as far as its events tell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KillCause {
    Probe(ProbeKill),
    Other,
}

/// Why a registry cannot be asked, in the words that were told first of this kind of trouble.
#[derive(Debug, PartialEq, Eq)]
struct RegistryTrouble {
    words: Box<str>,
    is_of_name: bool,
}

/// What was written and is not in the status yet, and why the pods' template changed with it.
#[derive(Debug, Default, PartialEq, Eq)]
struct Unreported {
    written: Vec<String>,
    causes: Vec<String>,
}

impl Memory {
    /// How long the pods have not been ready; zero at the first look.
    pub fn unready_for(&self, key: &Key, ready: bool) -> Duration {
        let now = Instant::now();
        self.change(key, |known| {
            if ready {
                known.unready = None;
                known.killed = None;
                return Duration::ZERO;
            }
            known.unready.get_or_insert_with(|| Unready::new(now)).lasts(now)
        })
    }

    /// How long nothing new was seen of pods that are not ready: no other template, and no trouble of another kind.
    pub fn quiet_for(&self, key: &Key, generation: i64, trouble: Option<&str>) -> Duration {
        let now = Instant::now();
        self.change(key, |known| {
            let unready = known.unready.get_or_insert_with(|| Unready::new(now));
            unready.see(now, generation, trouble)
        })
    }

    /// The Secrets with connection strings that are known to be gone. One that something refers to is
    /// there again.
    pub fn secrets_gone(&self, key: &Key, referred: &Names) -> Vec<String> {
        let is_referred = |name: &String| referred.contains(&(ObjectKind::Secret, name.clone()));
        self.change(key, |known| {
            known.secrets_gone.retain(|name| !is_referred(name));
            known.secrets_gone.clone()
        })
    }

    pub fn set_secret_gone(&self, key: &Key, name: String) {
        self.change(key, |known| known.secrets_gone.push(name));
    }

    /// Whether the status can wait, and then remembers what was written. Of a new resource whose objects
    /// are made now there is nothing to report yet but that; while others wait for their servers, that
    /// has time until its next turn, which comes after theirs.
    pub fn defers_report(&self, resource: &Resource, applied: &mut Applied, busy: bool) -> bool {
        let defers = resource.status.is_null() && !applied.written.is_empty() && busy;
        if defers {
            self.report_later(&resource.key, applied);
        }
        defers
    }

    /// The status waits a moment longer; what was written meanwhile is told with it.
    pub fn report_later(&self, key: &Key, applied: &mut Applied) {
        let written = std::mem::take(&mut applied.written);
        let causes = std::mem::take(&mut applied.causes);
        self.change(key, |known| {
            known.unreported.written.extend(written);
            known.unreported.causes.extend(causes);
        });
    }

    /// Adds what was written and is not in the status yet.
    pub fn add_unreported(&self, key: &Key, applied: &mut Applied) {
        let Unreported { written, causes } =
            self.change(key, |known| std::mem::take(&mut known.unreported));
        applied.written.extend(written);
        applied.causes.extend(causes);
    }

    /// Whether its image was resolved for this state of the resource before.
    pub fn is_resolved_for(&self, key: &Key, state: &str) -> bool {
        let all = self.lock();
        all.get(key).is_some_and(|known| known.resolved_for.as_deref() == Some(state))
    }

    pub fn set_resolved_for(&self, key: &Key, state: &str) {
        self.change(key, |known| known.resolved_for = Some(state.into()));
    }

    /// Why the registry of an image cannot be asked. A network words the same trouble one way or another
    /// from one moment to the next, and a status is not written for that; but that a name can be resolved again is
    /// another trouble.
    pub fn registry_trouble(&self, key: &Key, image: &Reference, error: &Error) -> String {
        self.change(key, |known| {
            if !error.is_transient() {
                known.registry_trouble.remove(image);
                return error.to_string();
            }
            let now = || RegistryTrouble {
                words: error.to_string().into(),
                is_of_name: error.is_unresolved(),
            };
            let told = known.registry_trouble.entry(image.clone()).or_insert_with(now);
            if told.is_of_name != error.is_unresolved() {
                *told = now();
            }
            told.words.to_string()
        })
    }

    /// Forgets the trouble with the registries of other images.
    pub fn keep_trouble(&self, key: &Key, is_kept: impl Fn(&Reference) -> bool) {
        let has_trouble =
            self.lock().get(key).is_some_and(|known| !known.registry_trouble.is_empty());
        if has_trouble {
            self.change(key, |known| known.registry_trouble.retain(|image, _| is_kept(image)));
        }
    }

    /// Whether the record of its images can be kept; whether that is news.
    pub fn set_record_kept(&self, key: &Key, is_kept: bool) -> bool {
        self.change(key, |known| std::mem::replace(&mut known.record_not_kept, !is_kept) == is_kept)
    }

    /// Why this Job could not be made when that was last tried.
    pub fn job_not_made(&self, key: &Key, job: &str) -> Option<NotMade> {
        let all = self.lock();
        let (known, not_made) = all.get(key)?.job_not_made.as_ref()?;
        (known == job).then(|| not_made.clone())
    }

    /// Notes that this Job could not be made, or that it was.
    pub fn set_job_made(&self, key: &Key, job: &str, made: Result<(), NotMade>) {
        let not_made = made.err().map(|not_made| (job.to_owned(), not_made));
        self.change(key, |known| known.job_not_made = not_made);
    }

    /// Why a container was killed in this run; nothing where that was not asked yet.
    pub fn kill_cause(&self, key: &Key, run: &str) -> Option<KillCause> {
        let all = self.lock();
        let (known, cause) = all.get(key)?.killed.as_ref()?;
        (**known == *run).then(|| cause.clone())
    }

    pub fn set_kill_cause(&self, key: &Key, run: &str, cause: KillCause) {
        self.change(key, |known| known.killed = Some((run.into(), cause)));
    }

    /// It is to be looked again whether what the resources of a namespace shared can go; how often that was in vain.
    pub fn look_again(&self, key: &Key) -> u32 {
        self.change(key, |known| {
            known.looks = known.looks.saturating_add(1);
            known.looks
        })
    }

    pub fn forget(&self, key: &Key) {
        self.lock().remove(key);
    }

    /// Changes what is remembered of a resource; nothing to remember takes no room.
    fn change<T>(&self, key: &Key, change: impl FnOnce(&mut Remembered) -> T) -> T {
        let mut all = self.lock();
        let mut known = all.remove(key).unwrap_or_default();
        let changed = change(&mut known);
        if *known != Remembered::default() {
            all.insert(key.clone(), known);
        }
        changed
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<Key, Box<Remembered>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_reported_later_is_reported_with_its_causes_and_once() {
        let (memory, key) = (Memory::default(), Key::new("ns", "llama"));
        let written = vec!["Deployment llama".to_owned()];
        let causes = vec!["spec".to_owned()];
        let all = Applied { written, causes, ..Applied::default() };
        memory.report_later(&key, &mut all.clone());
        let mut later = Applied::default();
        memory.add_unreported(&key, &mut later);
        assert_eq!(later, all);
        let mut again = Applied::default();
        memory.add_unreported(&key, &mut again);
        assert_eq!(again, Applied::default());
    }

    #[test]
    fn trouble_with_a_registry_keeps_its_words_until_the_registry_answers() {
        let (memory, key) = (Memory::default(), Key::new("ns", "llama"));
        let unreachable =
            |reason: &str| Error::Unreachable { host: "r".to_owned(), reason: reason.to_owned() };
        let (server, provider): (Reference, Reference) =
            ("r.io/server".parse().unwrap(), "r.io/provider".parse().unwrap());
        let told = |image, reason| memory.registry_trouble(&key, image, &unreachable(reason));
        let first = told(&server, "refused");
        let other = told(&provider, "no route");
        assert_ne!(first, other, "each image has its own");
        assert_eq!(told(&server, "reset"), first);
        assert_eq!(told(&provider, "timed out"), other);
        let unresolved = told(&server, llsd_registry::UNRESOLVED);
        assert_ne!(unresolved, first, "that is no matter of wording");
        let back = told(&server, "reset");
        assert!(back.contains("reset"), "the name is known again: {back}");
        memory.set_resolved_for(&key, "1");
        memory.keep_trouble(&key, |image| image != &server);
        assert!(told(&server, "refused").contains("refused"), "it was forgotten");
        assert_eq!(told(&provider, "timed out"), other);
    }

    #[tokio::test(start_paused = true)]
    async fn who_was_ready_meanwhile_is_looked_at_as_often_as_at_first() {
        let (memory, key) = (Memory::default(), Key::new("ns", "llama"));
        let long = Duration::from_mins(10);
        let quiet_for = || memory.quiet_for(&key, 1, None);
        assert_eq!(memory.unready_for(&key, false), Duration::ZERO);
        assert_eq!(quiet_for(), Duration::ZERO);
        tokio::time::advance(long).await;
        assert_eq!((memory.unready_for(&key, false), quiet_for()), (long, long));
        memory.unready_for(&key, true);
        assert_eq!(quiet_for(), Duration::ZERO);
    }
}
