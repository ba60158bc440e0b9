//! Stands between an operator and the API server. It can let a number of requests through and then
//! nothing more, and tell when the last one was done: the moment in which a crash is worst, because
//! the API server has acted and the operator does not know. Or it can keep writes waiting, or cut the streams
//! of lists.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Request, State};
use axum::response::Response;
use kube::Client;
use llsd_testkit::ControlPlane;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};

/// Which requests count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Counted {
    Writes,
    /// Everything but watches, which only end with the process.
    All,
}

/// The way to the API server.
#[derive(Clone, Debug)]
pub struct Gate {
    shared: Arc<Shared>,
    kubeconfig: PathBuf,
}

#[derive(Debug)]
struct Shared {
    counts: Mutex<Counts>,
    last_done: Notify,
    /// Which requests wait.
    held: watch::Sender<Held>,
    somebody_waits: Notify,
    cuts_streamed_lists: AtomicBool,
}

/// Requests that wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Held {
    Nothing,
    /// Those of the lease excepted.
    Writes,
    ReadsOfSecrets,
}

#[derive(Debug)]
struct Counts {
    counted: Counted,
    passed: usize,
    limit: usize,
}

#[derive(Clone)]
struct Upstream {
    client: Client,
    shared: Arc<Shared>,
}

/// What becomes of a request.
enum Passage {
    Through,
    /// Done, and never answered.
    Last,
    Held,
    /// Answered with nothing.
    Cut,
}

impl Gate {
    /// Open without limit, as `user`.
    pub async fn open(cluster: &ControlPlane, user: &str, name: &str) -> Self {
        let counts = Counts { counted: Counted::All, passed: 0, limit: usize::MAX };
        let shared = Arc::new(Shared {
            counts: Mutex::new(counts),
            last_done: Notify::new(),
            held: watch::Sender::new(Held::Nothing),
            somebody_waits: Notify::new(),
            cuts_streamed_lists: AtomicBool::new(false),
        });
        let upstream =
            Upstream { client: cluster.client_for(user, &[]), shared: Arc::clone(&shared) };
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let router = Router::new().fallback(forward).with_state(upstream);
        tokio::spawn(async move { axum::serve(listener, router).await });
        let kubeconfig = cluster.dir().join(format!("{name}.gate"));
        std::fs::write(&kubeconfig, content(port)).unwrap();
        Self { shared, kubeconfig }
    }

    /// For whoever shall pass.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// From now on only so many, of those that count.
    pub fn limit(&self, counted: Counted, limit: usize) {
        *self.shared.counts.lock().unwrap() = Counts { counted, passed: 0, limit };
    }

    /// From now on all; how many had passed, of those that counted.
    pub fn lift(&self) -> usize {
        let mut counts = self.shared.counts.lock().unwrap();
        let all = Counts { counted: counts.counted, passed: 0, limit: usize::MAX };
        std::mem::replace(&mut *counts, all).passed
    }

    /// Writes wait from now on, those of the lease excepted.
    pub fn hold_writes(&self) {
        self.shared.held.send_replace(Held::Writes);
    }

    /// Reads of Secrets wait from now on.
    pub fn hold_reads_of_secrets(&self) {
        self.shared.held.send_replace(Held::ReadsOfSecrets);
    }

    /// A list that is to be streamed ends from now on before it has begun.
    pub fn cut_streamed_lists(&self) {
        self.shared.cuts_streamed_lists.store(true, Ordering::SeqCst);
    }

    /// Lets go on what waits.
    pub fn release(&self) {
        self.shared.held.send_replace(Held::Nothing);
    }

    /// Returns once a request waits.
    pub async fn somebody_waits(&self) {
        self.shared.somebody_waits.notified().await;
    }

    /// Returns once the API server has done the last request.
    pub async fn last_done(&self) {
        self.shared.last_done.notified().await;
    }
}

fn content(port: u16) -> String {
    format!(
        "apiVersion: v1\nkind: Config\ncurrent-context: gate\n\
         clusters: [{{name: gate, cluster: {{server: \"http://127.0.0.1:{port}\"}}}}]\n\
         users: [{{name: gate, user: {{}}}}]\n\
         contexts: [{{name: gate, context: {{cluster: gate, user: gate}}}}]\n"
    )
}

impl Held {
    fn holds(self, request: &Request) -> bool {
        let (is_read, path) = (request.method() == http::Method::GET, request.uri().path());
        match self {
            Self::Nothing => false,
            Self::Writes => !is_read && !path.contains("/leases"),
            Self::ReadsOfSecrets => is_read && path.contains("/secrets/"),
        }
    }
}

impl Shared {
    fn decide(&self, request: &Request) -> Passage {
        let mut counts = self.counts.lock().unwrap();
        let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
        let is_counted = match counts.counted {
            Counted::Writes => request.method() != http::Method::GET,
            Counted::All => !is_watch,
        };
        let is_streamed_list =
            request.uri().query().is_some_and(|query| query.contains("sendInitialEvents=true"));
        if is_streamed_list && self.cuts_streamed_lists.load(Ordering::SeqCst) {
            return Passage::Cut;
        }
        if counts.passed >= counts.limit {
            return Passage::Held;
        }
        counts.passed += usize::from(is_counted);
        if is_counted && counts.passed == counts.limit { Passage::Last } else { Passage::Through }
    }
}

async fn forward(State(upstream): State<Upstream>, request: Request) -> Response {
    let passage = upstream.shared.decide(&request);
    if matches!(passage, Passage::Held) {
        return std::future::pending().await;
    }
    if matches!(passage, Passage::Cut) {
        return Response::new(Body::empty());
    }
    let held = *upstream.shared.held.borrow();
    if held.holds(&request) {
        upstream.shared.somebody_waits.notify_one();
        let _ = upstream.shared.held.subscribe().wait_for(|held| *held == Held::Nothing).await;
    }
    let (mut parts, body) = request.into_parts();
    let body = to_bytes(body, usize::MAX).await.unwrap();
    parts.headers.remove(http::header::HOST);
    let request = http::Request::from_parts(parts, kube::client::Body::from(body.to_vec()));
    let answer = upstream.client.send(request).await.expect("the API server answers");
    if matches!(passage, Passage::Last) {
        upstream.shared.last_done.notify_one();
        return std::future::pending().await;
    }
    answer.map(Body::new)
}
