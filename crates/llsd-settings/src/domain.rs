//! Names of DNS that an administrator sets: domains, and namespaces, which are labels of one.

use llsd_image::settings::Problems;

/// What a host name may be long, and each of its labels.
const LONGEST_NAME: usize = 253;
const LONGEST_LABEL: usize = 63;

/// The domain under a key, where a valid one is given. White space around it is what a block of YAML
/// leaves.
pub(super) fn domain(
    key: &str,
    example: &str,
    text: &str,
    remarks: &mut Problems,
) -> Option<String> {
    let domain = text.trim();
    if domain.is_empty() {
        return None;
    }
    if !is_domain(domain) {
        remarks.at(
            key,
            format!(
                "must be a domain such as {example}: lower-case labels of letters, digits and `-`, \
                 without a wildcard"
            ),
        );
        return None;
    }
    Some(domain.to_owned())
}

pub(super) fn is_domain(text: &str) -> bool {
    text.len() <= LONGEST_NAME && text.split('.').all(is_label)
}

pub(super) fn is_label(label: &str) -> bool {
    let inside = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=LONGEST_LABEL).contains(&label.len())
        && label.bytes().all(inside)
        && !label.starts_with('-')
        && !label.ends_with('-')
}
