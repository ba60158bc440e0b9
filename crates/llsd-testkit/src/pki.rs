//! The certificates of one control plane: a CA of its own, what the servers show, and client
//! certificates by which Kubernetes knows users and their groups.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::atomic::{AtomicUsize, Ordering},
};

use anyhow::ensure;
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType,
    ExtendedKeyUsagePurpose, IsCa, KeyPair, KeyUsagePurpose,
};

/// The object identifier of `organizationName`.
const ORGANIZATION: &[u64] = &[2, 5, 4, 10];

/// A certificate authority of its own, and what it has issued.
pub struct Pki {
    dir: PathBuf,
    authority: CertifiedIssuer<'static, KeyPair>,
    issued: AtomicUsize,
}

/// A certificate and its key, as files in PEM.
#[derive(Debug, Clone)]
pub struct Identity {
    pub certificate: PathBuf,
    pub key: PathBuf,
}

impl Pki {
    pub fn create(dir: PathBuf) -> anyhow::Result<Self> {
        fs::create_dir_all(&dir)?;
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
        params.distinguished_name = subject("test control plane");
        let authority = CertifiedIssuer::self_signed(params, KeyPair::generate()?)?;
        let service_accounts = KeyPair::generate()?;
        fs::write(dir.join("ca.crt"), authority.pem())?;
        fs::write(dir.join("sa.pub"), service_accounts.public_key_pem())?;
        fs::write(dir.join("sa.key"), service_accounts.serialize_pem())?;
        Ok(Self { dir, authority, issued: AtomicUsize::new(0) })
    }

    pub fn authority_file(&self) -> PathBuf {
        self.dir.join("ca.crt")
    }

    pub fn authority_der(&self) -> Vec<u8> {
        self.authority.der().to_vec()
    }

    pub fn service_account_public_key(&self) -> PathBuf {
        self.dir.join("sa.pub")
    }

    pub fn service_account_key(&self) -> PathBuf {
        self.dir.join("sa.key")
    }

    /// For a server on loopback. It may be a client as well: etcd shows its serving certificate
    /// when it dials itself.
    pub fn server(&self, name: &str) -> anyhow::Result<Identity> {
        self.server_at(name, &[])
    }

    /// The same for a server that has further names or addresses.
    pub fn server_at(&self, name: &str, further: &[&str]) -> anyhow::Result<Identity> {
        let names = [
            "127.0.0.1",
            "localhost",
            "kubernetes",
            "kubernetes.default",
            "kubernetes.default.svc",
            "kubernetes.default.svc.cluster.local",
        ];
        let mut params = CertificateParams::new(
            names.iter().chain(further).map(ToString::to_string).collect::<Vec<_>>(),
        )?;
        params.distinguished_name = subject(name);
        params.extended_key_usages =
            vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(name, params)
    }

    /// For the user `user` in up to two groups; `system:authenticated` comes by itself.
    pub fn client(&self, user: &str, groups: &[&str]) -> anyhow::Result<Identity> {
        // A subject can hold any number of organizations, but rcgen keeps one value per attribute
        // type; its two spellings of the same type make two. A service account needs just as many.
        ensure!(groups.len() <= 2, "{user}: a test certificate holds two groups at most");
        let mut name = subject(user);
        let spellings = [DnType::OrganizationName, DnType::CustomDnType(ORGANIZATION.to_vec())];
        for (spelling, group) in spellings.into_iter().zip(groups) {
            name.push(spelling, *group);
        }
        let mut params = CertificateParams::default();
        params.distinguished_name = name;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.issue(user, params)
    }

    fn issue(&self, name: &str, mut params: CertificateParams) -> anyhow::Result<Identity> {
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.authority)?;
        let number = self.issued.fetch_add(1, Ordering::Relaxed);
        let stem = format!("{}-{number}", file_stem(name));
        let identity = Identity {
            certificate: self.dir.join(format!("{stem}.crt")),
            key: self.dir.join(format!("{stem}.key")),
        };
        fs::write(&identity.certificate, certificate.pem())?;
        fs::write(&identity.key, key.serialize_pem())?;
        Ok(identity)
    }
}

impl std::fmt::Debug for Pki {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Pki").field("dir", &self.dir).finish_non_exhaustive()
    }
}

impl Identity {
    /// The stem that the two files share.
    pub(crate) fn stem(&self) -> &Path {
        Path::new(self.certificate.file_stem().unwrap_or_default())
    }
}

fn subject(name: &str) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name);
    subject
}

/// User names hold colons and slashes; file names should not.
fn file_stem(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    name.chars().map(plain).collect()
}
