//! The programs of a node, and where they come from: Go modules at the releases that are committed here,
//! and packages of Debian. Found in the cache or built; nothing here starts them.

use std::path::{Path, PathBuf};

use llsd_testkit::{
    Binary, GoProgram, Kubernetes, Unobtainable, debian_file, debian_program, locate,
    required_release,
};

/// Whose messages these are.
pub(crate) const SUBJECT: &str = "node";

/// The one minor of Kubernetes whose kubelet is pinned.
const KUBERNETES: Kubernetes = Kubernetes::V1_36;

/// Programs of Debian that are called by others of the node, and their packages.
const CALLED: [(&str, &str); 5] = [
    ("nft", "nftables"),
    ("iptables", "iptables"),
    ("conntrack", "conntrack"),
    ("mount", "mount"),
    ("ip", "iproute2"),
];

/// Where all of them are.
#[derive(Debug, Clone)]
pub(crate) struct Programs {
    pub(crate) etcd: PathBuf,
    pub(crate) api_server: PathBuf,
    pub(crate) controller_manager: PathBuf,
    pub(crate) scheduler: PathBuf,
    pub(crate) kubelet: PathBuf,
    pub(crate) kube_proxy: PathBuf,
    pub(crate) kubectl: PathBuf,
    pub(crate) containerd: PathBuf,
    pub(crate) runc: PathBuf,
    pub(crate) coredns: PathBuf,
    pub(crate) pause: PathBuf,
    /// The folder with the plugins that connect pods to the network.
    pub(crate) cni_plugins: PathBuf,
    pub(crate) registry: PathBuf,
    pub(crate) htpasswd: PathBuf,
    pub(crate) socat: PathBuf,
}

impl Programs {
    /// Finds or builds them. Blocks, for a quarter of an hour where nothing is there yet.
    pub(crate) fn locate() -> Result<Self, Unobtainable> {
        for (program, package) in CALLED {
            debian_program(program, package)?;
        }
        let kubernetes = |binary| locate(binary, KUBERNETES);
        Ok(Self {
            etcd: kubernetes(Binary::Etcd)?,
            api_server: kubernetes(Binary::ApiServer)?,
            controller_manager: kubernetes(Binary::ControllerManager)?,
            scheduler: kubernetes(Binary::Scheduler)?,
            kubelet: kubernetes(Binary::Kubelet)?,
            kube_proxy: kubernetes(Binary::KubeProxy)?,
            kubectl: kubernetes(Binary::Kubectl)?,
            containerd: containerd()?,
            runc: runc()?,
            coredns: go("coredns", "coredns", ".").locate()?,
            pause: go("pause", "pause", ".").locate()?,
            cni_plugins: cni_plugins()?,
            registry: debian_program("docker-registry", "docker-registry")?,
            htpasswd: debian_program("htpasswd", "apache2-utils")?,
            socat: debian_program("socat", "socat")?,
        })
    }

    /// What programs of the node look for others in.
    pub(crate) fn path(&self) -> String {
        let own = [&self.containerd, &self.runc, &self.kubectl];
        let own = own.map(|program| parent(program).display().to_string());
        format!("{}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", own.join(":"))
    }
}

fn containerd() -> Result<PathBuf, Unobtainable> {
    let package = |file_name, package| GoProgram {
        version_variable: Some("github.com/containerd/containerd/v2/version.Version"),
        // Snapshotters for file systems that a test does not have.
        tags: "no_btrfs,no_zfs,no_devmapper",
        ..go("containerd", file_name, package)
    };
    let server = package("containerd", "github.com/containerd/containerd/v2/cmd/containerd");
    let shim = package(
        "containerd-shim-runc-v2",
        "github.com/containerd/containerd/v2/cmd/containerd-shim-runc-v2",
    );
    let client = package("ctr", "github.com/containerd/containerd/v2/cmd/ctr");
    shim.locate()?;
    client.locate()?;
    server.locate()
}

fn runc() -> Result<PathBuf, Unobtainable> {
    let program = go("runc", "runc", "github.com/opencontainers/runc");
    // Pods of the profile `restricted` have a seccomp filter, which takes the library in C.
    let runc = GoProgram { tags: "seccomp", with_c: true, ..program };
    if runc.is_cached() {
        let library = format!("/usr/lib/{}-linux-gnu/libseccomp.so.2", std::env::consts::ARCH);
        debian_file(&library, "libseccomp2")?;
    } else {
        debian_program("gcc", "gcc")?;
        debian_program("pkg-config", "pkg-config")?;
        debian_file("/usr/include/seccomp.h", "libseccomp-dev")?;
    }
    runc.locate()
}

fn cni_plugins() -> Result<PathBuf, Unobtainable> {
    let plugins = [
        ("bridge", "github.com/containernetworking/plugins/plugins/main/bridge"),
        ("loopback", "github.com/containernetworking/plugins/plugins/main/loopback"),
        ("host-local", "github.com/containernetworking/plugins/plugins/ipam/host-local"),
        ("portmap", "github.com/containernetworking/plugins/plugins/meta/portmap"),
    ];
    let mut located = PathBuf::new();
    for (file_name, package) in plugins {
        located = go("cni-plugins", file_name, package).locate()?;
    }
    Ok(parent(&located).to_owned())
}

/// A program of one of the modules in `programs/`.
pub(crate) fn go(
    product: &'static str,
    file_name: &'static str,
    package: &'static str,
) -> GoProgram {
    let (go_mod, version) = match product {
        "containerd" => {
            released(include_str!("../programs/containerd/go.mod"), "containerd/containerd/v2")
        }
        "runc" => released(include_str!("../programs/runc/go.mod"), "opencontainers/runc"),
        "coredns" => released(include_str!("../programs/coredns/go.mod"), "coredns/coredns"),
        "cni-plugins" => {
            released(include_str!("../programs/cni-plugins/go.mod"), "containernetworking/plugins")
        }
        "keda" => released(include_str!("../programs/keda/go.mod"), "kedacore/keda/v2"),
        "metrics-server" => {
            let go_mod = include_str!("../programs/metrics-server/go.mod");
            (go_mod, required_release(go_mod, "sigs.k8s.io/metrics-server"))
        }
        "traefik" => released(include_str!("../programs/traefik/go.mod"), "traefik/traefik/v3"),
        "azure-npm" => {
            let go_mod = include_str!("../programs/azure-npm/go.mod");
            released(go_mod, "Azure/azure-container-networking")
        }
        // Our own: the number changes with its source.
        _ => (include_str!("../programs/pause/go.mod"), "1"),
    };
    GoProgram {
        subject: SUBJECT,
        product,
        file_name,
        version,
        module: Path::new(env!("CARGO_MANIFEST_DIR")).join("programs").join(product),
        go_mod,
        package,
        version_variable: None,
        tags: "",
        with_c: false,
    }
}

fn released(go_mod: &'static str, repository: &str) -> (&'static str, &'static str) {
    (go_mod, required_release(go_mod, &format!("github.com/{repository}")))
}

fn parent(program: &Path) -> &Path {
    program.parent().unwrap_or(program)
}
