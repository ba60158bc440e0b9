//! The admission policies of an installation, each with its binding, without which it has no effect.

use kube::Client;
use llsd_api::policy::{NAME, PODS, SECRETS};
use llsd_install::names::{OBJECT_POLICY, SECRET_POLICY};

use super::api::get;
use super::finding::{Finding, INSTALL};

const CHECK: &str = "admission policies";

/// Their names, and what they hold.
const POLICIES: [(&str, &str); 5] = [
    (NAME, "mistakes in resources are accepted while the operator does not run"),
    (PODS, "who may write resources can run pods as they like"),
    (SECRETS, "who may write resources can use Secrets that they cannot read"),
    (SECRET_POLICY, "the operator's account may write Secrets that are not its own"),
    (OBJECT_POLICY, "the operator's account may write objects that are not its own"),
];

pub(super) async fn check(client: &Client) -> Finding {
    let mut missing = Vec::new();
    for (name, without) in POLICIES {
        match holds(client, name).await {
            Ok(true) => {}
            Ok(false) => missing.push(format!("{name} is not installed: {without}")),
            Err(error) => return Finding::unasked(CHECK, &error),
        }
    }
    if missing.is_empty() {
        return Finding::ok(CHECK, format!("{} are installed and bound", POLICIES.len()));
    }
    let remedy = format!("unless it was left out on purpose, {INSTALL}");
    Finding::warning(CHECK, missing.join("; "), remedy)
}

async fn holds(client: &Client, name: &str) -> kube::Result<bool> {
    for kind in ["validatingadmissionpolicies", "validatingadmissionpolicybindings"] {
        let path = format!("/apis/admissionregistration.k8s.io/v1/{kind}/{name}");
        if get(client, &path).await?.is_none() {
            return Ok(false);
        }
    }
    Ok(true)
}
