//! Init containers that install the packages of external providers, and need nothing of their images:
//! no shell, no pip, no network. The operator's own program is brought into the pod first; the server's
//! image says which Python, machine and packages it has; then the program runs in each provider's image
//! in turn, and unpacks what that image brings.

use k8s_openapi::api::core::v1::Container;
use llsd_api::v1alpha2::PullPolicy;
use llsd_provider::layout;
use llsd_provider::python::TELL;

use super::{command, resources, security, volumes};
use crate::config::wiring::ExternalInstall;
use crate::objects::blueprint::Blueprint;
use crate::objects::labels::{DESCRIBE_SERVER, PREPARE_INSTALLER};
use crate::server::paths::{EXTERNAL_PROVIDERS_DIR, INSTALLER, INSTALLER_DIR, SERVER_FACTS};

/// In the order of the providers: a later one is checked beside those before it.
pub(super) fn init_containers(blueprint: &Blueprint) -> Vec<Container> {
    if blueprint.external_providers.is_empty() {
        return Vec::new();
    }
    let mut containers = vec![prepare(blueprint), describe(blueprint)];
    containers.extend(blueprint.external_providers.iter().map(install));
    containers
}

/// The operator's program copies itself.
fn prepare(blueprint: &Blueprint) -> Container {
    Container {
        name: PREPARE_INSTALLER.into(),
        image: Some(blueprint.facts.operator.image().into()),
        args: Some(["provider", "copy-program", INSTALLER].map(str::to_owned).into()),
        volume_mounts: Some(vec![volumes::mount(volumes::INSTALLER, INSTALLER_DIR)]),
        ..small()
    }
}

fn describe(blueprint: &Blueprint) -> Container {
    Container {
        name: DESCRIBE_SERVER.into(),
        image: Some(blueprint.image.clone()),
        command: Some(vec!["python3".into(), "-c".into(), command::escaped(TELL)]),
        args: Some(vec![SERVER_FACTS.into()]),
        volume_mounts: Some(vec![volumes::mount(volumes::INSTALLER, INSTALLER_DIR)]),
        ..small()
    }
}

fn install(install: &ExternalInstall) -> Container {
    let mut words = vec![INSTALLER, "provider", "install", "--from", layout::FOLDER];
    words.extend(["--to", EXTERNAL_PROVIDERS_DIR, "--server", SERVER_FACTS]);
    words.extend(["--provider", &install.provider_id, "--api", &install.api]);
    words.extend(["--image", &install.image]);
    if let Some(labels) = &install.labels {
        words.extend(["--type", &labels.provider_type, "--module", &labels.module]);
        words.extend(labels.config_class.iter().flat_map(|class| ["--config-class", class]));
    }
    Container {
        name: install.container.clone(),
        image: Some(install.image.clone()),
        image_pull_policy: install.pull_policy.map(spelt),
        command: Some(words.into_iter().map(command::escaped).collect()),
        volume_mounts: Some(vec![
            volumes::read_only(volumes::INSTALLER, INSTALLER_DIR),
            volumes::mount(volumes::EXTERNAL_PROVIDERS, EXTERNAL_PROVIDERS_DIR),
        ]),
        ..small()
    }
}

fn small() -> Container {
    Container {
        resources: Some(resources::of_init_container()),
        security_context: Some(security::of_container()),
        termination_message_policy: Some("FallbackToLogsOnError".into()),
        ..Default::default()
    }
}

/// `PYTHONPATH` of the server: what was installed, then the trees of images that hold no wheels. Only
/// labels say that an image may be such a one.
pub(super) fn python_path(blueprint: &Blueprint) -> Option<String> {
    let all = &blueprint.external_providers;
    let unpacked = all.iter().filter(|install| install.labels.is_some());
    let unpacked = unpacked.map(|install| format!("{}/{}", layout::UNPACKED, install.provider_id));
    let folders = std::iter::once(layout::PYTHON_PACKAGES.to_owned()).chain(unpacked);
    let paths: Vec<String> =
        folders.map(|folder| format!("{EXTERNAL_PROVIDERS_DIR}/{folder}")).collect();
    (!all.is_empty()).then(|| paths.join(":"))
}

fn spelt(policy: PullPolicy) -> String {
    match policy {
        PullPolicy::Always => "Always",
        PullPolicy::IfNotPresent => "IfNotPresent",
        PullPolicy::Never => "Never",
    }
    .into()
}
