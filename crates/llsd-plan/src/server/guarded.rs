//! What in a pod decides whether its server asks its callers who they are, and whom it believes. Where a
//! resource has `access`, this is the operator's alone.

use super::listening::ACCESS_KNOWN;
use super::paths::{CLUSTER_CA_DIR, CONFIG_DIR, EXTERNAL_PROVIDERS_DIR, START_DIR, TRUST_DIR};

/// The variable with the address of a token provider's keys. The pod has where the provider says it, and
/// the start program puts the address itself there.
pub const JWKS_URI: &str = "LLS_JWKS_URI";

/// Variables by which the server finds its file, the start program what it must see to, uvicorn whose word it
/// takes for a caller's address, and Python its modules.
const VARIABLES: [&str; 8] = [
    ACCESS_KNOWN,
    JWKS_URI,
    "LLAMA_STACK_CONFIG",
    "OGX_CONFIG",
    "FORWARDED_ALLOW_IPS",
    "PYTHONPATH",
    "PYTHONHOME",
    "PYTHONUSERBASE",
];
/// What every option of uvicorn can also be given by, and what the operator binds Secrets to.
const BEGINNINGS: [&str; 2] = ["UVICORN_", "LLSD_AUTH_"];
const FOLDERS: [&str; 5] =
    [CONFIG_DIR, START_DIR, TRUST_DIR, CLUSTER_CA_DIR, EXTERNAL_PROVIDERS_DIR];

/// Whether a variable of this name, set by somebody else, could open the server.
pub fn is_kept_variable(name: &str) -> bool {
    VARIABLES.contains(&name) || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
}

/// The folder of the operator's that something at this path would cover, or change a part of.
pub fn covered_folder(path: &str) -> Option<&'static str> {
    let path = parts(path);
    FOLDERS.into_iter().find(|own| parts(own).iter().zip(&path).all(|(own, part)| own == part))
}

/// The parts of a path as a container runtime resolves it.
fn parts(path: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
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
    #[case::beside("/etc/llama-stacks", None)]
    #[case::the_state("/.llama", None)]
    fn a_mount_at_above_or_below_a_folder_covers_it(
        #[case] path: &str,
        #[case] folder: Option<&str>,
    ) {
        assert_eq!(covered_folder(path), folder);
    }
}
