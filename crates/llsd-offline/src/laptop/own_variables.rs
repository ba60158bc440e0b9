//! Variables that have no effect where a resource or a `.env` file sets them: `llsd up` decides on them itself.

/// Where the server's files are, and how it listens.
pub const OWN_VARIABLES: [&str; 15] = [
    "HOME",
    "LLAMA_STACK_CONFIG",
    "LLAMA_STACK_PORT",
    "LLS_HOST",
    "LLS_PORT",
    "LLS_PREFLIGHT_SECONDS",
    "LLS_START_RECORD",
    "LLS_TERMINATION_LOG",
    "LLS_TLS_CERT_FILE",
    "LLS_TLS_KEY_FILE",
    "LLS_WORKERS",
    "OGX_CONFIG",
    "OGX_CONFIG_DIR",
    "OGX_PORT",
    "PATH",
];
/// Paths of a pod where a resource sets them. A `.env` file sets them for this machine.
pub(super) const PATHS_OF_A_POD: [&str; 4] =
    ["HF_HOME", "PYTHONPATH", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"];

/// What to do in place of setting one of [`OWN_VARIABLES`], if there is something.
pub fn in_place_of(name: &str) -> Option<&'static str> {
    match name {
        "LLAMA_STACK_PORT" | "LLS_PORT" | "OGX_PORT" => Some("choose another port with --port"),
        "HOME" | "OGX_CONFIG_DIR" => Some("choose the folder of the server's state with --data"),
        "LLAMA_STACK_CONFIG" | "OGX_CONFIG" => {
            Some("add a ConfigMap to the file, and name it in spec.overrideConfig")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_lists_every_variable_that_has_no_effect() {
        let page = include_str!("../../../../docs/tasks/laptop.md");
        for name in OWN_VARIABLES.into_iter().chain(PATHS_OF_A_POD) {
            assert!(page.contains(&format!("`{name}`")), "{name}");
        }
    }
}
