//! From references to an image's configuration: the one door for the rest of the program.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;

use crate::{
    Client, Config, Credential, Digest, Error, Reference, Repository,
    attached::{self, attached},
    cache::{ContentKey, Memory, Question},
    identity::Identity,
    image::{self, Image, Wanted},
    signature::VerifyingKey,
    unpacking::{Layers, Unpacking},
};

/// One place to look, and what may be shown there: tried in this order, and anonymous access comes last
/// by itself. With mirrors there are several, and a credential for one host is never shown to another.
type Place = (Reference, Vec<Credential>);

/// What a signature says is shorter: the name and digest of an image, and what its signer adds.
const LONGEST_SIGNATURE: u64 = 64 << 10;

/// Who knows what may be shown to a registry.
pub trait Credentials: Sync {
    /// The credentials for `host[:port]/repository`, in the order to try.
    fn for_repository(&self, repository: &str) -> impl Future<Output = Vec<Credential>> + Send;
}

/// The same for every repository.
impl Credentials for Vec<Credential> {
    async fn for_repository(&self, _: &str) -> Self {
        self.clone()
    }
}

/// Reads images' configurations, and remembers them.
#[derive(Debug)]
pub struct Registry {
    client: Client,
    memory: Memory,
    unpacking: Unpacking,
}

impl Registry {
    pub fn new(config: Config) -> Self {
        Self {
            memory: Memory::new(&config.limits),
            unpacking: Unpacking::new(config.limits.unpacking),
            client: Client::new(config),
        }
    }

    /// Requests that left this process so far, to registries and token services.
    pub fn requests_sent(&self) -> u64 {
        self.client.requests_sent()
    }

    /// The image and its configuration, from the source or a configured mirror. `credentials` is
    /// asked with each `host[:port]/repository` before that place is.
    pub async fn find(
        &self,
        image: &Reference,
        credentials: &impl Credentials,
    ) -> Result<Arc<Image>, Error> {
        self.find_with(image, Wanted::Base, credentials).await
    }

    /// The same with something else than the configuration.
    pub async fn find_with(
        &self,
        image: &Reference,
        wanted: Wanted,
        credentials: &impl Credentials,
    ) -> Result<Arc<Image>, Error> {
        let places = self.places(image, credentials).await?;
        let question = question(&places, wanted);
        let asking = Box::pin(async {
            // When all fail, the last place's error is the answer: that is the source itself, mirrors
            // come before it.
            let mut last = Error::InvalidReference("there is no place to look for it");
            for place in &places {
                match self.look_in(place, wanted).await {
                    Ok(image) => return Ok(image),
                    Err(error) => {
                        tracing::debug!(image = %place.0, %error, "not read");
                        last = error;
                    }
                }
            }
            self.memory.remember(question.clone(), last.clone()).await;
            Err(last)
        });
        self.memory.ask(question.clone(), asking).await
    }

    /// What the same asker was told before, without asking anybody: an image by its digest at any time,
    /// one by its tag for `age`, and a failure for a moment.
    pub async fn recall(
        &self,
        image: &Reference,
        credentials: &impl Credentials,
        age: Duration,
    ) -> Option<Result<Arc<Image>, Error>> {
        self.recall_with(image, Wanted::Base, credentials, age).await
    }

    /// The same with something else than the configuration.
    pub async fn recall_with(
        &self,
        image: &Reference,
        wanted: Wanted,
        credentials: &impl Credentials,
        age: Duration,
    ) -> Option<Result<Arc<Image>, Error>> {
        let places = match self.places(image, credentials).await {
            Ok(places) => places,
            Err(error) => return Some(Err(error)),
        };
        for (reference, credentials) in &places {
            for credential in credentials.iter().map(Some).chain([None]) {
                let asker = Identity::from_credential(credential);
                if let Some(image) = self.memory.recall(reference, wanted, asker, age).await {
                    return Some(Ok(image));
                }
            }
        }
        self.memory.failure(&question(&places, wanted)).await.map(Err)
    }

    /// The first of the keys that signed the image of this digest, in any place where the image may be.
    pub async fn signed_by<'k>(
        &self,
        image: &Reference,
        digest: &Digest,
        keys: &'k [VerifyingKey],
        credentials: &impl Credentials,
    ) -> Result<&'k VerifyingKey, Error> {
        let tag: Reference =
            format!("{}:{}", image.name(), attached::tag(digest, "sig")).parse()?;
        let mut failure = Error::Unsigned { at: image.name_at(digest) };
        for (reference, credentials) in self.places(&tag, credentials).await? {
            for credential in credentials.iter().map(Some).chain([None]) {
                let repository = self.client.repository(&reference, credential);
                match attached(repository, LONGEST_SIGNATURE).await {
                    Ok(layers) => {
                        let signed = |key: &&VerifyingKey| {
                            layers.iter().any(|layer| key.signed(digest, layer))
                        };
                        if let Some(key) = keys.iter().find(signed) {
                            return Ok(key);
                        }
                        break;
                    }
                    Err(Error::NotFound { .. } | Error::Unauthorised { .. }) => {}
                    Err(error) => {
                        failure = error;
                        break;
                    }
                }
            }
        }
        Err(failure)
    }

    /// Where to look for an image, and what may be shown there.
    async fn places(
        &self,
        image: &Reference,
        credentials: &impl Credentials,
    ) -> Result<Vec<Place>, Error> {
        let candidates = self.client.config().registries.candidates(&image.to_string());
        let mut places = Vec::new();
        for place in candidates {
            let reference: Reference = place.reference.parse()?;
            places.push((reference, credentials.for_repository(&place.repository).await));
        }
        if places.is_empty() {
            return Err(Error::Blocked { at: image.to_string() });
        }
        Ok(places)
    }

    async fn look_in(&self, place: &Place, wanted: Wanted) -> Result<Arc<Image>, Error> {
        let limit = self.client.config().limits.lookup;
        let timed_out = Error::TimedOut {
            host: place.0.host().to_owned(),
            what: "the whole lookup took too long",
        };
        tokio::time::timeout(limit, self.look_as_each(place, wanted, limit))
            .await
            .unwrap_or(Err(timed_out))
    }

    /// With each credential in turn, until one of them opens the repository.
    async fn look_as_each(
        &self,
        (reference, credentials): &Place,
        wanted: Wanted,
        limit: Duration,
    ) -> Result<Arc<Image>, Error> {
        let deadline = Instant::now() + limit;
        let mut tried = HashSet::new();
        let askers: Vec<(Option<&Credential>, Identity)> = credentials
            .iter()
            .map(Some)
            .chain([None])
            .map(|credential| (credential, Identity::from_credential(credential)))
            .filter(|(_, identity)| tried.insert(*identity))
            .collect();
        if let Some(digest) = reference.digest() {
            let place = ContentKey::new(reference, digest, wanted);
            for (_, identity) in &askers {
                if let Some(image) = self.memory.proven(&place, *identity).await {
                    return Ok(image);
                }
            }
        }
        let mut failure = None;
        for (credential, identity) in askers {
            let repository = self.client.repository(reference, credential);
            match self.resolve(reference, wanted, repository).await {
                Ok((digest, manifest)) => {
                    let place = ContentKey::new(reference, &digest, wanted);
                    self.memory.prove(reference, &place, identity).await;
                    let layers = Layers {
                        repository,
                        unpacking: &self.unpacking,
                        deadline,
                        file: wanted.longest_file(repository.limits()),
                    };
                    let read = || image::fetch(layers, &digest, wanted, manifest.clone());
                    return self.memory.image(&place, read).await;
                }
                // A registry that hides what may not be seen says that it is not there. The answer to a
                // credential weighs more than the one that everybody gets.
                Err(error @ Error::NotFound { .. }) if credential.is_some() => {
                    failure = Some(error);
                }
                Err(error @ (Error::Unauthorised { .. } | Error::NotFound { .. })) => {
                    failure.get_or_insert(error);
                }
                Err(error) => return Err(error),
            }
        }
        Err(failure.unwrap_or_else(|| Error::Unauthorised { at: reference.to_string() }))
    }

    /// The digest as the registry tells this asker now, with the content where it came along.
    async fn resolve(
        &self,
        reference: &Reference,
        wanted: Wanted,
        repository: Repository<'_>,
    ) -> Result<(Digest, Option<Bytes>), Error> {
        if self.memory.is_known(reference, wanted) {
            match repository.head().await {
                Ok(Some(digest)) => return Ok((digest, None)),
                // Registries that do not say a digest, or do not know the method.
                Ok(None) | Err(Error::Unexpected { .. }) => {}
                Err(error) => return Err(error),
            }
        }
        let (digest, content) = repository.manifest().await?;
        Ok((digest, Some(content)))
    }
}

fn question(places: &[Place], wanted: Wanted) -> Question {
    let place =
        |(reference, credentials): &Place| (reference.clone(), Identity::of_all(credentials));
    Question(places.iter().map(place).collect(), wanted)
}
