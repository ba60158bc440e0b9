//! Init containers that bring the packages of external providers into the pod.
//!
//! The contract with a provider's image: it keeps the provider's package and what that needs
//! beyond the server's own packages, importable as they stand, in `/lls-provider/packages`
//! (`pip install --target /lls-provider/packages …`), readable for everybody, and has a `cp`.
//! Each image gets a separate folder: two versions of one package copied over each other would
//! be neither.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Container, VolumeMount};
use llsd_api::v1alpha2::PullPolicy;

use super::{resources, security, volumes};
use crate::objects::blueprint::Blueprint;
use crate::paths::{EXTERNAL_PROVIDERS_DIR, PROVIDER_PACKAGES_DIR};
use crate::wiring::ExternalInstall;

/// One init container for each image, in the order of the providers.
pub(super) fn init_containers(blueprint: &Blueprint) -> Vec<Container> {
    let containers = folders(blueprint).into_iter().map(|(folder, install)| Container {
        name: format!("install-{folder}"),
        image: Some(install.image.clone()),
        image_pull_policy: install.pull_policy.map(spelt),
        // Without a shell, which small images lack. A retry copies over what is there.
        command: Some(
            ["cp", "-R", &format!("{PROVIDER_PACKAGES_DIR}/."), EXTERNAL_PROVIDERS_DIR]
                .map(str::to_owned)
                .into(),
        ),
        volume_mounts: Some(vec![VolumeMount {
            sub_path: Some(folder),
            ..volumes::mount(volumes::EXTERNAL_PROVIDERS, EXTERNAL_PROVIDERS_DIR)
        }]),
        resources: Some(resources::of_init_container()),
        security_context: Some(security::of_container()),
        ..Default::default()
    });
    containers.collect()
}

/// `PYTHONPATH` of the server.
pub(super) fn python_path(blueprint: &Blueprint) -> Option<String> {
    let folders = folders(blueprint).into_iter();
    let paths: Vec<String> =
        folders.map(|(folder, _)| format!("{EXTERNAL_PROVIDERS_DIR}/{folder}")).collect();
    (!paths.is_empty()).then(|| paths.join(":"))
}

/// Each image once, with a separate name that fits into a container's name.
fn folders<'a>(blueprint: &'a Blueprint) -> Vec<(String, &'a ExternalInstall)> {
    let mut images = BTreeSet::new();
    let mut taken = BTreeSet::new();
    let mut folders = Vec::new();
    for install in &blueprint.external_providers {
        if !images.insert(&install.image) {
            continue;
        }
        let label = label(&install.provider_id);
        let candidates = (2..).map(|number| format!("{label}-{number}"));
        let folder = std::iter::once(label.clone())
            .chain(candidates)
            .find(|candidate| !taken.contains(candidate))
            .expect("there are more numbers than providers");
        taken.insert(folder.clone());
        folders.push((folder, install));
    }
    folders
}

/// An id as part of a DNS label, with room for `install-` before and a number after it.
fn label(id: &str) -> String {
    let safe: String = id
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
        .take(50)
        .collect();
    let safe = safe.trim_matches('-');
    if safe.is_empty() { "provider".into() } else { safe.into() }
}

fn spelt(policy: PullPolicy) -> String {
    match policy {
        PullPolicy::Always => "Always",
        PullPolicy::IfNotPresent => "IfNotPresent",
        PullPolicy::Never => "Never",
    }
    .into()
}
