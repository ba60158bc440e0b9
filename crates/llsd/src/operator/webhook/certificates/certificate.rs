//! Certificates of authorities and of servers, read and checked: they are what they say, and keys
//! belong to them. Keys are never printed.

use std::collections::BTreeSet;
use std::net::IpAddr;

use jiff::Timestamp;
use rcgen::{KeyPair, PublicKeyData};
use secrecy::{ExposeSecret, SecretString};
use tokio_rustls::rustls::crypto::aws_lc_rs;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::rustls::sign::CertifiedKey;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

/// The certificate of an authority.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trusted {
    pub pem: String,
    pub from: Timestamp,
    pub until: Timestamp,
}

/// An authority that can sign.
#[derive(Clone, Debug)]
pub struct Authority {
    pub trusted: Trusted,
    pub(super) key: SecretString,
}

/// A certificate to serve.
#[derive(Clone, Debug)]
pub struct Leaf {
    pub pem: String,
    pub(super) key: SecretString,
    pub from: Timestamp,
    pub until: Timestamp,
    pub names: BTreeSet<String>,
}

impl Leaf {
    /// A certificate and its key that somebody else made, of whatever authority.
    pub(super) fn foreign(pem: &str, key: &SecretString) -> Result<Self, &'static str> {
        leaf(Some(pem), Some(key.expose_secret()), None)
    }
}

pub(super) fn authority(
    certificate: Option<&str>,
    key: Option<&str>,
) -> Result<Authority, &'static str> {
    let pem = certificate.ok_or("the certificate is missing")?;
    let key = key.ok_or("the key is missing")?;
    let trusted = match all_trusted(pem)?.as_slice() {
        [trusted] => trusted.clone(),
        _ => return Err("not exactly one certificate"),
    };
    let der = first_certificate(pem)?;
    let (_, parsed) = X509Certificate::from_der(&der).map_err(|_| "no certificate")?;
    let pair = KeyPair::from_pem(key).map_err(|_| "the key is none")?;
    if pair.der_bytes() != &*parsed.public_key().subject_public_key.data {
        return Err("the key belongs to another certificate");
    }
    Ok(Authority { trusted, key: key.into() })
}

/// Whether one of these authorities signed the certificate, and until when it is valid.
pub fn signed_by(authorities: &[Trusted], pem: &str) -> Result<(bool, Timestamp), &'static str> {
    let der = first_certificate(pem)?;
    let (_, parsed) = X509Certificate::from_der(&der).map_err(|_| "no certificate")?;
    let (_, until) = validity(&parsed)?;
    for authority in authorities {
        let der = first_certificate(&authority.pem)?;
        let (_, issuer) = X509Certificate::from_der(&der).map_err(|_| "no certificate")?;
        if parsed.verify_signature(Some(issuer.public_key())).is_ok() {
            return Ok((true, until));
        }
    }
    Ok((false, until))
}

/// The authorities in a PEM text.
pub fn all_trusted(pem: &str) -> Result<Vec<Trusted>, &'static str> {
    const END: &str = "-----END CERTIFICATE-----";
    let (certificates, rest) = pem.rsplit_once(END).ok_or("no certificate")?;
    if !rest.trim().is_empty() {
        return Err("something behind the certificate");
    }
    let each = certificates.split(END).map(|text| {
        let pem = format!("{}\n{END}\n", text.trim());
        let der = first_certificate(&pem)?;
        let (_, parsed) = X509Certificate::from_der(&der).map_err(|_| "no certificate")?;
        if !parsed.is_ca() {
            return Err("a certificate that is no authority's");
        }
        let (from, until) = validity(&parsed)?;
        Ok(Trusted { pem, from, until })
    });
    each.collect()
}

pub(super) fn leaf(
    certificate: Option<&str>,
    key: Option<&str>,
    issuer: Option<&Trusted>,
) -> Result<Leaf, &'static str> {
    let pem = certificate.ok_or("the certificate is missing")?;
    let key = key.ok_or("the key is missing")?;
    let der = first_certificate(pem)?;
    let (_, parsed) = X509Certificate::from_der(&der).map_err(|_| "no certificate")?;
    if let Some(issuer) = issuer {
        let issuer = first_certificate(&issuer.pem)?;
        let (_, issuer) = X509Certificate::from_der(&issuer).map_err(|_| "no certificate")?;
        let signed = parsed.verify_signature(Some(issuer.public_key()));
        signed.map_err(|_| "the certificate is of another authority")?;
    }
    let (from, until) = validity(&parsed)?;
    let mut names = BTreeSet::new();
    if let Ok(Some(alternatives)) = parsed.subject_alternative_name() {
        names.extend(alternatives.value.general_names.iter().filter_map(name));
    }
    let leaf = Leaf { pem: pem.to_owned(), key: key.into(), from, until, names };
    certified(&leaf).map(|_| leaf)
}

fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some((*name).to_owned()),
        GeneralName::IPAddress(bytes) => {
            let four = <[u8; 4]>::try_from(*bytes).map(IpAddr::from);
            let address = four.or_else(|_| <[u8; 16]>::try_from(*bytes).map(IpAddr::from));
            address.ok().map(|address| address.to_string())
        }
        _ => None,
    }
}

fn first_certificate(pem: &str) -> Result<CertificateDer<'static>, &'static str> {
    CertificateDer::from_pem_slice(pem.as_bytes()).map_err(|_| "no certificate")
}

fn validity(parsed: &X509Certificate<'_>) -> Result<(Timestamp, Timestamp), &'static str> {
    let validity = parsed.validity();
    let time = |seconds| Timestamp::from_second(seconds).map_err(|_| "no time of validity");
    Ok((time(validity.not_before.timestamp())?, time(validity.not_after.timestamp())?))
}

/// As rustls takes it, and proof that the key belongs to the certificate.
pub(super) fn certified(leaf: &Leaf) -> Result<CertifiedKey, &'static str> {
    let chain: Result<Vec<CertificateDer<'static>>, _> =
        CertificateDer::pem_slice_iter(leaf.pem.as_bytes()).collect();
    let chain = chain.map_err(|_| "no certificate")?;
    let key = PrivateKeyDer::from_pem_slice(leaf.key.expose_secret().as_bytes());
    let key = key.map_err(|_| "the key is none")?;
    let key = aws_lc_rs::sign::any_supported_type(&key).map_err(|_| "the key is of no use")?;
    let certified = CertifiedKey::new(chain, key);
    certified.keys_match().map_err(|_| "the key belongs to another certificate")?;
    Ok(certified)
}
