//! Asks once and briefly whether what a resource mentions exists. That only leads to warnings: Secrets
//! and ConfigMaps may come after the resource, as in one `kubectl apply` of several files. No value is
//! read, only names and keys, and what may not be read is left out.
#![allow(
    clippy::zero_sized_map_values,
    reason = "keys are read from a map, and its values passed over"
)]

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::future::join_all;
use http::Request;
use kube::Client;
use llsd_api::conversion::{Version, convert};
use llsd_plan::problem::{Problem, Reason};
use llsd_plan::validate::v1alpha1_path;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::time::timeout;

use super::mentioned::{self, Mention, ObjectKind};

/// For all of it; a write must not wait for a warning.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many objects are asked for.
const AT_MOST: usize = 20;

/// The keys of an object; `None` if it does not exist.
type Keys = Option<BTreeSet<String>>;
type Address<'m> = (ObjectKind, &'m str, &'m str);

/// Warnings about what is missing, in the fields of the resource's version.
pub(super) async fn warnings(client: &Client, namespace: &str, resource: Value) -> Vec<Problem> {
    let version = Version::of(&resource);
    let mentions = mentioned::by(&convert(resource, Version::V1Alpha2));
    let addresses: BTreeSet<Address<'_>> =
        mentions.iter().filter_map(|mention| address(mention, namespace)).take(AT_MOST).collect();
    let asked =
        addresses.into_iter().map(async |address| Some((address, ask(client, address).await?)));
    let Ok(found) = timeout(PATIENCE, join_all(asked)).await else { return Vec::new() };
    let found: BTreeMap<Address<'_>, Keys> = found.into_iter().flatten().collect();
    let own = |problem: Problem| match version {
        Some(Version::V1Alpha1) => Problem { path: v1alpha1_path(&problem.path), ..problem },
        _ => problem,
    };
    mentions
        .iter()
        .filter_map(|mention| missing(mention, found.get(&address(mention, namespace)?)?))
        .map(own)
        .collect()
}

/// Where to ask. A name that no object can have would lead elsewhere within a URL.
fn address<'m>(mention: &'m Mention, namespace: &'m str) -> Option<Address<'m>> {
    let namespace = mention.namespace.as_deref().unwrap_or(namespace);
    let possible = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c))
    };
    (possible(namespace) && possible(&mention.name)).then_some((
        mention.kind,
        namespace,
        mention.name.as_str(),
    ))
}

type Fields = BTreeMap<String, IgnoredAny>;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Object {
    data: Option<Fields>,
    binary_data: Option<Fields>,
}

/// `None` where there is no answer.
async fn ask(client: &Client, (kind, namespace, name): Address<'_>) -> Option<Keys> {
    let plural = match kind {
        ObjectKind::Secret => "secrets",
        ObjectKind::ConfigMap => "configmaps",
        ObjectKind::ServiceAccount => "serviceaccounts",
    };
    let uri = format!("/api/v1/namespaces/{namespace}/{plural}/{name}");
    let request = Request::get(uri).body(Vec::new()).ok()?;
    match client.request::<Object>(request).await {
        Ok(Object { data, binary_data }) => {
            let maps = [data, binary_data].into_iter().flatten();
            Some(Some(maps.flat_map(Fields::into_keys).collect()))
        }
        Err(kube::Error::Api(status)) if status.code == 404 => Some(None),
        Err(_) => None,
    }
}

fn missing(mention: &Mention, found: &Keys) -> Option<Problem> {
    let Mention { kind, name, key, .. } = mention;
    let (secret, config_map) = (*kind == ObjectKind::Secret, *kind == ObjectKind::ConfigMap);
    let (reason, message) = match (found, key) {
        (None, _) => (
            if secret {
                Reason::SecretNotFound
            } else if config_map {
                Reason::ConfigMapNotFound
            } else {
                Reason::NotFound
            },
            format!("{kind:?} not found: {name}"),
        ),
        (Some(keys), Some(key)) if !keys.contains(key) => (
            if secret { Reason::SecretKeyNotFound } else { Reason::ConfigMapNotFound },
            format!("{kind:?} {name} has no key {key}"),
        ),
        _ => return None,
    };
    let remedy = "create it; the server starts when it is there".to_owned();
    Some(Problem { path: mention.path.clone(), reason, message, remedy })
}
