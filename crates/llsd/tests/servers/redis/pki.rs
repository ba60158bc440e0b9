//! A private authority and the certificates that it signs.

use std::path::{Path, PathBuf};

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, KeyUsagePurpose,
};

pub(crate) struct Authority {
    folder: tempfile::TempDir,
    issuer: CertifiedIssuer<'static, KeyPair>,
}

impl Authority {
    pub(crate) fn new(name: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params.distinguished_name.push(DnType::CommonName, name);
        let issuer = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
        std::fs::write(folder.path().join("ca.crt"), issuer.pem()).unwrap();
        Self { folder, issuer }
    }

    /// The file for `SSL_CERT_FILE`.
    pub(crate) fn file(&self) -> PathBuf {
        self.folder.path().join("ca.crt")
    }

    /// Writes `redis.crt` and `redis.key` for a server of this name into `folder`.
    pub(crate) fn issue(&self, name: &str, folder: &Path) {
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        std::fs::write(folder.join("redis.crt"), certificate.pem()).unwrap();
        std::fs::write(folder.join("redis.key"), key.serialize_pem()).unwrap();
    }
}
