//! All rights of a user, found by asking for every verb on everything that the API server serves.

use std::collections::BTreeSet;

use futures::{StreamExt, stream};
use kube::Client;
use llsd_plan::objects::ObjectKind;
use llsd_testkit::ControlPlane;

use crate::access::may;

const VERBS: [&str; 12] = [
    "get",
    "list",
    "watch",
    "create",
    "update",
    "patch",
    "delete",
    "deletecollection",
    "bind",
    "escalate",
    "impersonate",
    "use",
];

/// What this API server does not serve, or serves without saying so, beside owned objects.
const UNSERVED: [(&str, &str, bool); 7] = [
    ("gateway.networking.k8s.io", "gateways", true),
    ("llamastack.io", "llamastackdistributions/finalizers", true),
    ("route.openshift.io", "routes/custom-host", true),
    ("config.openshift.io", "imagedigestmirrorsets", false),
    ("config.openshift.io", "imagetagmirrorsets", false),
    ("operator.openshift.io", "imagecontentsourcepolicies", false),
    ("security.openshift.io", "securitycontextconstraints", false),
];

/// All rights of the client's user that somebody without any role does not have.
pub async fn rights(cluster: &ControlPlane, client: &Client, namespace: &str) -> BTreeSet<String> {
    let nobody = cluster.client_for("nobody", &[]);
    let asked = resources(&cluster.client())
        .await
        .into_iter()
        .flat_map(|resource| VERBS.map(|verb| (resource.clone(), verb)));
    stream::iter(asked)
        .map(|((group, resource, in_namespace), verb)| {
            let (client, nobody) = (client.clone(), nobody.clone());
            async move {
                let namespace = if in_namespace { namespace } else { "" };
                let of = (group.as_str(), resource.as_str());
                let extra = may(&client, verb, of, namespace, "").await
                    && !may(&nobody, verb, of, namespace, "").await;
                extra.then(|| format!("{group}/{resource}: {verb}"))
            }
        })
        .buffer_unordered(8)
        .filter_map(std::future::ready)
        .collect()
        .await
}

/// Group, name and whether it belongs to a namespace, of all that the API server serves.
async fn resources(client: &Client) -> BTreeSet<(String, String, bool)> {
    let mut lists = vec![client.list_core_api_resources("v1").await.unwrap()];
    for group in client.list_api_groups().await.unwrap().groups {
        for version in group.versions {
            lists.push(client.list_api_group_resources(&version.group_version).await.unwrap());
        }
    }
    let owned = ObjectKind::ALL.iter().map(|kind| (kind.group(), kind.plural(), true));
    let mut found: BTreeSet<(String, String, bool)> = UNSERVED
        .into_iter()
        .chain(owned)
        .map(|(group, name, in_namespace)| (group.to_owned(), name.to_owned(), in_namespace))
        .collect();
    for list in lists {
        let group = list.group_version.rsplit_once('/').map_or("", |(group, _)| group);
        for resource in &list.resources {
            found.insert((group.to_owned(), resource.name.clone(), resource.namespaced));
        }
    }
    assert!(found.len() > 80, "{}", found.len());
    found
}

/// Rights written as tables: after an empty line, `group/resource: verb verb` each.
pub fn lines(tables: &[&str]) -> BTreeSet<String> {
    let lines = tables.iter().flat_map(|table| table.lines().skip(1));
    let each = lines.flat_map(|line| {
        let (resource, verbs) = line.split_once(": ").unwrap();
        verbs.split(' ').map(move |verb| format!("{resource}: {verb}"))
    });
    each.collect()
}
