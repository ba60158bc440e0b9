//! `status.version`: the operator's version and the server's.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use llsd_api::v1alpha2::VersionInfo;

use super::observed::{Observed, Server};
use super::previous::Previous;

pub(super) fn version(observed: &Observed<'_>, previous: &Previous, now: &Time) -> VersionInfo {
    let before = &previous.version;
    let answered = match observed.server {
        Server::Answered(answers) => answers.version.clone(),
        Server::NotAsked | Server::Unreachable(_) => None,
    };
    // The last known one stands while there is a Deployment that runs it, also at no replicas.
    let last_known = || {
        let known = before.llama_stack_server_version.clone();
        known.filter(|_| observed.live.deployment.is_some())
    };
    let now_known = VersionInfo {
        operator_version: Some(observed.operator_version.to_owned()),
        llama_stack_server_version: answered.or_else(last_known),
        last_updated: before.last_updated.clone(),
    };
    if now_known == *before && before.last_updated.is_some() {
        return now_known;
    }
    VersionInfo { last_updated: Some(now.clone()), ..now_known }
}
