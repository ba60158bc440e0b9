//! The command lines of the three programs, and the audit policy that one of them reads.

use std::path::Path;

use serde_json::{Value, json};

use crate::pki::{Identity, Pki};

/// Users whose requests are not recorded: the control plane's own, and what stands in for parts of
/// it. They would drown what a test looks for, and writing them down would cost time.
pub(crate) const UNRECORDED_USERS: [&str; 4] = [
    "system:apiserver",
    "system:kube-controller-manager",
    "system:kubelet-stand-in",
    "system:readiness",
];

/// Who tests are.
pub(crate) const ADMIN: &str = "admin";

pub(crate) fn etcd(dir: &Path, port: u16, pki: &Pki, serving: &Identity) -> Vec<String> {
    let url = format!("https://127.0.0.1:{port}");
    vec![
        flag("data-dir", dir.join("etcd").display()),
        // Nothing here has to survive a power cut.
        "--unsafe-no-fsync".into(),
        flag("listen-client-urls", &url),
        flag("advertise-client-urls", &url),
        "--listen-peer-urls=http://127.0.0.1:0".into(),
        // With certificates from this control plane's own authority, an API server can never end
        // up at the etcd of another one that was quicker to take the port.
        flag("cert-file", serving.certificate.display()),
        flag("key-file", serving.key.display()),
        flag("trusted-ca-file", pki.authority_file().display()),
        "--client-cert-auth".into(),
        "--log-level=warn".into(),
    ]
}

pub(crate) struct ApiServer<'a> {
    pub(crate) dir: &'a Path,
    pub(crate) port: u16,
    pub(crate) etcd_port: u16,
    pub(crate) pki: &'a Pki,
    pub(crate) serving: &'a Identity,
    pub(crate) etcd_client: &'a Identity,
    pub(crate) with_controllers: bool,
    pub(crate) extra: &'a [String],
}

impl ApiServer<'_> {
    pub(crate) fn flags(&self) -> Vec<String> {
        let authority = self.pki.authority_file();
        let service_accounts = self.pki.service_account_public_key();
        let mut flags = vec![
            "--bind-address=127.0.0.1".into(),
            "--advertise-address=127.0.0.1".into(),
            flag("secure-port", self.port),
            "--endpoint-reconciler-type=none".into(),
            flag("etcd-servers", format_args!("https://127.0.0.1:{}", self.etcd_port)),
            flag("etcd-cafile", authority.display()),
            flag("etcd-certfile", self.etcd_client.certificate.display()),
            flag("etcd-keyfile", self.etcd_client.key.display()),
            "--authorization-mode=RBAC".into(),
            "--anonymous-auth=false".into(),
            flag("client-ca-file", authority.display()),
            flag("tls-cert-file", self.serving.certificate.display()),
            flag("tls-private-key-file", self.serving.key.display()),
            "--service-account-issuer=https://kubernetes.default.svc.cluster.local".into(),
            flag("service-account-key-file", service_accounts.display()),
            flag("service-account-signing-key-file", self.pki.service_account_key().display()),
            // A /24 is full after 253 Services.
            "--service-cluster-ip-range=10.0.0.0/16".into(),
            "--allow-privileged=true".into(),
            flag("audit-policy-file", audit_policy_file(self.dir).display()),
            flag("audit-log-path", audit_log(self.dir).display()),
            // An event is in the file before its request's handler returns; `batch` would hold it
            // back for up to thirty seconds.
            "--audit-log-mode=blocking".into(),
            // Zero would mean 100 MB, after which the file is moved away under its reader.
            "--audit-log-maxsize=100000".into(),
        ];
        if !self.with_controllers {
            // The plugin refuses pods until a controller has made the namespace's default account.
            flags.push("--disable-admission-plugins=ServiceAccount".into());
        }
        flags.extend_from_slice(self.extra);
        flags
    }
}

pub(crate) fn controller_manager(
    kubeconfig: &Path,
    port: u16,
    pki: &Pki,
    extra: &[String],
) -> Vec<String> {
    let mut flags = vec![
        flag("kubeconfig", kubeconfig.display()),
        flag("authentication-kubeconfig", kubeconfig.display()),
        flag("authorization-kubeconfig", kubeconfig.display()),
        flag("service-account-private-key-file", pki.service_account_key().display()),
        flag("root-ca-file", pki.authority_file().display()),
        "--use-service-account-credentials=true".into(),
        "--leader-elect=false".into(),
        "--bind-address=127.0.0.1".into(),
        flag("secure-port", port),
        // The node of the stand-in sends no heartbeats, and would be given up after 50 seconds.
        "--controllers=*,-node-lifecycle-controller".into(),
        // The defaults throttle a burst of objects to a pace that tests would wait for.
        "--kube-api-qps=300".into(),
        "--kube-api-burst=600".into(),
    ];
    flags.extend_from_slice(extra);
    flags
}

pub(crate) fn audit_log(dir: &Path) -> std::path::PathBuf {
    dir.join("audit.log")
}

pub(crate) fn audit_policy_file(dir: &Path) -> std::path::PathBuf {
    dir.join("audit-policy.json")
}

pub(crate) fn audit_policy() -> Value {
    json!({
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        // One event per request is enough to count it; a watch gives its own at the start.
        "omitStages": ["RequestReceived"],
        "rules": [
            { "level": "None", "users": UNRECORDED_USERS },
            { "level": "None", "userGroups": ["system:serviceaccounts:kube-system"] },
            // A test looks twenty times a second whether what it waits for is there.
            { "level": "None", "users": [ADMIN], "verbs": ["get", "list", "watch"] },
            { "level": "Metadata" },
        ],
    })
}

fn flag(name: &str, value: impl std::fmt::Display) -> String {
    format!("--{name}={value}")
}
