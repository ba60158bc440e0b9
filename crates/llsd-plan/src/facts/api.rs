//! What of its API a cluster serves.

/// A resource of the API server that a cluster may lack.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Api {
    pub group: &'static str,
    pub version: &'static str,
    /// As it stands in URLs.
    pub plural: &'static str,
}

/// Whether a cluster serves something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Served {
    Yes,
    No,
    Unknown,
}

impl Api {
    /// OpenShift's rules for pods: where they are served, it picks the ids that a pod runs with.
    pub const SECURITY_CONSTRAINTS: Self = Self {
        group: "security.openshift.io",
        version: "v1",
        plural: "securitycontextconstraints",
    };

    /// As facts name it.
    pub fn name(self) -> String {
        let Self { group, version, plural } = self;
        format!("{group}/{version}/{plural}")
    }
}
