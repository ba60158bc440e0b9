//! Which Kubernetes the tests run against. The committed Go modules hold the exact versions and
//! nothing else repeats them.

use std::{fmt, path::PathBuf, str::FromStr};

use anyhow::{Context, bail};

use super::go_program::{GoProgram, required_release};
use crate::announce::CONTROL_PLANE;

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
        required_release(self.go_mod(), "k8s.io/kubernetes")
    }

    const fn go_mod(self) -> &'static str {
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

/// One program of the control plane, or of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Binary {
    Etcd,
    ApiServer,
    ControllerManager,
    Kubectl,
    Kubelet,
    KubeProxy,
    Scheduler,
}

impl Binary {
    /// Those of a control plane. What runs on nodes is found or built when a node is started.
    pub const ALL: [Self; 4] =
        [Self::Etcd, Self::ApiServer, Self::ControllerManager, Self::Kubectl];

    pub const fn file_name(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::ApiServer => "kube-apiserver",
            Self::ControllerManager => "kube-controller-manager",
            Self::Kubectl => "kubectl",
            Self::Kubelet => "kubelet",
            Self::KubeProxy => "kube-proxy",
            Self::Scheduler => "kube-scheduler",
        }
    }

    /// Whether the envtest archives hold it.
    pub(super) const fn is_in_envtest(self) -> bool {
        matches!(self, Self::Etcd | Self::ApiServer | Self::Kubectl)
    }

    /// How it is built, at the release that belongs to `kubernetes`. One etcd serves all minors.
    pub(super) fn go_program(self, kubernetes: Kubernetes) -> GoProgram {
        let is_etcd = self == Self::Etcd;
        let (product, folder) =
            if is_etcd { ("etcd", "etcd") } else { ("kubernetes", kubernetes.minor()) };
        GoProgram {
            subject: CONTROL_PLANE,
            product,
            file_name: self.file_name(),
            version: if is_etcd { etcd_version() } else { kubernetes.version() },
            module: PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("control-plane").join(folder),
            go_mod: if is_etcd { ETCD_GO_MOD } else { kubernetes.go_mod() },
            package: self.go_package(),
            version_variable: Some("k8s.io/component-base/version.gitVersion"),
            tags: "",
            with_c: false,
        }
    }

    const fn go_package(self) -> &'static str {
        match self {
            Self::Etcd => "go.etcd.io/etcd/server/v3",
            Self::ApiServer => "k8s.io/kubernetes/cmd/kube-apiserver",
            Self::ControllerManager => "k8s.io/kubernetes/cmd/kube-controller-manager",
            Self::Kubectl => "k8s.io/kubernetes/cmd/kubectl",
            Self::Kubelet => "k8s.io/kubernetes/cmd/kubelet",
            Self::KubeProxy => "k8s.io/kubernetes/cmd/kube-proxy",
            Self::Scheduler => "k8s.io/kubernetes/cmd/kube-scheduler",
        }
    }
}

const ETCD_GO_MOD: &str = include_str!("../../control-plane/etcd/go.mod");

fn etcd_version() -> &'static str {
    required_release(ETCD_GO_MOD, "go.etcd.io/etcd/server/v3")
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
