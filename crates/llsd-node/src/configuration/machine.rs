//! The files of what runs on every machine: containerd, the network of pods, kubelet and kube-proxy.

use std::{
    fs,
    path::{Path, PathBuf},
};

use llsd_testkit::Pki;
use serde_json::{Value, json};

use super::flag::flag;
use crate::{
    addresses::{DNS_SERVICE, DOMAIN, MachineNumber, PODS, PRIVATE_REGISTRY, REGISTRY},
    images::PAUSE,
    kubeconfig,
    programs::Programs,
    state::MachineFolder,
};

/// Where containerd listens, in each machine's own `/run`.
const SOCKET: &str = "/run/containerd/containerd.sock";

/// The files of one machine, and the command lines that name them.
#[derive(Debug)]
pub(crate) struct MachineFiles<'a> {
    pub(crate) number: MachineNumber,
    pub(crate) folder: &'a MachineFolder,
    pub(crate) programs: &'a Programs,
    pub(crate) pki: &'a Pki,
    /// The API server's address.
    pub(crate) server: &'a str,
}

impl MachineFiles<'_> {
    /// Writes them, once: kube-proxy ends when its file is written again.
    pub(crate) fn write(&self) -> anyhow::Result<()> {
        fs::create_dir_all(self.file("cni"))?;
        fs::write(self.file("containerd.toml"), self.containerd())?;
        self.write_registry(REGISTRY, "http", "")?;
        let authority = format!("  ca = \"{}\"\n", self.pki.authority_file().display());
        self.write_registry(PRIVATE_REGISTRY, "https", &authority)?;
        self.write_json("cni/10-bridge.conflist", &self.cni())?;
        let node = self.number.name();
        let serving = self.pki.server_at(&node, &[&self.number.address(), &node])?;
        self.write_json("kubelet.json", &self.kubelet(&serving.certificate, &serving.key))?;
        self.write_json("kube-proxy.json", &self.kube_proxy())?;
        self.write_kubeconfig("kubelet", &format!("system:node:{node}"), &["system:nodes"])?;
        self.write_kubeconfig("kube-proxy", "system:kube-proxy", &[])
    }

    pub(crate) fn containerd_flags(&self) -> Vec<String> {
        vec![flag("config", self.file("containerd.toml").display())]
    }

    pub(crate) fn kubelet_flags(&self) -> Vec<String> {
        vec![
            flag("config", self.file("kubelet.json").display()),
            flag("kubeconfig", self.file("kubelet.kubeconfig").display()),
            flag("root-dir", self.file("kubelet").display()),
            flag("hostname-override", self.number.name()),
            flag("node-ip", self.number.address()),
            "--v=2".into(),
        ]
    }

    pub(crate) fn kube_proxy_flags(&self) -> Vec<String> {
        vec![flag("config", self.file("kube-proxy.json").display())]
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.file(name)
    }

    fn write_json(&self, name: &str, content: &Value) -> anyhow::Result<()> {
        fs::write(self.file(name), serde_json::to_vec_pretty(content)?)?;
        Ok(())
    }

    fn write_kubeconfig(&self, name: &str, user: &str, groups: &[&str]) -> anyhow::Result<()> {
        let file = self.file(&format!("{name}.kubeconfig"));
        kubeconfig::write(&file, self.server, self.pki, user, groups)
    }

    fn write_registry(&self, registry: &str, scheme: &str, more: &str) -> anyhow::Result<()> {
        let folder = self.file("registries").join(registry);
        fs::create_dir_all(&folder)?;
        let content = format!(
            "server = \"{scheme}://{registry}\"\n\
             [host.\"{scheme}://{registry}\"]\n  capabilities = [\"pull\", \"resolve\"]\n{more}"
        );
        fs::write(folder.join("hosts.toml"), content)?;
        Ok(())
    }

    fn containerd(&self) -> String {
        let path = |name: &str| self.file(name).display().to_string();
        let (root, registries, networks) = (path("containerd"), path("registries"), path("cni"));
        let (runc, plugins) = (self.programs.runc.display(), self.programs.cni_plugins.display());
        // Root may lack the right to lower the score by which the kernel chooses what to kill when
        // memory is short; `restrict_oom_score_adj` makes do with what it may.
        format!(
            "version = 3
root = \"{root}\"
state = \"/run/containerd\"
disabled_plugins = [
  \"io.containerd.nri.v1.nri\",
  \"io.containerd.snapshotter.v1.erofs\",
  \"io.containerd.differ.v1.erofs\",
]
[grpc]
  address = \"{SOCKET}\"
[plugins.'io.containerd.cri.v1.images']
  snapshotter = \"overlayfs\"
  [plugins.'io.containerd.cri.v1.images'.pinned_images]
    sandbox = \"{REGISTRY}/{PAUSE}\"
  [plugins.'io.containerd.cri.v1.images'.registry]
    config_path = \"{registries}\"
[plugins.'io.containerd.cri.v1.runtime']
  restrict_oom_score_adj = true
  [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc]
    runtime_type = \"io.containerd.runc.v2\"
    [plugins.'io.containerd.cri.v1.runtime'.containerd.runtimes.runc.options]
      BinaryName = \"{runc}\"
      SystemdCgroup = false
  [plugins.'io.containerd.cri.v1.runtime'.cni]
    bin_dirs = [\"{plugins}\"]
    conf_dir = \"{networks}\"
"
        )
    }

    /// Pods keep their addresses between machines, so that a NetworkPolicy sees who calls.
    fn cni(&self) -> Value {
        json!({
            "cniVersion": "1.0.0",
            "name": "pods",
            "plugins": [
                {
                    "type": "bridge",
                    "bridge": "pods",
                    "isGateway": true,
                    "hairpinMode": true,
                    "ipMasq": false,
                    "ipam": {
                        "type": "host-local",
                        "dataDir": self.file("addresses"),
                        "ranges": [[{"subnet": self.number.pods()}]],
                        "routes": [{"dst": "0.0.0.0/0"}],
                    },
                },
                {"type": "portmap", "capabilities": {"portMappings": true}},
            ],
        })
    }

    fn kubelet(&self, certificate: &Path, key: &Path) -> Value {
        json!({
            "apiVersion": "kubelet.config.k8s.io/v1beta1",
            "kind": "KubeletConfiguration",
            // Version 1 of cgroups is what small virtual machines still have.
            "failCgroupV1": false,
            "failSwapOn": false,
            "cgroupDriver": "cgroupfs",
            "cgroupRoot": self.folder.cgroup(),
            // It would need a group above that of the pods.
            "enforceNodeAllocatable": [],
            "containerRuntimeEndpoint": format!("unix://{SOCKET}"),
            "volumePluginDir": self.file("volume-plugins"),
            "clusterDNS": [DNS_SERVICE],
            "clusterDomain": DOMAIN,
            "authentication": {
                "anonymous": {"enabled": false},
                "webhook": {"enabled": true},
                "x509": {"clientCAFile": self.pki.authority_file()},
            },
            "authorization": {"mode": "Webhook"},
            "tlsCertFile": certificate,
            "tlsPrivateKeyFile": key,
            // The disk of a developer is fuller than that of a server.
            "evictionHard": {
                "memory.available": "200Mi",
                "nodefs.available": "2%",
                "imagefs.available": "2%",
            },
            "imageGCHighThresholdPercent": 98,
            "imageGCLowThresholdPercent": 97,
        })
    }

    fn kube_proxy(&self) -> Value {
        json!({
            "apiVersion": "kubeproxy.config.k8s.io/v1alpha1",
            "kind": "KubeProxyConfiguration",
            "mode": "nftables",
            "clientConnection": {"kubeconfig": self.file("kube-proxy.kubeconfig")},
            "clusterCIDR": PODS,
            "hostnameOverride": self.number.name(),
            // Zero leaves the system's limits alone: some are of the whole system.
            "conntrack": {
                "maxPerCore": 0,
                "min": 0,
                "tcpEstablishedTimeout": "0s",
                "tcpCloseWaitTimeout": "0s",
            },
        })
    }
}
