//! A registry that answers whatever a test wants it to, and notes what it was asked.

use std::sync::{Arc, Mutex};

use axum::{
    Router,
    body::Body,
    extract::Request,
    http::{StatusCode, header::AUTHORIZATION},
    response::Response,
};
use futures::future::BoxFuture;
use llsd_registry::{Config, Registry};
use llsd_testkit::TestImage;
use tokio::{net::TcpListener, task::JoinHandle};

use crate::setup::allow_plain;

/// What one request said: its method and path, and its authorisation.
pub type Asked = (String, Option<String>);

pub struct Hostile {
    pub host: String,
    asked: Arc<Mutex<Vec<Asked>>>,
    task: JoinHandle<()>,
}

impl Drop for Hostile {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Hostile {
    /// `answer` gets the path and says the response; `None` falls through to an open registry
    /// without anything in it.
    pub async fn start<F>(answer: F) -> Self
    where
        F: Fn(String) -> BoxFuture<'static, Option<Response>> + Clone + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let host = listener.local_addr().unwrap().to_string();
        let asked = Arc::new(Mutex::new(Vec::new()));
        let notes = asked.clone();
        let app = Router::new().fallback(move |request: Request| {
            let path = request.uri().to_string();
            let authorization = request.headers().get(AUTHORIZATION);
            let authorization = authorization.map(|value| value.to_str().unwrap().to_owned());
            let note = format!("{} {path}", request.method());
            notes.lock().unwrap().push((note, authorization));
            let answer = answer.clone();
            async move {
                match answer(path.clone()).await {
                    Some(response) => response,
                    None if path == "/v2/" => status(200, ""),
                    None => status(404, ""),
                }
            }
        });
        let task = tokio::spawn(async move {
            let _ = axum::serve(listener, app).await;
        });
        Self { host, asked, task }
    }

    pub fn asked(&self) -> Vec<Asked> {
        self.asked.lock().unwrap().clone()
    }

    pub fn image(&self) -> String {
        format!("{}/a/b:1", self.host)
    }

    pub fn config(&self) -> Config {
        let mut config = Config::default();
        allow_plain(&mut config, &self.host);
        config
    }

    pub fn registry(&self) -> Registry {
        Registry::new(self.config())
    }
}

pub fn status(code: u16, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = StatusCode::from_u16(code).unwrap();
    response
}

pub fn with_header(mut response: Response, name: &'static str, value: &str) -> Response {
    response.headers_mut().insert(name, value.parse().unwrap());
    response
}

/// Serves an image honestly; a test then lies about a part of it.
pub fn honest(image: &TestImage, path: &str) -> Option<Response> {
    if path.contains("/manifests/") {
        return Some(status(200, image.manifest()));
    }
    if path.ends_with(&digest_of(&image.config())) {
        return Some(status(200, image.config()));
    }
    let layer = image.layers.iter().find(|layer| path.ends_with(&layer.digest()))?;
    Some(status(200, layer.bytes.clone()))
}

pub fn digest_of(content: &[u8]) -> String {
    llsd_registry::Digest::sha256(content).to_string()
}
