//! Which kinds that a cluster may lack it serves, by group, version and plural. It is asked when a term
//! begins and again while it goes on, so that a kind that is installed later is used without a restart.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::{PoisonError, RwLock};
use std::time::Duration;

use futures::future::join_all;
use kube::Client;
use llsd_plan::facts::{Api, Served};
use llsd_plan::objects::ObjectKind;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::operator::telemetry::Metrics;

/// The mirror objects of OpenShift, each with its kind.
pub const MIRRORS: [(Api, &str); 3] = [
    (mirror("config.openshift.io", "v1", "imagedigestmirrorsets"), "ImageDigestMirrorSet"),
    (mirror("config.openshift.io", "v1", "imagetagmirrorsets"), "ImageTagMirrorSet"),
    (
        mirror("operator.openshift.io", "v1alpha1", "imagecontentsourcepolicies"),
        "ImageContentSourcePolicy",
    ),
];

const fn mirror(group: &'static str, version: &'static str, plural: &'static str) -> Api {
    Api { group, version, plural }
}

/// What decides a plan: the optional kinds that the operator owns, and how pods get their ids.
fn planned_by() -> impl Iterator<Item = Api> {
    let owned = ObjectKind::ALL.iter().filter(|kind| kind.is_optional());
    owned.map(|kind| kind.api()).chain([Api::SECURITY_CONSTRAINTS])
}

/// How long one group is waited for.
const PATIENCE: Duration = Duration::from_secs(5);

type Known = BTreeMap<Api, Served>;

/// What is known of the kinds that a cluster may lack.
#[derive(Debug)]
pub struct ServedKinds {
    known: RwLock<Known>,
    wanted: Notify,
}

impl ServedKinds {
    /// Asks for the first time.
    pub async fn discover(client: &Client) -> kube::Result<Self> {
        Ok(Self { known: RwLock::new(discovered(client).await?), wanted: Notify::new() })
    }

    pub fn get(&self, api: Api) -> Served {
        let known = self.known.read().unwrap_or_else(PoisonError::into_inner);
        known.get(&api).copied().unwrap_or(Served::No)
    }

    /// As facts name what is served, and that of which nobody can tell.
    pub fn facts(&self) -> (BTreeSet<String>, BTreeSet<String>) {
        let all = |wanted: Served| {
            let named = planned_by().filter(|api| self.get(*api) == wanted);
            named.map(Api::name).collect()
        };
        (all(Served::Yes), all(Served::Unknown))
    }

    /// Asks again; whether anything is known otherwise than before.
    pub async fn refresh(&self, client: &Client) -> kube::Result<bool> {
        let found = discovered(client).await?;
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let now = merged(&known, found);
        let changed = *known != now;
        *known = now;
        Ok(changed)
    }

    /// Somebody waits for a kind, or met one that is gone.
    pub fn look_soon(&self) {
        self.wanted.notify_one();
    }

    /// Returns once somebody waits.
    pub async fn is_awaited(&self) {
        self.wanted.notified().await;
    }

    pub fn count(&self, metrics: &Metrics) {
        for (api, served) in &*self.known.read().unwrap_or_else(PoisonError::into_inner) {
            metrics.kind_served(api.plural, *served == Served::Yes);
        }
    }
}

fn all() -> impl Iterator<Item = Api> {
    planned_by().chain(MIRRORS.map(|(api, _)| api))
}

/// Few clusters have any of the groups, so the list of groups is asked first.
async fn discovered(client: &Client) -> kube::Result<Known> {
    let groups = client.list_api_groups().await?.groups;
    let versions: HashSet<&str> = groups
        .iter()
        .flat_map(|group| group.versions.iter().map(|version| version.group_version.as_str()))
        .collect();
    let of_interest: BTreeSet<String> = all().map(group_version).collect();
    let listed = of_interest.iter().filter(|version| versions.contains(version.as_str()));
    let lists = listed.map(async |version| (version.clone(), plurals(client, version).await));
    let lists: BTreeMap<String, Option<HashSet<String>>> =
        join_all(lists).await.into_iter().collect();
    let served = |api: Api| match lists.get(&group_version(api)) {
        Some(None) => Served::Unknown,
        Some(Some(plurals)) if plurals.contains(api.plural) => Served::Yes,
        Some(Some(_)) | None => Served::No,
    };
    Ok(all().map(|api| (api, served(api))).collect())
}

fn group_version(api: Api) -> String {
    format!("{}/{}", api.group, api.version)
}

/// What a version of a group serves; `None` where the API server behind it does not answer, which must
/// keep nobody waiting.
async fn plurals(client: &Client, version: &str) -> Option<HashSet<String>> {
    match timeout(PATIENCE, client.list_api_group_resources(version)).await {
        Ok(Ok(list)) => Some(list.resources.into_iter().map(|kind| kind.name).collect()),
        Ok(Err(kube::Error::Api(status))) if status.code == 404 => Some(HashSet::new()),
        Ok(Err(_)) | Err(_) => None,
    }
}

/// What nobody can tell now is as it was; and pods are not restarted under other ids because a kind
/// comes or goes while they run.
fn merged(before: &Known, found: Known) -> Known {
    let merge = |(api, now): (Api, Served)| {
        let before = before.get(&api).copied().filter(|before| *before != Served::Unknown);
        let keeps = now == Served::Unknown || api == Api::SECURITY_CONSTRAINTS;
        (api, before.filter(|_| keeps).unwrap_or(now))
    };
    found.into_iter().map(merge).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_nobody_can_tell_is_as_it_was() {
        let route = ObjectKind::Route.api();
        let known = |route_is, security| {
            Known::from([(route, route_is), (Api::SECURITY_CONSTRAINTS, security)])
        };
        for (before, found, expected) in [
            (Served::Yes, Served::Unknown, Served::Yes),
            (Served::No, Served::Unknown, Served::No),
            (Served::Unknown, Served::Unknown, Served::Unknown),
            (Served::Unknown, Served::Yes, Served::Yes),
            (Served::Yes, Served::No, Served::No),
            (Served::No, Served::Yes, Served::Yes),
        ] {
            let now = merged(&known(before, Served::No), known(found, Served::No));
            assert_eq!(now[&route], expected, "{before:?}, then {found:?}");
        }
        let now = merged(&known(Served::No, Served::Yes), known(Served::No, Served::No));
        assert_eq!(now[&Api::SECURITY_CONSTRAINTS], Served::Yes, "pods keep their ids");
    }
}
