//! The init container that joins the resource's certificate authorities with the image's own.
//!
//! A program of the server's image, because only that image knows whom it trusts, and an init
//! container, because it must also work where the image's own entrypoint starts the server.

use k8s_openapi::api::core::v1::Container;

use super::{Blueprint, command, resources, security, volumes};
use crate::paths::{CA_BUNDLE_DIR, CA_BUNDLE_KEY, TRUST_DIR, TRUST_FILE};

/// The program: the resource's certificates, then the file to write.
pub const TRUST: &str = include_str!("trust.py");

pub(super) fn init_container(blueprint: &Blueprint) -> Option<Container> {
    blueprint.ca_bundle.as_ref()?;
    let additional = format!("{CA_BUNDLE_DIR}/{CA_BUNDLE_KEY}");
    Some(Container {
        name: "trust-ca-bundle".into(),
        image: Some(blueprint.image.clone()),
        command: Some(vec!["python3".into(), "-c".into(), command::escaped(TRUST)]),
        args: Some(vec![additional, TRUST_FILE.into()]),
        volume_mounts: Some(vec![
            volumes::read_only(volumes::CA_BUNDLE, CA_BUNDLE_DIR),
            volumes::mount(volumes::TRUST, TRUST_DIR),
        ]),
        resources: Some(resources::of_init_container()),
        security_context: Some(security::of_container()),
        ..Default::default()
    })
}
