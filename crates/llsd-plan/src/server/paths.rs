//! Where things stand inside the server's container. Generation writes some of these paths into
//! config.yaml, and the start program reads others; v0.9's stay as they were.

/// The folder of the server's configuration.
pub const CONFIG_DIR: &str = "/etc/llama-stack/";
/// The server's configuration, where a file is mounted at all.
pub const CONFIG_FILE: &str = "/etc/llama-stack/config.yaml";

/// The folder of the program that starts the server.
pub const START_DIR: &str = "/etc/llama-stack-start";
/// What an init container runs that waits for models.
pub const MODELS_PROGRAM: &str = "/etc/llama-stack-start/models.py";
/// Where the programs of one pod remember its starts.
pub const START_RECORD_DIR: &str = "/run/llama-stack-start";
/// What the container of the preflight runs.
pub const PREFLIGHT_PROGRAM: &str = "/etc/llama-stack-start/preflight.py";
/// What the server's container runs.
pub const START_PROGRAM: &str = "/etc/llama-stack-start/launch.py";

/// The folder of the server's certificate.
pub const TLS_DIR: &str = "/etc/llama-stack-tls";
/// What `server.tls_certfile` of config.yaml says.
pub const TLS_CERT_FILE: &str = "/etc/llama-stack-tls/tls.crt";
/// What `server.tls_keyfile` of config.yaml says.
pub const TLS_KEY_FILE: &str = "/etc/llama-stack-tls/tls.key";

/// The folder of the certificates that the resource asks to trust, and nothing else; settings of
/// providers may name the file in it.
pub const CA_BUNDLE_DIR: &str = "/etc/ssl/certs/ca-bundle";
/// The key of the ConfigMap, and so the file's name.
pub const CA_BUNDLE_KEY: &str = "ca-bundle.crt";
/// The folder of the file that holds those certificates and the image's own.
pub const TRUST_DIR: &str = "/run/llama-stack-trust";
/// What `SSL_CERT_FILE` says.
pub const TRUST_FILE: &str = "/run/llama-stack-trust/ca-bundle.crt";

/// Where the volume is mounted unless the resource says otherwise.
pub const DEFAULT_MOUNT_PATH: &str = "/.llama";

/// The folder into which external providers are installed.
pub const EXTERNAL_PROVIDERS_DIR: &str = "/opt/llama-stack/external-providers";
/// The server's `external_providers_dir`, for packages without a module `provider`.
pub const PROVIDERS_D: &str = "/opt/llama-stack/external-providers/providers.d";
/// The folder of the operator's program, which installs them.
pub const INSTALLER_DIR: &str = "/opt/llama-stack/installer";
/// That program.
pub const INSTALLER: &str = "/opt/llama-stack/installer/llsd";
/// What the server's image says of itself, for the installer.
pub const SERVER_FACTS: &str = "/opt/llama-stack/installer/server.json";

/// The folder of the cluster's certificate authority, for a server that asks the API server about tokens.
pub const CLUSTER_CA_DIR: &str = "/etc/llama-stack-cluster";
/// What `tls_cafile` says there.
pub const CLUSTER_CA_FILE: &str = "/etc/llama-stack-cluster/ca.crt";

/// What a server answers to everybody, known or not: probes ask for it. A rule for these paths stands before
/// those of the resource.
pub const OPEN_PATHS: [&str; 2] = ["/v1/health", "/v1/version"];
