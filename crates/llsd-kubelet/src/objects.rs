//! The ConfigMaps and Secrets that a pod names, as they are now. Values stay in here and in the
//! containers: nothing of this type is ever printed.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{ConfigMap, PodSpec, Secret};
use kube::{Api, Client};

use crate::refusal::Refusal;

/// By key.
pub(crate) type Contents = BTreeMap<String, Vec<u8>>;

/// What was there when it was asked for, by name.
#[derive(Default)]
pub(crate) struct Objects {
    config_maps: BTreeMap<String, Contents>,
    secrets: BTreeMap<String, Contents>,
}

impl Objects {
    pub(crate) async fn fetch(
        client: &Client,
        namespace: &str,
        spec: &PodSpec,
    ) -> kube::Result<Self> {
        let names = Names::in_pod(spec);
        let mut objects = Self::default();
        let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        for name in names.config_maps {
            if let Some(found) = config_maps.get_opt(&name).await? {
                let texts = found.data.into_iter().flatten();
                let mut contents: Contents =
                    texts.map(|(key, text)| (key, text.into_bytes())).collect();
                let bytes = found.binary_data.into_iter().flatten();
                contents.extend(bytes.map(|(key, bytes)| (key, bytes.0)));
                objects.config_maps.insert(name, contents);
            }
        }
        let secrets: Api<Secret> = Api::namespaced(client.clone(), namespace);
        for name in names.secrets {
            if let Some(found) = secrets.get_opt(&name).await? {
                let data = found.data.into_iter().flatten();
                let contents = data.map(|(key, bytes)| (key, bytes.0)).collect();
                objects.secrets.insert(name, contents);
            }
        }
        Ok(objects)
    }

    /// `None` for one that is not there and need not be.
    pub(crate) fn config_map(
        &self,
        name: &str,
        optional: Option<bool>,
    ) -> Result<Option<&Contents>, Refusal> {
        found("configmap", name, self.config_maps.get(name), optional)
    }

    /// `None` for one that is not there and need not be.
    pub(crate) fn secret(
        &self,
        name: &str,
        optional: Option<bool>,
    ) -> Result<Option<&Contents>, Refusal> {
        found("secret", name, self.secrets.get(name), optional)
    }

    pub(crate) fn config_map_texts(
        &self,
        name: &str,
        optional: Option<bool>,
    ) -> Result<BTreeMap<String, String>, Refusal> {
        self.config_map(name, optional).map(texts)
    }

    pub(crate) fn secret_texts(
        &self,
        name: &str,
        optional: Option<bool>,
    ) -> Result<BTreeMap<String, String>, Refusal> {
        self.secret(name, optional).map(texts)
    }
}

fn found<'a>(
    kind: &str,
    name: &str,
    contents: Option<&'a Contents>,
    optional: Option<bool>,
) -> Result<Option<&'a Contents>, Refusal> {
    if contents.is_none() && optional != Some(true) {
        return Err(Refusal::configuration(format!("{kind} \"{name}\" not found")));
    }
    Ok(contents)
}

fn texts(contents: Option<&Contents>) -> BTreeMap<String, String> {
    let contents = contents.into_iter().flatten();
    contents
        .map(|(key, value)| (key.clone(), String::from_utf8_lossy(value).into_owned()))
        .collect()
}

#[derive(Default)]
struct Names {
    config_maps: BTreeSet<String>,
    secrets: BTreeSet<String>,
}

impl Names {
    fn in_pod(spec: &PodSpec) -> Self {
        let mut names = Self::default();
        for volume in spec.volumes.iter().flatten() {
            names.config_maps.extend(volume.config_map.iter().map(|source| source.name.clone()));
            let secret = volume.secret.as_ref().and_then(|source| source.secret_name.clone());
            names.secrets.extend(secret);
            let projected =
                volume.projected.iter().flat_map(|source| source.sources.iter().flatten());
            for source in projected {
                names
                    .config_maps
                    .extend(source.config_map.iter().map(|source| source.name.clone()));
                names.secrets.extend(source.secret.iter().map(|source| source.name.clone()));
            }
        }
        for container in spec.init_containers.iter().flatten().chain(&spec.containers) {
            for from in container.env_from.iter().flatten() {
                names.config_maps.extend(from.config_map_ref.iter().map(|from| from.name.clone()));
                names.secrets.extend(from.secret_ref.iter().map(|from| from.name.clone()));
            }
            let sources =
                container.env.iter().flatten().filter_map(|variable| variable.value_from.as_ref());
            for source in sources {
                let config_map = source.config_map_key_ref.iter().map(|key| key.name.clone());
                names.config_maps.extend(config_map);
                names.secrets.extend(source.secret_key_ref.iter().map(|key| key.name.clone()));
            }
        }
        names
    }
}
