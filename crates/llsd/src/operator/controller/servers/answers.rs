//! The servers that are asked how they are, apart from reconciling: whoever reconciles says which
//! server there is and takes the last answer; what the answer changes wakes the resource. Servers that
//! do not answer are asked less and less often, and never keep others from being asked.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use llsd_plan::live::DeploymentState;
use llsd_plan::resource::Key;
use llsd_plan::status::ServerAnswer;
use tokio::time::Instant;

use crate::operator::backoff::jittered;
use crate::operator::controller::state::{Next, Queue, Turns};

/// Servers that are asked at the same time, in all and of one namespace.
const AT_ONCE: usize = 64;
const AT_ONCE_EACH: usize = 16;

/// How often in a row a server that answered must fail to do so before anybody is told.
const FAILURES_TOLD: u32 = 2;

/// All servers that can be asked.
#[derive(Debug)]
pub struct Servers {
    schedule: Queue,
    turns: Turns,
    known: Mutex<KnownServers>,
    /// How often a server that answers is asked.
    poll: Duration,
}

#[derive(Debug, Default)]
struct KnownServers {
    servers: HashMap<Key, Asked>,
    /// Answers by their hash: most servers of one distribution say the same.
    answers: HashMap<u64, Weak<ServerAnswer>>,
}

/// One server, and what it answered.
#[derive(Debug)]
struct Asked {
    server: Target,
    /// Since when it is this one.
    since: Instant,
    answer: Option<Arc<ServerAnswer>>,
    /// Questions in a row that had no answer.
    failures: u32,
}

/// Whom to ask. Other pods are another server, even at the same address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    pub url: Box<str>,
    /// The Secret with the certificate that it serves.
    pub certificate: Option<Box<str>>,
    /// It asks callers who they are, and the operator is none of them.
    pub asks_callers: bool,
    pods: u64,
}

/// What is known of a server now.
#[derive(Debug)]
pub struct LastAnswer {
    pub server: ServerAnswer,
    /// For how long its first answer has been awaited.
    pub awaited: Option<Duration>,
}

impl Target {
    pub fn new(url: &str, certificate: Option<&str>, deployment: &DeploymentState) -> Self {
        let DeploymentState { generation, observed_generation, updated, ready, available, .. } =
            deployment;
        let mut hasher = DefaultHasher::new();
        (generation, observed_generation, updated, ready, available).hash(&mut hasher);
        Self {
            url: url.into(),
            certificate: certificate.map(Into::into),
            asks_callers: false,
            pods: hasher.finish(),
        }
    }

    #[must_use]
    pub fn asking_callers(self, asks_callers: bool) -> Self {
        Self { asks_callers, ..self }
    }
}

impl Servers {
    pub fn new(poll: Duration) -> Self {
        Self {
            schedule: Queue::default(),
            turns: Turns::new(AT_ONCE, AT_ONCE_EACH),
            known: Mutex::default(),
            poll,
        }
    }

    /// What the server of a resource answered last. One that is new is asked at once.
    pub fn last_answer(&self, key: &Key, server: Target) -> LastAnswer {
        let mut known = self.lock();
        let asked = known.servers.get(key).filter(|asked| asked.server == server);
        if let Some(Asked { answer: Some(answer), .. }) = asked {
            return LastAnswer { server: ServerAnswer::clone(answer), awaited: None };
        }
        let awaited = asked.map(|asked| asked.since.elapsed());
        if awaited.is_none() {
            let new = Asked { server, since: Instant::now(), answer: None, failures: 0 };
            known.servers.insert(key.clone(), new);
            drop(known);
            self.schedule.add(key);
        }
        LastAnswer { server: ServerAnswer::Awaited, awaited: Some(awaited.unwrap_or_default()) }
    }

    /// The resource changed, so a server that did not answer is asked now.
    pub fn ask_after_change(&self, key: &Key) {
        if self.lock().servers.get(key).is_some_and(|asked| asked.failures > 0) {
            self.schedule.add_changed(key);
        }
    }

    /// There is no server to ask.
    pub fn forget(&self, key: &Key) {
        self.lock().servers.remove(key);
    }

    /// The next server that is to be asked; [`ask`](Self::ask) does it.
    pub async fn next(&self) -> Key {
        self.schedule.next().await
    }

    /// Asks a server; whether its resource has to be looked at.
    pub async fn ask(&self, key: &Key, asking: impl AsyncFnOnce(&Target) -> ServerAnswer) -> bool {
        let target = self.lock().servers.get(key).map(|asked| asked.server.clone());
        let Some(target) = target else {
            self.schedule.done(key, Next::Rest);
            return false;
        };
        let turn = self.turns.turn(&key.namespace).await;
        let answer = asking(&target).await;
        drop(turn);
        let (is_news, next) = self.lock().take_in(key, &target, answer, self.poll);
        self.schedule.done(key, next);
        is_news
    }

    fn lock(&self) -> MutexGuard<'_, KnownServers> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl KnownServers {
    /// Takes in an answer; whether it is news, and when to ask again.
    fn take_in(
        &mut self,
        key: &Key,
        target: &Target,
        answer: ServerAnswer,
        poll: Duration,
    ) -> (bool, Next) {
        let Some(asked) = self.servers.get_mut(key) else { return (false, Next::Rest) };
        if asked.server != *target {
            // Another one by now, which is asked next.
            return (false, Next::After(Duration::ZERO));
        }
        let next = if let ServerAnswer::Answered(_) = answer {
            asked.failures = 0;
            Next::After(jittered(poll, 0.1))
        } else {
            asked.failures = asked.failures.saturating_add(1);
            Next::Retry
        };
        let before = asked.answer.as_deref();
        let answered_before = matches!(before, Some(ServerAnswer::Answered(_)));
        let may_pass = answered_before && (1..FAILURES_TOLD).contains(&asked.failures);
        if may_pass || before.is_some_and(|before| is_same(before, &answer)) {
            return (false, next);
        }
        asked.answer = Some(shared(&mut self.answers, answer));
        (true, next)
    }
}

/// The answer, or the one that is kept already and says the same.
fn shared(
    answers: &mut HashMap<u64, Weak<ServerAnswer>>,
    answer: ServerAnswer,
) -> Arc<ServerAnswer> {
    let hash = hash(&answer);
    let kept = answers.get(&hash).and_then(Weak::upgrade).filter(|kept| **kept == answer);
    kept.unwrap_or_else(|| {
        answers.retain(|_, kept| kept.strong_count() > 0);
        let answer = Arc::new(answer);
        answers.insert(hash, Arc::downgrade(&answer));
        answer
    })
}

/// The same trouble in other words is no news.
fn is_same(before: &ServerAnswer, now: &ServerAnswer) -> bool {
    match (before, now) {
        (ServerAnswer::Unreachable(_), ServerAnswer::Unreachable(_))
        | (ServerAnswer::Untrusted(_), ServerAnswer::Untrusted(_)) => true,
        (before, now) => before == now,
    }
}

fn hash(server: &ServerAnswer) -> u64 {
    let mut hasher = DefaultHasher::new();
    match server {
        ServerAnswer::NotAsked => 0_u8.hash(&mut hasher),
        ServerAnswer::Awaited => 1_u8.hash(&mut hasher),
        ServerAnswer::Unreachable(why) => (2_u8, why).hash(&mut hasher),
        ServerAnswer::Untrusted(why) => (3_u8, why).hash(&mut hasher),
        ServerAnswer::Answered(answers) => {
            (4_u8, &answers.health, &answers.version, &answers.providers).hash(&mut hasher);
        }
    }
    hasher.finish()
}

#[cfg(test)]
mod tests;
