//! What runs before or beside the server: packages of external providers are installed, trusted
//! certificates joined, Redis is signed in to, and models are waited for.

use k8s_openapi::api::core::v1::{Container, ExecAction, Probe};

use super::{command, environment, external_providers, resources, security, volumes};
use crate::config::wiring::{AWAITED_MODELS, REDIS_SIDECAR_PORT};
use crate::objects::blueprint::Blueprint;
use crate::objects::{labels, start_program};
use crate::problems::Findings;
use crate::server::paths::{CA_BUNDLE_DIR, CA_BUNDLE_KEY, MODELS_PROGRAM, TRUST_DIR, TRUST_FILE};

/// The program of [`joined_trust`]. Its arguments: the resource's certificates, or nothing, and the file to
/// write.
pub const TRUST: &str = include_str!("../../../pod-programs/trust.py");

/// The variable from which the sidecar reads the password.
const PASSWORD: &str = "LLSD_STORAGE_KV_PASSWORD";

/// The sidecar comes after the container that writes what it trusts, and before the one that may wait
/// for hours, which needs it no less than the server does.
pub(super) fn of_pod(blueprint: &Blueprint) -> Vec<Container> {
    let mut containers = external_providers::init_containers(blueprint);
    containers.extend(joined_trust(blueprint));
    containers.extend(redis_proxy(blueprint));
    containers.extend(wait_for_models(blueprint));
    containers
}

/// Joins the resource's certificate authorities with the image's own. A program of the server's
/// image, because only that image knows whom it trusts, and an init container, because it must also
/// work where the image's own entrypoint starts the server.
fn joined_trust(blueprint: &Blueprint) -> Option<Container> {
    if !blueprint.joins_trust() {
        return None;
    }
    let mut mounts = vec![volumes::mount(volumes::TRUST, TRUST_DIR)];
    let mut additional = String::new();
    if blueprint.ca_bundle.is_some() {
        additional = format!("{CA_BUNDLE_DIR}/{CA_BUNDLE_KEY}");
        mounts.insert(0, volumes::read_only(volumes::CA_BUNDLE, CA_BUNDLE_DIR));
    }
    Some(Container {
        name: "trust-ca-bundle".into(),
        image: Some(blueprint.image.clone()),
        command: Some(vec!["python3".into(), "-c".into(), command::escaped(TRUST)]),
        args: Some(vec![additional, TRUST_FILE.into()]),
        volume_mounts: Some(mounts),
        resources: Some(resources::of_init_container()),
        security_context: Some(security::of_container()),
        ..Default::default()
    })
}

/// Waits for models without which the server would end. An init container, because no probe ends it
/// however long a model takes; why it waits is in the pod's status, as of a server that ends.
fn wait_for_models(blueprint: &Blueprint) -> Option<Container> {
    blueprint.environment.iter().find(|variable| variable.name == AWAITED_MODELS)?;
    start_program::is_used(blueprint).then(|| Container {
        name: labels::WAIT_FOR_MODELS.into(),
        image: Some(blueprint.image.clone()),
        command: Some(vec!["python3".into(), MODELS_PROGRAM.into()]),
        // The server's own findings speak of these.
        env: Some(environment::variables(blueprint, &mut Findings::default())),
        env_from: blueprint.overrides().env_from.clone(),
        volume_mounts: Some(volumes::of_server(blueprint)),
        resources: Some(resources::of_init_container()),
        security_context: Some(security::of_container()),
        termination_message_policy: Some("FallbackToLogsOnError".into()),
        ..Default::default()
    })
}

/// Signs in to Redis for the server, which can send neither a password nor TLS. A native sidecar: it
/// is there before the server starts and still there while it stops.
fn redis_proxy(blueprint: &Blueprint) -> Option<Container> {
    let redis = blueprint.redis.as_ref()?;
    let image = blueprint.facts.operator.image();
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
