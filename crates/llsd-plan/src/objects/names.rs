//! Names of the owned objects. Those that v0.9 made keep the names it gave them, or its objects
//! could not be taken over.

use super::kind::{Naming, ObjectKind};

/// The one name that an object of this kind has; `None` where there are several, named by their content.
pub fn only_name(kind: ObjectKind, resource: &str) -> Option<String> {
    (!kind.is_named_by_content()).then(|| of(kind, resource))
}

/// The name of a resource's object of this kind, or what all such names begin with where the kind's
/// objects are named by their content.
pub(super) fn of(kind: ObjectKind, resource: &str) -> String {
    match kind.naming() {
        Naming::Suffix(suffix) => format!("{resource}{suffix}"),
        Naming::ByContent(_) => resource.to_owned(),
    }
}

pub fn deployment(resource: &str) -> String {
    of(ObjectKind::Deployment, resource)
}

pub fn service(resource: &str) -> String {
    of(ObjectKind::Service, resource)
}

pub fn service_account(resource: &str) -> String {
    of(ObjectKind::ServiceAccount, resource)
}

/// What the name of every ConfigMap with a resource's certificate authorities begins with. Earlier
/// operators gave it no hash.
pub fn ca_bundles(resource: &str) -> String {
    format!("{resource}-ca-bundle")
}

pub fn ca_bundle(resource: &str, hash: &str) -> String {
    format!("{}-{hash}", ca_bundles(resource))
}

/// The ConfigMap with the programs that start a server, as earlier operators had it: a copy for each resource.
pub fn former_start_program(resource: &str, hash: &str) -> String {
    format!("{resource}-start-{hash}")
}

/// The Secret with the parts of a database's connection string. Earlier operators gave it no hash.
pub fn storage_secret(resource: &str, hash: Option<&str>) -> String {
    hash.map_or_else(|| format!("{resource}-storage"), |hash| format!("{resource}-storage-{hash}"))
}

/// The Job in which an image checks a change; its pods carry the name as a label, which holds 63 bytes.
pub fn preflight(resource: &str, hash: &str) -> String {
    let rest = format!("-preflight-{hash}");
    let room = LABEL_BYTES.saturating_sub(rest.len()).min(resource.len());
    format!("{}{rest}", resource[..room].trim_end_matches('-'))
}

/// What the value of a label holds.
const LABEL_BYTES: usize = 63;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_job_fits_into_a_label() {
        assert_eq!(preflight("llama", "0a1b2c3d"), "llama-preflight-0a1b2c3d");
        let long = "a".repeat(43) + "-and-more-xx";
        assert_eq!(preflight(&long, "0a1b2c3d").len(), 62, "without a dash at the cut");
    }
}
