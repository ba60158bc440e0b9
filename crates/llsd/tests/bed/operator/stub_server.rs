//! Stands in for every running server: healthy, of one release, with one provider. For an operator
//! that is told by `--server-url-template` where servers are.

use std::net::SocketAddr;

use axum::Router;
use axum::routing::get;
use tokio::net::TcpListener;

/// Serves until the test's runtime ends; where.
pub async fn serve() -> SocketAddr {
    let answers = Router::new()
        .route("/v1/health", get(async || r#"{"status": "OK"}"#))
        .route("/v1/version", get(async || r#"{"version": "0.7.3"}"#))
        .route(
            "/v1/providers",
            get(async || {
                r#"{"data": [{"api": "inference", "provider_id": "vllm",
                    "provider_type": "remote::vllm", "health": {"status": "OK"}}]}"#
            }),
        );
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move { axum::serve(listener, answers).await });
    address
}
