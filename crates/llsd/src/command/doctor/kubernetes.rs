//! Whether the cluster is one that the operator supports.

use k8s_openapi::apimachinery::pkg::version::Info;
use llsd_install::names::OLDEST_KUBERNETES;

use super::finding::Finding;

const CHECK: &str = "Kubernetes";

pub(super) fn check(info: &Info) -> Finding {
    let found = &info.git_version;
    match (minor(&format!("{}.{}", info.major, info.minor)), minor(OLDEST_KUBERNETES)) {
        (Some(version), Some(oldest)) if version < oldest => Finding::problem(
            CHECK,
            format!("{found} is older than {OLDEST_KUBERNETES}, the oldest that is supported"),
            "upgrade the cluster",
        ),
        (Some(_), _) => {
            Finding::ok(CHECK, format!("{found}; {OLDEST_KUBERNETES} and newer are supported"))
        }
        (None, _) => Finding::warning(
            CHECK,
            format!("{found} is no version of Kubernetes"),
            format!("make sure that it does what {OLDEST_KUBERNETES} does"),
        ),
    }
}

/// Major and minor version; providers of clusters append `+` to the latter.
fn minor(version: &str) -> Option<(u32, u32)> {
    let (major, minor) = version.split_once('.')?;
    let digits: String = minor.chars().take_while(char::is_ascii_digit).collect();
    Some((major.parse().ok()?, digits.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::super::finding::Level;
    use super::*;

    #[test]
    fn the_minor_version_decides() {
        for (major, minor, level) in [
            ("1", "33", Level::Ok),
            ("1", "36+", Level::Ok),
            ("2", "0", Level::Ok),
            ("1", "32", Level::Problem),
            ("", "", Level::Warning),
        ] {
            let info = Info { major: major.into(), minor: minor.into(), ..Info::default() };
            assert_eq!(check(&info).level, level, "{major}.{minor}");
        }
    }
}
