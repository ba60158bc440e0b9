//! The token service beside a registry: knows users and their repositories, and signs what the
//! registry trusts.

use std::{
    net::Ipv4Addr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};

use anyhow::anyhow;
use aws_lc_rs::{
    rand::SystemRandom,
    signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair},
};
use axum::{
    Form, Json, Router,
    extract::{Query, State},
    http::{HeaderMap, StatusCode, header::AUTHORIZATION},
    routing::get,
};
use base64::{Engine, prelude::BASE64_STANDARD, prelude::BASE64_URL_SAFE_NO_PAD};
use rcgen::{CertificateParams, KeyPair};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::{net::TcpListener, task::JoinHandle};

use super::user::User;

pub(super) const SERVICE: &str = "test-registry";
pub(super) const ISSUER: &str = "test-tokens";
const PUBLIC: &str = "public/";
/// How long a token is good for, in seconds.
const LIFE: u64 = 300;

struct Signer {
    users: Vec<User>,
    key: EcdsaKeyPair,
    certificate: rcgen::Certificate,
    issued: AtomicUsize,
}

pub(super) struct TokenService {
    host: String,
    signer: Arc<Signer>,
    task: JoinHandle<()>,
}

impl std::fmt::Debug for TokenService {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "TokenService({})", self.host)
    }
}

impl Drop for TokenService {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl TokenService {
    pub(super) async fn start(users: Vec<User>) -> anyhow::Result<Self> {
        let key = KeyPair::generate()?;
        let certificate = CertificateParams::default().self_signed(&key)?;
        let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key.serialize_der())
            .map_err(|error| anyhow!("the signing key is not usable: {error}"))?;
        let signer = Arc::new(Signer { users, key, certificate, issued: AtomicUsize::new(0) });
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
        let host = listener.local_addr()?.to_string();
        let app = Router::new().route("/token", get(with_password).post(with_refresh_token));
        let app = app.with_state(signer.clone());
        let task = tokio::spawn(async move {
            // Ends only with the task.
            let _ = axum::serve(listener, app).await;
        });
        Ok(Self { host, signer, task })
    }

    pub(super) fn host(&self) -> &str {
        &self.host
    }

    pub(super) fn realm(&self) -> String {
        format!("http://{}/token", self.host)
    }

    pub(super) fn certificate(&self) -> String {
        self.signer.certificate.pem()
    }

    pub(super) fn issued(&self) -> usize {
        self.signer.issued.load(Ordering::Relaxed)
    }

    /// For the test itself, which may write everywhere.
    pub(super) fn for_pushing(&self, repository: &str) -> anyhow::Result<String> {
        let access =
            json!({ "type": "repository", "name": repository, "actions": ["pull", "push"] });
        self.signer.sign("test", &[access])
    }
}

#[derive(Deserialize)]
struct Wanted {
    scope: Option<String>,
    grant_type: Option<String>,
    refresh_token: Option<String>,
}

type TokenAnswer = Result<Json<Value>, StatusCode>;

async fn with_password(
    State(signer): State<Arc<Signer>>,
    headers: HeaderMap,
    // Pairs, because a query may name several scopes.
    Query(query): Query<Vec<(String, String)>>,
) -> TokenAnswer {
    let user = match headers.get(AUTHORIZATION) {
        None => None,
        Some(value) => {
            let pair = value.to_str().ok().and_then(|text| text.strip_prefix("Basic "));
            let pair = pair.and_then(|text| BASE64_STANDARD.decode(text).ok());
            let pair = pair.and_then(|bytes| String::from_utf8(bytes).ok());
            let matches = |user: &&User| {
                pair.as_deref() == Some(format!("{}:{}", user.name, user.password).as_str())
            };
            Some(signer.users.iter().find(matches).ok_or(StatusCode::UNAUTHORIZED)?)
        }
    };
    let scopes = query.iter().filter(|(name, _)| name == "scope").map(|(_, scope)| scope.as_str());
    signer.answer(user, scopes, "token")
}

async fn with_refresh_token(
    State(signer): State<Arc<Signer>>,
    Form(wanted): Form<Wanted>,
) -> TokenAnswer {
    if wanted.grant_type.as_deref() != Some("refresh_token") {
        return Err(StatusCode::BAD_REQUEST);
    }
    let matches = |user: &&User| Some(user.identity_token()) == wanted.refresh_token;
    let user = signer.users.iter().find(matches).ok_or(StatusCode::UNAUTHORIZED)?;
    let scopes = wanted.scope.iter().flat_map(|scopes| scopes.split(' '));
    signer.answer(Some(user), scopes, "access_token")
}

/// What of a scope this user may do: as much of it as there is, or nothing.
fn granted(user: Option<&User>, scope: &str) -> Option<Value> {
    let (name, actions) = scope.strip_prefix("repository:")?.rsplit_once(':')?;
    let own = user
        .filter(|user| user.repositories.iter().any(|prefix| name.starts_with(prefix.as_str())));
    let may = |action: &&str| match *action {
        "pull" => own.is_some() || name.starts_with(PUBLIC),
        "push" => own.is_some_and(|user| user.pushes),
        _ => false,
    };
    let actions: Vec<&str> = actions.split(',').filter(may).collect();
    (!actions.is_empty()).then(|| json!({ "type": "repository", "name": name, "actions": actions }))
}

impl Signer {
    fn answer<'a>(
        &self,
        user: Option<&User>,
        scopes: impl Iterator<Item = &'a str>,
        field: &str,
    ) -> TokenAnswer {
        self.issued.fetch_add(1, Ordering::Relaxed);
        let access: Vec<Value> = scopes.filter_map(|scope| granted(user, scope)).collect();
        let name = user.map_or("", |user| &user.name);
        let token = self.sign(name, &access).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)?;
        Ok(Json(json!({ field: token, "expires_in": LIFE })))
    }

    fn sign(&self, subject: &str, access: &[Value]) -> anyhow::Result<String> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        // The registry takes the certificate from the token and checks it against its bundle.
        let certificate = BASE64_STANDARD.encode(self.certificate.der());
        let header = json!({ "typ": "JWT", "alg": "ES256", "x5c": [certificate] });
        let claims = json!({
            "iss": ISSUER, "sub": subject, "aud": SERVICE, "jti": now.to_string(),
            "nbf": now - 10, "iat": now, "exp": now + LIFE, "access": access,
        });
        let encode = |value: &Value| BASE64_URL_SAFE_NO_PAD.encode(value.to_string());
        let text = format!("{}.{}", encode(&header), encode(&claims));
        let signature = self
            .key
            .sign(&SystemRandom::new(), text.as_bytes())
            .map_err(|error| anyhow!("cannot sign: {error}"))?;
        Ok(format!("{text}.{}", BASE64_URL_SAFE_NO_PAD.encode(signature)))
    }
}
