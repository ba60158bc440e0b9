//! Which Kubernetes the tests run against. The committed Go modules hold the exact versions and
//! nothing else repeats them.

use std::{fmt, path::PathBuf, str::FromStr};

use anyhow::{Context, bail};

/// A minor of Kubernetes that the product promises to work on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Kubernetes {
    V1_33,
    V1_35,
    V1_36,
    V1_37,
}

impl Kubernetes {
    pub const ALL: [Self; 4] = [Self::V1_33, Self::V1_35, Self::V1_36, Self::V1_37];

    /// The minor that `LLSD_TEST_KUBERNETES` names, else 1.36.
    pub fn from_env() -> anyhow::Result<Self> {
        match std::env::var("LLSD_TEST_KUBERNETES") {
            Ok(minor) if !minor.is_empty() => minor.parse().context("LLSD_TEST_KUBERNETES"),
            _ => Ok(Self::V1_36),
        }
    }

    pub const fn minor(self) -> &'static str {
        match self {
            Self::V1_33 => "1.33",
            Self::V1_35 => "1.35",
            Self::V1_36 => "1.36",
            Self::V1_37 => "1.37",
        }
    }

    /// The pinned patch release, for example `1.36.3`.
    pub fn version(self) -> &'static str {
        required(self.go_mod(), "k8s.io/kubernetes")
    }

    pub(super) const fn go_mod(self) -> &'static str {
        match self {
            Self::V1_33 => include_str!("../../control-plane/1.33/go.mod"),
            Self::V1_35 => include_str!("../../control-plane/1.35/go.mod"),
            Self::V1_36 => include_str!("../../control-plane/1.36/go.mod"),
            Self::V1_37 => include_str!("../../control-plane/1.37/go.mod"),
        }
    }
}

impl fmt::Display for Kubernetes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.version())
    }
}

impl FromStr for Kubernetes {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let wanted = text.trim_start_matches('v');
        for known in Self::ALL {
            if wanted == known.minor() || wanted == known.version() {
                return Ok(known);
            }
        }
        let known = Self::ALL.map(Self::minor).join(", ");
        bail!("Kubernetes {text:?} is not pinned here; choose one of {known}")
    }
}

/// One program of the control plane.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binary {
    Etcd,
    ApiServer,
    ControllerManager,
    Kubectl,
}

impl Binary {
    pub const ALL: [Self; 4] =
        [Self::Etcd, Self::ApiServer, Self::ControllerManager, Self::Kubectl];

    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Kubectl => "kubectl",
        }
    }

    /// The release of this program that belongs to `kubernetes`. One etcd serves all minors.
    pub(super) fn version(self, kubernetes: Kubernetes) -> &'static str {
        match self {
            Self::Etcd => required(self.go_mod(kubernetes), "go.etcd.io/etcd/server/v3"),
            _ => kubernetes.version(),
        }
    }

    pub(super) const fn go_mod(self, kubernetes: Kubernetes) -> &'static str {
        match self {
            Self::Etcd => include_str!("../../control-plane/etcd/go.mod"),
            _ => kubernetes.go_mod(),
        }
    }

    pub(super) fn go_module_dir(self, kubernetes: Kubernetes) -> PathBuf {
        let folder = match self {
            Self::Etcd => "etcd",
            _ => kubernetes.minor(),
        };
        PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("control-plane").join(folder)
    }

    pub(super) const fn go_package(self) -> &'static str {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::ApiServer => "k8s.io/kubernetes/cmd/kube-apiserver",
            Self::ControllerManager => "k8s.io/kubernetes/cmd/kube-controller-manager",
            Self::Kubectl => "k8s.io/kubernetes/cmd/kubectl",
        }
    }
}

/// The Go release that a module asks for in its `go` line.
pub(super) fn go_line(go_mod: &'static str) -> &'static str {
    go_mod.lines().find_map(|line| line.strip_prefix("go ")).expect("a go.mod has a go line")
}

fn required(go_mod: &'static str, module: &str) -> &'static str {
    go_mod
        .lines()
        .find_map(|line| line.strip_prefix("require ")?.strip_prefix(module))
        .expect("the pinned module is required on a line of its own")
        .trim()
        .trim_start_matches('v')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pinned_module_is_of_the_minor_that_names_its_folder() {
        for kubernetes in Kubernetes::ALL {
            let patch = kubernetes.version().strip_prefix(kubernetes.minor());
            assert!(patch.is_some_and(|rest| rest.starts_with('.')), "{kubernetes:?}");
            assert_eq!(kubernetes.minor().parse::<Kubernetes>().unwrap(), kubernetes);
        }
        assert!("1.12".parse::<Kubernetes>().is_err());
    }
}
