//! Questions to registries, apart from the workers: a worker that needs an answer asks for it, waits a
//! moment, and then works on something else; the answer wakes the resource. A namespace has a bounded
//! number of questions under way, so registries of one tenant that do not answer delay nobody else.

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use futures::FutureExt;
use llsd_plan::resource::Key;
use llsd_registry::{Error, Reference, Wanted};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::asker::{Asker, ImageFound};
use crate::operator::controller::state::{Queue, Turns};

/// Questions under way at the same time, in all and of one namespace.
const AT_ONCE: usize = 128;
const AT_ONCE_EACH: usize = 16;

/// With so many questions that workers no longer wait for, workers do not wait for others of the same
/// namespace either.
const SLOW: usize = 4;

/// How long an answer is kept for the resource that asked.
const KEPT: Duration = Duration::from_mins(5);

/// What is known of a question.
#[derive(Clone, Debug)]
pub enum Answer {
    Known(ImageFound),
    /// The registry is being asked, for so long.
    Awaited(Duration),
}

/// The questions of all resources.
#[derive(Debug)]
pub struct Lookups {
    turns: Arc<Turns>,
    /// How long a worker waits for an answer.
    patience: Duration,
    questions: Mutex<Questions>,
    /// Ends with its owner, whatever is under way.
    asking: Mutex<JoinSet<()>>,
    queue: Arc<Queue>,
}

type Questions = HashMap<Key, HashMap<ImageQuestion, Question>>;

/// An image, and what is looked for in it.
type ImageQuestion = (Reference, Wanted);

#[derive(Debug)]
struct Question {
    /// When it was asked, or answered.
    since: Instant,
    /// Nobody waits for the answer any more, so it has to wake the resource.
    wakes: bool,
    answer: Option<ImageFound>,
    answered: Arc<Notify>,
}

impl Lookups {
    pub fn new(patience: Duration, queue: Arc<Queue>) -> Self {
        Self {
            turns: Arc::new(Turns::new(AT_ONCE, AT_ONCE_EACH)),
            patience,
            questions: Mutex::default(),
            asking: Mutex::default(),
            queue,
        }
    }

    /// What a resource's registry says of an image; of one with a tag what it said within `age`.
    pub async fn ask(
        self: &Arc<Self>,
        key: &Key,
        asker: &Asker,
        image: &Reference,
        age: Duration,
    ) -> Answer {
        let asked = (image.clone(), asker.wanted);
        if let Some(known) = self.known(key, &asked) {
            return known;
        }
        if let Some(recalled) = self.recall(asker, image, age).await {
            return Answer::Known(recalled);
        }
        let answered = self.start(key, asker, &asked);
        // Not for long, and not at all where others of this tenant have waited in vain.
        let patience = if self.is_slow(key) { Duration::ZERO } else { self.patience };
        let _ = timeout(patience, answered.notified()).await;
        self.known_or_wakes(key, &asked)
    }

    /// What was said of an image within `age`. If that is not known, it is asked, and nobody waits; an
    /// answer that is news wakes the resource.
    pub async fn recall_or_ask(
        self: &Arc<Self>,
        key: &Key,
        asker: &Asker,
        image: &Reference,
        age: Duration,
    ) -> Option<ImageFound> {
        let asked = (image.clone(), asker.wanted);
        if let Some(Answer::Known(known)) = self.known(key, &asked) {
            return Some(known);
        }
        let recalled = self.recall(asker, image, age).await;
        if recalled.is_none() {
            self.start(key, asker, &asked);
            self.known_or_wakes(key, &asked);
        }
        recalled
    }

    /// What was said before. Even that may take long, where a plugin has to tell the credentials.
    async fn recall(&self, asker: &Asker, image: &Reference, age: Duration) -> Option<ImageFound> {
        timeout(self.patience, asker.recall(image, age)).await.ok().flatten()
    }

    /// All answers that the resource waited for were used.
    pub fn settle(&self, key: &Key) {
        self.keep(key, |_, question| question.answer.is_none());
    }

    /// The resource has no other questions than about these images; what waits for its turn to be asked
    /// about another is not asked.
    pub fn only(&self, key: &Key, images: &[Reference]) {
        self.keep(key, |(image, _), _| images.contains(image));
    }

    fn keep(&self, key: &Key, is_kept: impl Fn(&ImageQuestion, &Question) -> bool) {
        let mut questions = self.lock();
        if let Some(own) = questions.get_mut(key) {
            own.retain(|asked, question| is_kept(asked, question));
            if own.is_empty() {
                questions.remove(key);
            }
        }
    }

    /// Asks, unless that is under way.
    fn start(self: &Arc<Self>, key: &Key, asker: &Asker, asked: &ImageQuestion) -> Arc<Notify> {
        let mut questions = self.lock();
        // Answers for resources that are gone.
        questions.retain(|_, own| {
            own.retain(|_, question| !question.is_outdated());
            !own.is_empty()
        });
        let own = questions.entry(key.clone()).or_default();
        if let Some(under_way) = own.get(asked) {
            return Arc::clone(&under_way.answered);
        }
        let answered = Arc::new(Notify::new());
        own.insert(
            asked.clone(),
            Question {
                since: Instant::now(),
                wakes: false,
                answer: None,
                answered: Arc::clone(&answered),
            },
        );
        drop(questions);
        let (lookups, turns) = (Arc::downgrade(self), Arc::clone(&self.turns));
        let (key, asker, asked) = (key.clone(), asker.clone(), asked.clone());
        let mut asking = self.asking.lock().unwrap_or_else(PoisonError::into_inner);
        while asking.try_join_next().is_some() {}
        asking.spawn(async move {
            let turn = turns.turn(&key.namespace).await;
            let is_asked = |lookups: Arc<Self>| lookups.is_asked(&key, &asked);
            if !Weak::upgrade(&lookups).is_some_and(is_asked) {
                return;
            }
            let finding = AssertUnwindSafe(Box::pin(asker.find(&asked.0))).catch_unwind();
            let found = finding.await.unwrap_or_else(|_| Err(bug(&asked.0)));
            drop(turn);
            if let Some(lookups) = Weak::upgrade(&lookups) {
                lookups.answer(&key, &asked, found);
            }
        });
        drop(asking);
        answered
    }

    fn answer(&self, key: &Key, asked: &ImageQuestion, found: ImageFound) {
        let mut questions = self.lock();
        let question = questions.get_mut(key).and_then(|own| own.get_mut(asked));
        let Some(question) = question else { return };
        question.answer = Some(found);
        question.since = Instant::now();
        question.answered.notify_one();
        let wakes = question.wakes;
        drop(questions);
        if wakes {
            self.queue.add(key);
        }
    }

    fn known(&self, key: &Key, asked: &ImageQuestion) -> Option<Answer> {
        let questions = self.lock();
        let question = questions.get(key)?.get(asked).filter(|question| !question.is_outdated())?;
        Some(match &question.answer {
            Some(found) => Answer::Known(found.clone()),
            None => Answer::Awaited(question.since.elapsed()),
        })
    }

    fn is_asked(&self, key: &Key, asked: &ImageQuestion) -> bool {
        self.lock().get(key).is_some_and(|own| own.contains_key(asked))
    }

    /// The answer, or from now on it wakes the resource.
    fn known_or_wakes(&self, key: &Key, asked: &ImageQuestion) -> Answer {
        let mut questions = self.lock();
        let question = questions.get_mut(key).and_then(|own| own.get_mut(asked));
        let Some(question) = question else { return Answer::Awaited(Duration::ZERO) };
        if let Some(found) = &question.answer {
            return Answer::Known(found.clone());
        }
        question.wakes = true;
        Answer::Awaited(question.since.elapsed())
    }

    fn is_slow(&self, key: &Key) -> bool {
        let questions = self.lock();
        let of_namespace = questions.iter().filter(|(other, _)| other.namespace == key.namespace);
        let slow = of_namespace
            .flat_map(|(_, own)| own.values())
            .filter(|question| question.wakes && question.answer.is_none());
        slow.count() >= SLOW
    }

    fn lock(&self) -> MutexGuard<'_, Questions> {
        self.questions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Question {
    fn is_outdated(&self) -> bool {
        self.answer.is_some() && self.since.elapsed() >= KEPT
    }
}

/// A lookup that panicked.
fn bug(image: &Reference) -> Error {
    tracing::error!(%image, "a bug in the operator: the lookup panicked");
    Error::Unreachable { host: image.host().to_owned(), reason: "the lookup failed".to_owned() }
}

#[cfg(test)]
mod tests;
