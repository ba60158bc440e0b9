//! Names of files and folders: in a provider's image, and where providers are installed.

/// Where a provider's image keeps what it brings.
pub const FOLDER: &str = "/lls-provider";
/// The file there that says what the image provides.
pub const FILE: &str = "lls-provider-spec.yaml";
/// The folder there that holds the wheels.
pub const PACKAGES: &str = "packages";

/// What installing writes: Python's packages, …
pub const PYTHON_PACKAGES: &str = "python-packages";
/// … what each provider's image said of itself, …
pub const METADATA: &str = "metadata";
/// … and the list of what each provider brought.
pub const INSTALLED: &str = "installed-packages.txt";

/// The trees of images that hold no wheels, each in a folder of its provider.
pub const UNPACKED: &str = "unpacked";

/// Files of the server's `external_providers_dir`, for packages without a module `provider`.
pub const PROVIDERS_D: &str = "providers.d";
/// In a provider's folder of [`METADATA`]: the files that it brought, with their hashes.
pub const FILES: &str = "files.txt";

/// What is said of an image that does not say what it provides.
pub fn missing_file(image: &str) -> String {
    format!("Missing {FOLDER}/{FILE} in image {image}")
}
