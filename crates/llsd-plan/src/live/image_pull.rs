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

/// Whether another attempt cannot succeed: the image does not exist, access is denied, or its name is invalid. A
/// registry that does not answer may answer later.
pub fn is_final(reason: &str, message: &str) -> bool {
    let message = message.to_lowercase();
    let says = |words: &str| message.contains(words);
    !matches!(reason, "ImagePullBackOff" | PULL_FAILED)
        || ["not found", "manifest unknown", "no such image", "unauthorized", "denied", "forbidden"]
            .into_iter()
            .any(says)
}

/// Whether this reason is worth telling: a single failed attempt is.
pub fn pull_failed(reason: &str) -> bool {
    reason == PULL_FAILED || cannot_pull(reason)
}
