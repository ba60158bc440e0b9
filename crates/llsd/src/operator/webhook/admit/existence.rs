//! Asks once and briefly whether what a resource refers to exists. That only leads to warnings: Secrets
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
use llsd_plan::objects::ObjectKind;
use llsd_plan::plan::references::{self, Reference};
use llsd_plan::problems::{Problem, Reason};
use llsd_plan::resource::spec_of;
use llsd_plan::validate::v1alpha1_path;
use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use tokio::time::timeout;

/// For all of it; a write must not wait for a warning.
const PATIENCE: Duration = Duration::from_secs(2);

/// How many objects are asked for.
const AT_MOST: usize = 20;

/// The keys of an object; `None` if it does not exist.
type DataKeys = Option<BTreeSet<String>>;
type ObjectAddress<'m> = (ObjectKind, &'m str, &'m str);

/// Warnings about what is missing, in the fields of the resource's version.
pub(super) async fn warnings(client: &Client, namespace: &str, resource: Value) -> Vec<Problem> {
    let version = Version::from_object(&resource);
    let spec = spec_of(&convert(resource, Version::V1Alpha2));
    let mut references = spec.as_ref().map(references::walk).unwrap_or_default();
    references.retain(|reference| reference.purpose.is_needed());
    let addresses = references.iter().filter_map(|reference| address(reference, namespace));
    let addresses: BTreeSet<ObjectAddress<'_>> = addresses.take(AT_MOST).collect();
    let asked =
        addresses.into_iter().map(async |address| Some((address, ask(client, address).await?)));
    let Ok(found) = timeout(PATIENCE, join_all(asked)).await else { return Vec::new() };
    let found: BTreeMap<ObjectAddress<'_>, DataKeys> = found.into_iter().flatten().collect();
    let own = |problem: Problem| match version {
        Some(Version::V1Alpha1) => Problem { path: v1alpha1_path(&problem.path), ..problem },
        _ => problem,
    };
    references
        .iter()
        .filter_map(|reference| missing(reference, found.get(&address(reference, namespace)?)?))
        .map(own)
        .collect()
}

/// Where to ask: in the resource's own namespace alone, because whoever writes there need not know what
/// others have. A name that no object can have would lead elsewhere within a URL.
fn address<'m>(reference: &'m Reference, namespace: &'m str) -> Option<ObjectAddress<'m>> {
    if reference.namespace.as_deref().is_some_and(|other| other != namespace) {
        return None;
    }
    let possible = |name: &str| {
        name.starts_with(|c: char| c.is_ascii_alphanumeric())
            && name
                .chars()
                .all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || ".-".contains(c))
    };
    (possible(namespace) && possible(&reference.name)).then_some((
        reference.kind,
        namespace,
        reference.name.as_str(),
    ))
}

type DataFields = BTreeMap<String, IgnoredAny>;

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct DataObject {
    data: Option<DataFields>,
    binary_data: Option<DataFields>,
}

/// `None` where there is no answer.
async fn ask(client: &Client, (kind, namespace, name): ObjectAddress<'_>) -> Option<DataKeys> {
    let uri = format!("/api/v1/namespaces/{namespace}/{}/{name}", kind.plural());
    let request = Request::get(uri).body(Vec::new()).ok()?;
    match client.request::<DataObject>(request).await {
        Ok(DataObject { data, binary_data }) => {
            let maps = [data, binary_data].into_iter().flatten();
            Some(Some(maps.flat_map(DataFields::into_keys).collect()))
        }
        Err(kube::Error::Api(status)) if status.code == 404 => Some(None),
        Err(_) => None,
    }
}

fn missing(reference: &Reference, found: &DataKeys) -> Option<Problem> {
    let Reference { kind, name, key, .. } = reference;
    let what = kind.name();
    let is_secret = *kind == ObjectKind::Secret;
    let (reason, message) = match (found, key) {
        (None, _) => (
            match kind {
                ObjectKind::Secret => Reason::SecretNotFound,
                ObjectKind::ConfigMap => Reason::ConfigMapNotFound,
                ObjectKind::VolumeClaim => Reason::ClaimNotFound,
                _ => Reason::NotFound,
            },
            format!("{what} not found: {name}"),
        ),
        (Some(keys), Some(key)) if !keys.contains(key) => (
            if is_secret { Reason::SecretKeyNotFound } else { Reason::ConfigMapNotFound },
            format!("{what} {name} has no key {key}"),
        ),
        _ => return None,
    };
    let remedy = "create it; the server starts when it is there".to_owned();
    Some(Problem { path: reference.path.clone(), reason, message, remedy })
}
