//! Why a container waits for its image, as the kubelet says it.

/// The image cannot be had: the kubelet has failed more than once, or does not try.
const CANNOT_PULL: [&str; 4] =
    ["ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "ImageInspectError"];
/// One attempt has failed; the next may succeed.
const PULL_FAILED: &str = "ErrImagePull";

/// Whether this reason ends a preflight: after a single failed attempt it still waits.
pub fn cannot_pull(reason: &str) -> bool {
    CANNOT_PULL.contains(&reason)
}

/// Whether this reason is worth telling: a single failed attempt is.
pub fn pull_failed(reason: &str) -> bool {
    reason == PULL_FAILED || cannot_pull(reason)
}
