//! Who may read the figures: those whose token the API server knows and lets `get` the path, as
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
/// How many answers are remembered, and how many are asked for at once: anybody can make up tokens.
const MOST: usize = 256;
const AT_ONCE: usize = 4;
/// How long a reader waits for an answer.
const PATIENCE: Duration = Duration::from_secs(5);
/// No token is longer.
const LONGEST: usize = 16 * 1024;

/// Those who may read the figures. Clones share what is known of them.
#[derive(Clone, Default)]
pub struct Readers(Arc<Interviews>);

struct Interviews {
    client: OnceLock<Client>,
    /// By the hash of a token: the answer, and until when it holds.
    answers: Mutex<HashMap<String, (StatusCode, Instant)>>,
    room: Semaphore,
    /// The log says that nobody can be asked; once, because anybody can bring it about.
    told: AtomicBool,
}

impl Default for Interviews {
    fn default() -> Self {
        let (client, answers) = (OnceLock::new(), Mutex::default());
        Self { client, answers, room: Semaphore::new(AT_ONCE), told: AtomicBool::default() }
    }
}

impl fmt::Debug for Readers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Readers")
    }
}

impl Readers {
    /// From now on the API server can be asked; before, nobody is let in.
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
        if let Some(answer) = self.remembered(&key) {
            return answer;
        }
        let Some(client) = self.0.client.get() else {
            return StatusCode::SERVICE_UNAVAILABLE;
        };
        let asked = async {
            let _room = self.0.room.acquire().await.ok()?;
            Some(ask(client, token).await)
        };
        match timeout(PATIENCE, asked).await {
            Ok(Some(Ok(answer))) => {
                self.0.told.store(false, Ordering::Relaxed);
                self.remember(key, answer);
                answer
            }
            Ok(Some(Err(error))) => {
                if !self.0.told.swap(true, Ordering::Relaxed) {
                    tracing::warn!(%error, "nobody can tell who reads the figures");
                }
                StatusCode::SERVICE_UNAVAILABLE
            }
            Ok(None) | Err(_) => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    fn remembered(&self, key: &str) -> Option<StatusCode> {
        let answers = self.0.answers.lock().unwrap_or_else(PoisonError::into_inner);
        answers.get(key).filter(|(_, until)| Instant::now() < *until).map(|(answer, _)| *answer)
    }

    fn remember(&self, key: String, answer: StatusCode) {
        let now = Instant::now();
        let until = now + if answer == StatusCode::OK { GRANTED } else { REFUSED };
        let mut answers = self.0.answers.lock().unwrap_or_else(PoisonError::into_inner);
        if answers.len() >= MOST {
            answers.retain(|_, (answer, until)| *answer == StatusCode::OK && now < *until);
        }
        if answers.len() < MOST {
            answers.insert(key, (answer, until));
        }
    }
}

/// Whose the token is, and whether they may.
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
