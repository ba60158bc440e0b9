//! The sidecar that signs in to Redis for the server, which can send neither a password nor TLS.
//! A native sidecar: it is there before the server starts and still there while it stops.

use k8s_openapi::api::core::v1::{Container, ExecAction, Probe};

use super::{Blueprint, command, environment, labels, resources, security, volumes};
use crate::paths::{TRUST_DIR, TRUST_FILE};
use crate::wiring::REDIS_SIDECAR_PORT;

/// The operator's own image, where the operator does not know it: the release's.
pub const DEFAULT_OPERATOR_IMAGE: &str =
    concat!("docker.io/llamastack/llsd-operator:", env!("CARGO_PKG_VERSION"));

/// The variable from which the sidecar reads the password.
const PASSWORD: &str = "LLSD_STORAGE_KV_PASSWORD";

pub(super) fn redis_proxy(blueprint: &Blueprint) -> Option<Container> {
    let redis = blueprint.redis.as_ref()?;
    let image = blueprint.facts.operator.image.as_deref().unwrap_or(DEFAULT_OPERATOR_IMAGE);
    let listen = format!("127.0.0.1:{REDIS_SIDECAR_PORT}");
    let mut env: Vec<_> =
        redis.password.iter().map(|target| environment::secret(PASSWORD, target)).collect();
    let trusts = blueprint.ca_bundle.is_some();
    if trusts {
        env.push(environment::literal("SSL_CERT_FILE", TRUST_FILE));
    }
    Some(Container {
        name: labels::REDIS_SIDECAR.into(),
        image: Some(image.into()),
        args: Some(
            ["redis-proxy", "--listen", &listen, "--target", &redis.target]
                .map(command::escaped)
                .into(),
        ),
        env: Some(env).filter(|env| !env.is_empty()),
        volume_mounts: trusts.then(|| vec![volumes::read_only(volumes::TRUST, TRUST_DIR)]),
        restart_policy: Some("Always".into()),
        // The server gives up when it cannot reach Redis at start, so it waits for Redis here. The
        // check needs some seconds itself to hear what Redis says.
        startup_probe: Some(Probe {
            exec: Some(ExecAction {
                command: Some(["llsd", "redis-proxy", "--check"].map(str::to_owned).into()),
            }),
            period_seconds: Some(5),
            timeout_seconds: Some(12),
            failure_threshold: Some(60),
            ..Default::default()
        }),
        resources: Some(resources::of_sidecar()),
        security_context: Some(security::of_container()),
        ..Default::default()
    })
}
