//! The flag that names a version of the resource.

use llsd_api::conversion::Version;

/// `v1alpha2`, or with the group in front.
pub(super) fn api_version(text: &str) -> Result<Version, String> {
    let found = Version::ALL.into_iter().find(|version| {
        let whole = version.api_version();
        whole == text || whole.rsplit('/').next() == Some(text)
    });
    found.ok_or_else(|| "known are v1alpha2 and v1alpha1".to_owned())
}
