//! What in a pod decides whether its server asks its callers who they are, and whom it believes. Where a
//! resource has `access`, this is the operator's alone.

use std::collections::BTreeSet;

use super::listening::ACCESS_KNOWN;
use super::paths::{CLUSTER_CA_DIR, CONFIG_DIR, EXTERNAL_PROVIDERS_DIR, START_DIR, TRUST_DIR};

/// The variable with the address of a token provider's keys. The pod has where the provider says it, and
/// the start program puts the address itself there.
pub const JWKS_URI: &str = "LLS_JWKS_URI";

/// The variable that tells the start program which of the guarded variables are the operator's or the image's,
/// see [`own_variables`].
pub const OWN_VARIABLES: &str = "LLS_OWN_VARIABLES";

/// The variable that tells the start program that keys may be fetched over plain HTTP, also from outside of the
/// pod.
pub const PLAIN_HTTP: &str = "LLS_ALLOW_PLAIN_HTTP";

/// Variables by which the server finds its file, the start program what it must see to, and uvicorn whose word
/// it takes for a caller's address.
const OF_THE_START: [&str; 7] = [
    ACCESS_KNOWN,
    OWN_VARIABLES,
    JWKS_URI,
    PLAIN_HTTP,
    "LLAMA_STACK_CONFIG",
    "OGX_CONFIG",
    "FORWARDED_ALLOW_IPS",
];
/// Variables by which Python finds its modules, the loader its libraries, and clients whom they trust. Images
/// set some of them, too.
const OF_IMAGES: [&str; 10] = [
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONUSERBASE",
    "LD_PRELOAD",
    "LD_LIBRARY_PATH",
    "LD_AUDIT",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
];
/// Variables by which programs, and modules in the user's own folder, are found. A resource may not set them.
/// The start program leaves them: the operator sets the one, and no image runs without the other.
const NEVER_REMOVED: [&str; 2] = ["PATH", "HOME"];
/// What every option of uvicorn can also be given by, and what the operator binds Secrets to.
const BEGINNINGS: [&str; 2] = ["UVICORN_", "LLSD_AUTH_"];
const FOLDERS: [&str; 5] =
    [CONFIG_DIR, START_DIR, TRUST_DIR, CLUSTER_CA_DIR, EXTERNAL_PROVIDERS_DIR];
/// A link of nearly every image, and the folder that it leads to.
const LINK: ([&str; 2], &str) = (["var", "run"], "run");

/// Whether a variable of this name, set in a resource, could open the server.
pub fn is_kept_variable(name: &str) -> bool {
    is_removable(name) || NEVER_REMOVED.contains(&name)
}

/// Whether the start program removes a variable of this name, unless [`own_variables`] has it.
fn is_removable(name: &str) -> bool {
    OF_THE_START.contains(&name)
        || OF_IMAGES.contains(&name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// The value of [`OWN_VARIABLES`]: which of the variables that could open the server the start program keeps.
/// These are the ones that the operator sets. The keys of an `envFrom` object can change after a resource was
/// checked, so only in a pod without such objects it also keeps those that an image may set.
pub fn own_variables<'a>(set: impl IntoIterator<Item = &'a str>, has_env_from: bool) -> String {
    let mut names: BTreeSet<&str> = set.into_iter().filter(|name| is_removable(name)).collect();
    names.insert(OWN_VARIABLES);
    if !has_env_from {
        names.extend(OF_IMAGES);
    }
    names.into_iter().collect::<Vec<_>>().join(" ")
}

/// The folder of the operator's that something at this path would cover, or change a part of.
pub fn covered_folder(path: &str) -> Option<&'static str> {
    let path = parts(path);
    FOLDERS.into_iter().find(|own| parts(own).iter().zip(&path).all(|(own, part)| own == part))
}

/// The parts of a path as a container runtime resolves it.
fn parts(path: &str) -> Vec<&str> {
    let (link, target) = LINK;
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
        if parts == link {
            parts = vec![target];
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case::itself("/etc/llama-stack", Some(CONFIG_DIR))]
    #[case::above("/etc/", Some(CONFIG_DIR))]
    #[case::everything("/", Some(CONFIG_DIR))]
    #[case::one_file("/etc/llama-stack-start/launch.py", Some(START_DIR))]
    #[case::a_way_round("/data/../run//llama-stack-trust/.", Some(TRUST_DIR))]
    #[case::through_a_link("/var/run", Some(TRUST_DIR))]
    #[case::below_a_link("/var//run/./llama-stack-trust/ca-bundle.crt", Some(TRUST_DIR))]
    #[case::back_from_a_link("/var/run/../etc/llama-stack", Some(CONFIG_DIR))]
    #[case::in_the_place_of_the_link("/var", None)]
    #[case::like_a_link("/var/running", None)]
    #[case::a_link_elsewhere("/data/var/run/llama-stack-trust", None)]
    #[case::beside("/etc/llama-stacks", None)]
    #[case::the_state("/.llama", None)]
    fn a_mount_at_above_or_below_a_folder_covers_it(
        #[case] path: &str,
        #[case] folder: Option<&str>,
    ) {
        assert_eq!(covered_folder(path), folder);
    }

    #[rstest]
    #[case("UVICORN_ROOT_PATH", true)]
    #[case("LD_PRELOAD", true)]
    #[case("SSL_CERT_FILE", true)]
    #[case("PATH", true)]
    #[case("HOME", true)]
    #[case("HF_HOME", false)]
    #[case("LD_PRELOADED", false)]
    fn what_could_open_the_server_is_not_for_a_resource_to_set(
        #[case] name: &str,
        #[case] kept: bool,
    ) {
        assert_eq!(is_kept_variable(name), kept);
    }

    #[test]
    fn the_start_program_is_told_what_the_operator_and_the_image_set() {
        let set = ["HOME", "LLS_PORT", ACCESS_KNOWN, "SSL_CERT_FILE", "LLSD_AUTH_API_KEY_0"];
        assert_eq!(
            own_variables(set, true),
            "LLSD_AUTH_API_KEY_0 LLS_ACCESS LLS_OWN_VARIABLES SSL_CERT_FILE"
        );
        let without = own_variables(set, false);
        let kept: Vec<&str> = without.split(' ').collect();
        assert!(OF_IMAGES.iter().all(|name| kept.contains(name)), "{without}");
        assert!(!kept.contains(&"FORWARDED_ALLOW_IPS"), "{without}");
    }

    /// The program has the names a second time: what it removes must not depend on a variable.
    #[test]
    fn the_start_program_removes_the_same_variables() {
        let program = include_str!("../../pod-programs/access.py");
        let listed = |name: &str| {
            let (_, rest) = program.split_once(&format!("\n{name} = (")).unwrap();
            let (names, _) = rest.split_once(')').unwrap();
            let quoted = names.split('"').skip(1).step_by(2);
            quoted.map(str::to_owned).collect::<BTreeSet<String>>()
        };
        let known = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let names: BTreeSet<String> = known(&[&OF_THE_START[..], &OF_IMAGES[..]].concat());
        assert_eq!(listed("GUARDED"), names);
        assert_eq!(listed("GUARDED_BEGINNINGS"), known(&BEGINNINGS));
    }
}
