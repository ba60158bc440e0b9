//! What lookups remember. Content is kept by place and digest, and given only to those who proved
//! with their own credential that they may read that place.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use moka::future::Cache;

use crate::{Digest, Error, Image, Limits, Reference, Wanted, identity::Identity};

/// Content in one repository of one host. The digest alone would not do: a registry of the
/// attacker's own could name any digest and so be given what another registry keeps private.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct ContentKey {
    pub(crate) repository: String,
    pub(crate) digest: Digest,
    /// What was read of it.
    pub(crate) wanted: Wanted,
}

impl ContentKey {
    pub(crate) fn new(reference: &Reference, digest: &Digest, wanted: Wanted) -> Self {
        Self { repository: reference.name(), digest: digest.clone(), wanted }
    }
}

/// One lookup of one asker: the places to try, and with what; and what is looked for there.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Question(pub(crate) Vec<(Reference, Identity)>, pub(crate) Wanted);

#[derive(Debug)]
pub(crate) struct Memory {
    images: Cache<ContentKey, Arc<Image>>,
    proofs: Cache<(ContentKey, Identity), ()>,
    /// Tags that were asked for before. For those, a HEAD request is likely to be enough.
    tags: Cache<Reference, ()>,
    /// What a tag pointed to when an asker was told, and when that was.
    pointed: Cache<(Reference, Identity), (Digest, Instant)>,
    under_way: Cache<Question, Arc<Image>>,
    failures: Cache<Question, (Error, Instant)>,
    limits: Limits,
}

impl Memory {
    pub(crate) fn new(limits: &Limits) -> Self {
        let images = Cache::builder()
            .max_capacity(limits.cache)
            .weigher(|_: &ContentKey, image: &Arc<Image>| weight(image));
        Self {
            images: images.build(),
            proofs: Cache::new(100_000),
            tags: Cache::new(10_000),
            pointed: Cache::new(10_000),
            under_way: Cache::new(10_000),
            failures: Cache::new(10_000),
            limits: limits.clone(),
        }
    }

    /// A pinned image that this asker has read before: no request is needed for it.
    pub(crate) async fn proven(&self, place: &ContentKey, asker: Identity) -> Option<Arc<Image>> {
        self.proofs.get(&(place.clone(), asker)).await?;
        self.images.get(place).await
    }

    /// Whether asking for the digest alone is likely to be enough.
    pub(crate) fn is_known(&self, reference: &Reference, wanted: Wanted) -> bool {
        match reference.digest() {
            Some(digest) => self.images.contains_key(&ContentKey::new(reference, digest, wanted)),
            None => self.tags.contains_key(reference),
        }
    }

    /// Notes that `asker` may read `place`.
    pub(crate) async fn prove(&self, reference: &Reference, place: &ContentKey, asker: Identity) {
        self.proofs.insert((place.clone(), asker), ()).await;
        if reference.digest().is_none() {
            self.tags.insert(reference.clone(), ()).await;
            let told = (place.digest.clone(), Instant::now());
            self.pointed.insert((reference.clone(), asker), told).await;
        }
    }

    /// The image that this asker was told of, no longer ago than `age` where a tag names it: a tag may
    /// have moved since, a digest cannot.
    pub(crate) async fn recall(
        &self,
        reference: &Reference,
        wanted: Wanted,
        asker: Identity,
        age: Duration,
    ) -> Option<Arc<Image>> {
        if let Some(digest) = reference.digest() {
            return self.proven(&ContentKey::new(reference, digest, wanted), asker).await;
        }
        let told = self.pointed.get(&(reference.clone(), asker)).await;
        let (digest, _) = told.filter(|(_, at)| at.elapsed() < age)?;
        self.proven(&ContentKey::new(reference, &digest, wanted), asker).await
    }

    /// Why the same question failed a moment ago.
    pub(crate) async fn failure(&self, question: &Question) -> Option<Error> {
        let (error, until) = self.failures.get(question).await?;
        if until > Instant::now() {
            return Some(error);
        }
        self.failures.invalidate(question).await;
        None
    }

    /// The image at a place that the asker has proved access to; read once for all who ask at the
    /// same time.
    pub(crate) async fn image<F>(
        &self,
        place: &ContentKey,
        read: impl Fn() -> F,
    ) -> Result<Arc<Image>, Error>
    where
        F: Future<Output = Result<Image, Error>>,
    {
        loop {
            let mut own = false;
            let reading = async {
                own = true;
                Box::pin(read()).await.map(Arc::new)
            };
            match self.images.try_get_with_by_ref(place, reading).await {
                Ok(image) => return Ok(image),
                Err(error) if own => return Err((*error).clone()),
                // Another asker's fault, such as a token that ended, must not become this one's.
                Err(_) => {}
            }
        }
    }

    /// Answers from a recent failure, or together with the same question under way, or by asking.
    pub(crate) async fn ask(
        &self,
        question: Question,
        asking: impl Future<Output = Result<Arc<Image>, Error>>,
    ) -> Result<Arc<Image>, Error> {
        if let Some(error) = self.failure(&question).await {
            return Err(error);
        }
        let answer = self.under_way.try_get_with_by_ref(&question, asking).await;
        // Only for those who asked meanwhile: the next question asks the registry again.
        self.under_way.invalidate(&question).await;
        answer.map_err(|error: Arc<Error>| (*error).clone())
    }

    pub(crate) async fn remember(&self, question: Question, error: Error) {
        let asked_for = match &error {
            Error::Busy { retry_after, .. } => retry_after.unwrap_or_default(),
            _ => Duration::ZERO,
        };
        let shortest = self.limits.memory_of(&error);
        let memory = asked_for.clamp(shortest, shortest * 10);
        self.failures.insert(question, (error, Instant::now() + memory)).await;
    }
}

fn weight(image: &Image) -> u32 {
    let labels: usize = image.labels.iter().map(|(key, value)| key.len() + value.len()).sum();
    let text =
        image.base.as_ref().map_or(0, |base| base.as_ref().map_or(0, |base| base.text.len()));
    let file = image.file.as_ref().map_or(0, |file| file.as_ref().map_or(0, String::len));
    u32::try_from(labels + text + file + 512).unwrap_or(u32::MAX)
}
