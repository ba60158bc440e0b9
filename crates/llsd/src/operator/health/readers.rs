//! Who may read the figures: users whose token the API server knows and allows to `get` the path, as
//! kube-rbac-proxy asks it. Answers are remembered for a while, so that a Prometheus that reads every few
//! seconds costs a question now and then.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use axum::http::header::AUTHORIZATION;
use axum::http::{HeaderMap, StatusCode};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec, UserInfo};
use k8s_openapi::api::authorization::v1::{
    NonResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use llsd_install::names::METRICS_PATH;
use llsd_plan::values::sha256;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout};

/// How long an answer holds.
const GRANTED: Duration = Duration::from_mins(1);
const REFUSED: Duration = Duration::from_secs(10);
/// How much longer a reader is served who was let in, while the API server is asked again.
const GRACE: Duration = Duration::from_mins(1);
/// For how long after that the token keeps its place before unknown ones.
const KEPT: Duration = Duration::from_hours(1);
/// How many answers are remembered.
const MOST: usize = 256;
/// How many questions are asked at once. Any client can make up tokens, so those that were granted before
/// have a place of their own.
const UNKNOWN_AT_ONCE: usize = 3;
const GRANTED_AT_ONCE: usize = 1;
/// How long a reader waits for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// No token is longer.
const LONGEST: usize = 16 * 1024;

/// The users who may read the figures. Clones share what is known of them.
#[derive(Clone, Default)]
pub struct Readers(Arc<Interviews>);

struct Interviews {
    client: OnceLock<Client>,
    /// By the hash of a token.
    answers: Mutex<HashMap<String, ReaderAnswer>>,
    room_for_unknown: Semaphore,
    room_for_granted: Semaphore,
    /// The log says that tokens cannot be verified; once, because any client can cause it.
    told: AtomicBool,
}

/// What the API server said of a token.
struct ReaderAnswer {
    code: StatusCode,
    /// Until then it is not asked again.
    until: Instant,
    /// Until then a reader who was let in is served while it is asked again.
    end: Instant,
}

/// What is known of a token.
enum ReaderToken {
    Answered(StatusCode),
    /// Its reader is served, and the API server must be asked again.
    Due,
    /// It was granted before, too long ago to be served without an answer.
    Lapsed,
    Unknown,
}

impl Default for Interviews {
    fn default() -> Self {
        Self {
            client: OnceLock::new(),
            answers: Mutex::default(),
            room_for_unknown: Semaphore::new(UNKNOWN_AT_ONCE),
            room_for_granted: Semaphore::new(GRANTED_AT_ONCE),
            told: AtomicBool::default(),
        }
    }
}

impl fmt::Debug for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Readers")
    }
}

impl Readers {
    /// From now on the API server can be asked; before, every reader is turned away.
    pub fn ask(&self, client: Client) {
        let _ = self.0.client.set(client);
    }

    /// Whether a request with these headers is answered: 200, or why not.
    pub(super) async fn judge(&self, headers: &HeaderMap) -> StatusCode {
        let shown = headers.get(AUTHORIZATION).and_then(|value| value.to_str().ok());
        let token = shown.and_then(|text| text.strip_prefix("Bearer ")).map(str::trim);
        let Some(token) = token.filter(|token| (1..=LONGEST).contains(&token.len())) else {
            return StatusCode::UNAUTHORIZED;
        };
        let key = sha256::hex(token);
        match self.known(&key) {
            ReaderToken::Answered(code) => code,
            ReaderToken::Due => {
                let (readers, token) = (self.clone(), token.to_owned());
                tokio::spawn(async move {
                    readers.review(key, &token, &readers.0.room_for_granted).await
                });
                StatusCode::OK
            }
            ReaderToken::Lapsed => self.review(key, token, &self.0.room_for_granted).await,
            ReaderToken::Unknown => self.review(key, token, &self.0.room_for_unknown).await,
        }
    }

    /// Asks the API server as soon as there is room, and remembers what it says.
    async fn review(&self, key: String, token: &str, room: &Semaphore) -> StatusCode {
        let Some(client) = self.0.client.get() else {
            return StatusCode::SERVICE_UNAVAILABLE;
        };
        let asked = async {
            let _room = room.acquire().await.ok()?;
            Some(ask(client, token).await)
        };
        match timeout(PATIENCE, asked).await {
            Ok(Some(Ok(code))) => {
                self.0.told.store(false, Ordering::Relaxed);
                self.remember(key, code);
                code
            }
            Ok(Some(Err(error))) => {
                if !self.0.told.swap(true, Ordering::Relaxed) {
                    tracing::warn!(%error, "cannot verify tokens for {METRICS_PATH}");
                }
                StatusCode::SERVICE_UNAVAILABLE
            }
            Ok(None) | Err(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// A token that is due is not due again before an answer can have come.
    fn known(&self, key: &str) -> ReaderToken {
        let now = Instant::now();
        let mut answers = self.0.answers.lock().unwrap_or_else(PoisonError::into_inner);
        match answers.get_mut(key) {
            Some(answer) if now < answer.until => ReaderToken::Answered(answer.code),
            Some(answer) if answer.code != StatusCode::OK => ReaderToken::Unknown,
            Some(answer) if now < answer.end => {
                answer.until = answer.end.min(now + PATIENCE);
                ReaderToken::Due
            }
            Some(_) => ReaderToken::Lapsed,
            None => ReaderToken::Unknown,
        }
    }

    fn remember(&self, key: String, code: StatusCode) {
        let now = Instant::now();
        let was_granted = code == StatusCode::OK;
        let until = now + if was_granted { GRANTED } else { REFUSED };
        let end = if was_granted { until + GRACE } else { until };
        let mut answers = self.0.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MOST {
            answers.retain(|_, known| known.code == StatusCode::OK && now < known.end + KEPT);
        }
        if answers.len() < MOST || answers.contains_key(&key) {
            answers.insert(key, ReaderAnswer { code, until, end });
        }
    }
}

/// Asks the API server who the token belongs to, and whether that user may read.
async fn ask(client: &Client, token: &str) -> kube::Result<StatusCode> {
    let spec = TokenReviewSpec { token: Some(token.to_owned()), ..TokenReviewSpec::default() };
    let review = TokenReview { spec, ..TokenReview::default() };
    let reviews: Api<TokenReview> = Api::all(client.clone());
    let status = reviews.create(&PostParams::default(), &review).await?.status.unwrap_or_default();
    let Some(user) = status.user.filter(|_| status.authenticated == Some(true)) else {
        return Ok(StatusCode::UNAUTHORIZED);
    };
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let answer = reviews.create(&PostParams::default(), &about(user)).await?.status;
    let allowed = answer.is_some_and(|answer| answer.allowed);
    Ok(if allowed { StatusCode::OK } else { StatusCode::FORBIDDEN })
}

fn about(user: UserInfo) -> SubjectAccessReview {
    let UserInfo { username, uid, groups, extra } = user;
    SubjectAccessReview {
        spec: SubjectAccessReviewSpec {
            user: username,
            uid,
            groups,
            extra,
            non_resource_attributes: Some(NonResourceAttributes {
                path: Some(METRICS_PATH.to_owned()),
                verb: Some("get".to_owned()),
            }),
            ..SubjectAccessReviewSpec::default()
        },
        ..SubjectAccessReview::default()
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error;
    use std::sync::atomic::{AtomicU64, AtomicUsize};

    use kube::client::Body;
    use serde_json::{Value, json};
    use tokio::time::sleep;

    use super::*;

    /// An API server that takes its time. It knows tokens that begin with `known`.
    #[derive(Default)]
    struct SlowApi {
        seconds: AtomicU64,
        forbids: AtomicBool,
        /// How many tokens it was asked about.
        asked: AtomicUsize,
    }

    impl SlowApi {
        async fn answer(
            &self,
            request: http::Request<Body>,
        ) -> Result<http::Response<Body>, Box<dyn Error + Send + Sync>> {
            let is_about_a_token = request.uri().path().ends_with("tokenreviews");
            let body = request.into_body().collect_bytes().await?;
            let mut review: Value = serde_json::from_slice(&body)?;
            sleep(Duration::from_secs(self.seconds.load(Ordering::Relaxed))).await;
            review["status"] = if is_about_a_token {
                self.asked.fetch_add(1, Ordering::Relaxed);
                let token = review["spec"]["token"].as_str().unwrap_or_default();
                json!({"authenticated": token.starts_with("known"), "user": {"username": "a"}})
            } else {
                json!({"allowed": !self.forbids.load(Ordering::Relaxed)})
            };
            Ok(http::Response::new(Body::from(review.to_string().into_bytes())))
        }

        fn set(&self, seconds: u64) {
            self.seconds.store(seconds, Ordering::Relaxed);
        }

        fn asked(&self) -> usize {
            self.asked.load(Ordering::Relaxed)
        }
    }

    fn readers() -> (Readers, Arc<SlowApi>) {
        let api = Arc::new(SlowApi::default());
        let asked = api.clone();
        let service = tower::service_fn(move |request: http::Request<Body>| {
            let api = asked.clone();
            async move { api.answer(request).await }
        });
        let readers = Readers::default();
        readers.ask(Client::new(service, "default"));
        (readers, api)
    }

    async fn read(readers: &Readers, token: &str) -> u16 {
        let mut headers = HeaderMap::new();
        headers.insert(AUTHORIZATION, format!("Bearer {token}").parse().unwrap());
        readers.judge(&headers).await.as_u16()
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_who_was_let_in_does_not_wait_while_the_answer_is_renewed() {
        let (readers, api) = readers();
        assert_eq!(read(&readers, "known").await, 200);
        sleep(GRANTED).await;
        api.set(2);
        let before = Instant::now();
        for _ in 0..3 {
            assert_eq!(read(&readers, "known").await, 200);
        }
        assert_eq!(before.elapsed(), Duration::ZERO);
        sleep(PATIENCE).await;
        assert_eq!(api.asked(), 2, "one renewal");
        // What the renewal said holds as long as the first answer.
        sleep(GRANTED.saturating_sub(PATIENCE)).await;
        assert_eq!(read(&readers, "known").await, 200);
        assert_eq!(api.asked(), 2);
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_who_lost_the_right_is_turned_away_once_that_is_known() {
        let (readers, api) = readers();
        assert_eq!(read(&readers, "known").await, 200);
        api.forbids.store(true, Ordering::Relaxed);
        sleep(GRANTED).await;
        assert_eq!(read(&readers, "known").await, 200);
        sleep(Duration::from_secs(1)).await;
        assert_eq!(read(&readers, "known").await, 403);
    }

    #[tokio::test(start_paused = true)]
    async fn without_an_answer_a_reader_is_served_for_a_while_and_no_longer() {
        let (readers, api) = readers();
        assert_eq!(read(&readers, "known").await, 200);
        api.set(100);
        for _ in 0..11 {
            sleep(Duration::from_secs(10)).await;
            assert_eq!(read(&readers, "known").await, 200);
        }
        sleep(Duration::from_secs(10)).await;
        assert_eq!(read(&readers, "known").await, 503);
    }

    #[tokio::test(start_paused = true)]
    async fn made_up_tokens_do_not_push_out_one_that_was_granted_before() {
        let (readers, api) = readers();
        assert_eq!(read(&readers, "known").await, 200);
        sleep(GRANTED + GRACE).await;
        api.set(2);
        let flood: Vec<_> = (0..40)
            .map(|number| {
                let readers = readers.clone();
                tokio::spawn(async move { read(&readers, &format!("made-up-{number}")).await })
            })
            .collect();
        tokio::task::yield_now().await;
        assert_eq!(read(&readers, "known").await, 200);
        let mut answers = Vec::new();
        for answer in flood {
            answers.push(answer.await.unwrap());
        }
        assert!(answers.contains(&401) && answers.contains(&503), "{answers:?}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_full_memory_keeps_what_was_granted() {
        let (readers, api) = readers();
        assert_eq!(read(&readers, "known").await, 200);
        for number in 0..=MOST {
            assert_eq!(read(&readers, &format!("made-up-{number}")).await, 401);
        }
        let before = api.asked();
        assert_eq!(read(&readers, "known").await, 200);
        assert_eq!(api.asked(), before);
    }
}
