//! The command lines of the control plane. All of it listens in the first machine's network only.

use std::path::Path;

use llsd_testkit::{Identity, Pki};

use super::flag::flag;
use crate::addresses::{API_SERVICE, MachineNumber, SERVICES};

/// Who the API server is when it passes a request on to an aggregated API.
const FRONT_PROXY: &str = "front-proxy";

/// What the command lines are made of.
#[derive(Debug)]
pub(crate) struct ControlPlaneFlags<'a> {
    pub(crate) folder: &'a Path,
    pub(crate) pki: &'a Pki,
    pub(crate) port: u16,
}

impl ControlPlaneFlags<'_> {
    pub(crate) fn etcd(&self) -> Vec<String> {
        vec![
            flag("data-dir", self.folder.join("etcd").display()),
            // Nothing here has to survive a power cut.
            "--unsafe-no-fsync".into(),
            "--listen-client-urls=http://127.0.0.1:2379".into(),
            "--advertise-client-urls=http://127.0.0.1:2379".into(),
            "--listen-peer-urls=http://127.0.0.1:0".into(),
            "--log-level=warn".into(),
        ]
    }

    pub(crate) fn api_server(&self) -> anyhow::Result<Vec<String>> {
        let address = MachineNumber::FIRST.address();
        let serving = self.pki.server_at("kube-apiserver", &[&address, API_SERVICE])?;
        let kubelet_client = self.pki.client("kube-apiserver", &["system:masters"])?;
        let front_proxy = self.pki.client(FRONT_PROXY, &[])?;
        let authority = self.pki.authority_file();
        let authority = &authority.display();
        let mut flags = vec![
            "--etcd-servers=http://127.0.0.1:2379".into(),
            "--bind-address=0.0.0.0".into(),
            flag("secure-port", self.port),
            flag("advertise-address", address),
            "--authorization-mode=Node,RBAC".into(),
            "--enable-admission-plugins=NodeRestriction".into(),
            "--allow-privileged=true".into(),
            flag("service-cluster-ip-range", SERVICES),
            flag("client-ca-file", authority),
            flag("kubelet-certificate-authority", authority),
            "--kubelet-preferred-address-types=InternalIP".into(),
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local".into(),
            flag("service-account-key-file", self.pki.service_account_public_key().display()),
            flag("service-account-signing-key-file", self.pki.service_account_key().display()),
            flag("requestheader-client-ca-file", authority),
            flag("requestheader-allowed-names", FRONT_PROXY),
            "--requestheader-username-headers=X-Remote-User".into(),
            "--requestheader-group-headers=X-Remote-Group".into(),
            "--requestheader-extra-headers-prefix=X-Remote-Extra-".into(),
        ];
        flags.extend(pair("tls-cert-file", "tls-private-key-file", &serving));
        flags.extend(pair("kubelet-client-certificate", "kubelet-client-key", &kubelet_client));
        flags.extend(pair("proxy-client-cert-file", "proxy-client-key-file", &front_proxy));
        Ok(flags)
    }

    pub(crate) fn controller_manager(&self, kubeconfig: &Path) -> Vec<String> {
        let mut flags = as_user(kubeconfig);
        flags.extend([
            "--use-service-account-credentials=true".into(),
            flag("service-account-private-key-file", self.pki.service_account_key().display()),
            flag("root-ca-file", self.pki.authority_file().display()),
        ]);
        flags
    }

    pub(crate) fn scheduler(kubeconfig: &Path) -> Vec<String> {
        as_user(kubeconfig)
    }
}

fn as_user(kubeconfig: &Path) -> Vec<String> {
    let kubeconfig = &kubeconfig.display();
    vec![
        flag("kubeconfig", kubeconfig),
        flag("authentication-kubeconfig", kubeconfig),
        flag("authorization-kubeconfig", kubeconfig),
        "--leader-elect=false".into(),
    ]
}

fn pair(certificate: &str, key: &str, identity: &Identity) -> [String; 2] {
    [flag(certificate, identity.certificate.display()), flag(key, identity.key.display())]
}
