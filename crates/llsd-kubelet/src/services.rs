//! Services on loopback: each connection goes to one of the pods that connections are made to at that
//! moment, in turn. One HTTP server for all of them besides, for programs that know a single address.

use std::{
    collections::BTreeMap,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use anyhow::Context;
use axum::{
    Router,
    body::{Body, to_bytes},
    extract::{Request, State},
    http::{HeaderName, StatusCode, header},
    response::{IntoResponse, Response},
};
use k8s_openapi::api::core::v1::Service;
use kube::Api;
use tokio::net::{TcpListener, UnixStream};

use crate::{
    context::KubeletContext,
    network::{self, Network},
};

/// Far more than a test sends.
const LONGEST_BODY: usize = 64 << 20;
/// They belong to one connection, and here are two.
const OF_THE_CONNECTION: [HeaderName; 4] =
    [header::HOST, header::CONNECTION, header::TRANSFER_ENCODING, header::CONTENT_LENGTH];

/// Whose turn it is, over all Services.
static TURN: AtomicUsize = AtomicUsize::new(0);

/// The addresses of Services, each opened when it is first asked for.
#[derive(Debug, Default)]
pub(crate) struct Services(Mutex<BTreeMap<(String, String), SocketAddr>>);

impl Services {
    /// An address that leads to the first port of a Service.
    pub(crate) fn address(
        &self,
        kubelet: &Arc<KubeletContext>,
        namespace: &str,
        service: &str,
    ) -> io::Result<SocketAddr> {
        let mut services = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let name = (namespace.to_owned(), service.to_owned());
        if let Some(address) = services.get(&name) {
            return Ok(*address);
        }
        let address = open(kubelet, namespace, service)?;
        services.insert(name, address);
        Ok(address)
    }
}

fn open(kubelet: &Arc<KubeletContext>, namespace: &str, service: &str) -> io::Result<SocketAddr> {
    let (context, name) = (Arc::clone(kubelet), (namespace.to_owned(), service.to_owned()));
    let dial = move || {
        let (context, (namespace, service)) = (Arc::clone(&context), name.clone());
        async move { connect(&context, &namespace, &service).await }
    };
    let (address, _until_the_end) = network::listen(&kubelet.runtime, dial)?;
    Ok(address)
}

async fn connect(
    kubelet: &KubeletContext,
    namespace: &str,
    service: &str,
) -> io::Result<UnixStream> {
    let backend = find(kubelet, namespace, service).await.map_err(io::Error::other)?;
    backend.network.connect(backend.port).await
}

/// A pod that is ready, and how it serves a Service.
struct Backend {
    network: Arc<Network>,
    port: u16,
    https: bool,
}

async fn find(kubelet: &KubeletContext, namespace: &str, name: &str) -> anyhow::Result<Backend> {
    let services: Api<Service> = Api::namespaced(kubelet.client.clone(), namespace);
    let service = services.get_opt(name).await?;
    let service = service.with_context(|| format!("there is no Service {name} in {namespace}"))?;
    let pods = kubelet.records().into_iter();
    let pods: Vec<_> =
        pods.filter_map(|pod| Some((pod.serves(namespace, &service)?, pod))).collect();
    let routed: Vec<_> = pods.iter().filter(|(_, pod)| pod.is_routed()).collect();
    // Where nobody else is left, a pod that is about to end still gets connections.
    let serving = || pods.iter().filter(|(_, pod)| pod.snapshot.borrow().ready()).collect();
    let pods: Vec<_> = if routed.is_empty() { serving() } else { routed };
    let turn = TURN.fetch_add(1, Ordering::Relaxed) % pods.len().max(1);
    let (port, pod) = pods.get(turn).with_context(|| format!("no pod of {name} is ready"))?;
    let network = pod.network().with_context(|| format!("pod {} refuses connections", pod.name))?;
    let port = *port;
    let first = service.spec.as_ref().and_then(|spec| spec.ports.as_ref()?.first());
    let https = first.and_then(|port| port.app_protocol.as_deref()) == Some("https");
    Ok(Backend { network, port, https })
}

/// Serves `/<namespace>/<service>/<path>` for every Service, from the kubelet's own runtime.
pub(crate) async fn serve(kubelet: Arc<KubeletContext>) -> io::Result<SocketAddr> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await?;
    let address = listener.local_addr()?;
    let app = Router::new().fallback(pass_on).with_state(kubelet);
    tokio::spawn(async move {
        // Ends only with the runtime.
        let _ = axum::serve(listener, app).await;
    });
    Ok(address)
}

async fn pass_on(State(kubelet): State<Arc<KubeletContext>>, request: Request) -> Response {
    // As it was sent, with what is encoded in it.
    let whole = request.uri().path_and_query().map_or("/", |path| path.as_str()).to_owned();
    let mut parts = whole.trim_start_matches('/').splitn(3, '/');
    let (Some(namespace), Some(service)) = (parts.next(), parts.next()) else {
        return (StatusCode::NOT_FOUND, "/<namespace>/<service>/<path>\n").into_response();
    };
    let path = parts.next().unwrap_or_default();
    match try_pass_on(&kubelet, namespace, service, path, request).await {
        Ok(answer) => answer,
        Err(error) => (StatusCode::SERVICE_UNAVAILABLE, format!("{error:#}\n")).into_response(),
    }
}

async fn try_pass_on(
    kubelet: &KubeletContext,
    namespace: &str,
    service: &str,
    path: &str,
    request: Request,
) -> anyhow::Result<Response> {
    let backend = find(kubelet, namespace, service).await?;
    let scheme = if backend.https { "https" } else { "http" };
    let address = backend.network.address(backend.port)?;
    let (parts, body) = request.into_parts();
    let mut headers = parts.headers;
    for name in OF_THE_CONNECTION {
        headers.remove(name);
    }
    let answer = kubelet
        .http
        .request(parts.method, format!("{scheme}://{address}/{path}"))
        .headers(headers)
        .body(to_bytes(body, LONGEST_BODY).await?)
        .send()
        .await?;
    let (mut parts, body) = http::Response::<reqwest::Body>::from(answer).into_parts();
    for name in OF_THE_CONNECTION {
        parts.headers.remove(name);
    }
    Ok(Response::from_parts(parts, Body::new(body)))
}
