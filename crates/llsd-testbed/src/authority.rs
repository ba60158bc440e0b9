//! Certificate authorities of the tests' own making.

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, KeyPair};

/// A new authority's certificate as PEM.
pub fn authority(name: &str) -> String {
    let mut params = CertificateParams::default();
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    params.self_signed(&KeyPair::generate().unwrap()).unwrap().pem()
}
