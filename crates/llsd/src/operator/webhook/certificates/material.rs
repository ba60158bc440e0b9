//! What the Secret holds, read and checked: certificates that are what they say, and keys that
//! belong to them. Keys are shown to nobody. Nothing is asked or decided here.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use jiff::Timestamp;
use k8s_openapi::ByteString;
use rcgen::{KeyPair, PublicKeyData};
use secrecy::{ExposeSecret, SecretString};
use tokio_rustls::rustls::pki_types::CertificateDer;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use x509_parser::certificate::X509Certificate;
use x509_parser::extensions::GeneralName;
use x509_parser::prelude::FromDer;

const AUTHORITY: [&str; 2] = ["ca.crt", "ca.key"];
const NEXT: [&str; 2] = ["next-ca.crt", "next-ca.key"];
const PREVIOUS: &str = "previous-ca.crt";
const LEAF: [&str; 2] = ["tls.crt", "tls.key"];
/// Every field that we write; others in the Secret are not ours to touch.
pub(super) const FIELDS: [&str; 7] =
    [AUTHORITY[0], AUTHORITY[1], NEXT[0], NEXT[1], PREVIOUS, LEAF[0], LEAF[1]];

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

/// What was found in the Secret, or shall be.
#[derive(Clone, Debug, Default)]
pub struct Found {
    /// Who signs.
    pub authority: Option<Authority>,
    /// Who will sign.
    pub next: Option<Authority>,
    /// Who signed.
    pub previous: Vec<Trusted>,
    /// Is of `authority`.
    pub leaf: Option<Leaf>,
    /// What is wrong with the rest, without its content.
    pub flaws: Vec<String>,
}

impl Found {
    pub fn read(data: &BTreeMap<String, ByteString>) -> Self {
        let mut found = Self::default();
        let mut flaws = Vec::new();
        let text = |field: &str| text(data, field);
        match authority(text(AUTHORITY[0]), text(AUTHORITY[1])) {
            Ok(authority) => found.authority = Some(authority),
            Err(flaw) => flaws.push(format!("{}, {}: {flaw}", AUTHORITY[0], AUTHORITY[1])),
        }
        let issuer = found.authority.as_ref().map(|authority| &authority.trusted);
        match leaf(text(LEAF[0]), text(LEAF[1]), issuer) {
            Ok(leaf) => found.leaf = Some(leaf),
            Err(flaw) => flaws.push(format!("{}, {}: {flaw}", LEAF[0], LEAF[1])),
        }
        if NEXT.iter().any(|field| data.contains_key(*field)) {
            match authority(text(NEXT[0]), text(NEXT[1])) {
                Ok(authority) => found.next = Some(authority),
                Err(flaw) => flaws.push(format!("{}, {}: {flaw}", NEXT[0], NEXT[1])),
            }
        }
        if data.contains_key(PREVIOUS) {
            match text(PREVIOUS).ok_or("is no text").and_then(all_trusted) {
                Ok(previous) => found.previous = previous,
                Err(flaw) => flaws.push(format!("{PREVIOUS}: {flaw}")),
            }
        }
        found.flaws = flaws;
        found
    }

    /// As the Secret shall hold it.
    pub fn write(&self) -> BTreeMap<&'static str, SecretString> {
        let mut data = BTreeMap::new();
        for (fields, authority) in [(AUTHORITY, &self.authority), (NEXT, &self.next)] {
            if let Some(authority) = authority {
                data.insert(fields[0], authority.trusted.pem.clone().into());
                data.insert(fields[1], authority.key.clone());
            }
        }
        if let Some(leaf) = &self.leaf {
            data.insert(LEAF[0], leaf.pem.clone().into());
            data.insert(LEAF[1], leaf.key.clone());
        }
        if !self.previous.is_empty() {
            data.insert(PREVIOUS, bundle(self.previous.iter()).into());
        }
        data
    }

    /// All authorities that are to be trusted: who signs, who will, who did.
    pub fn trusted(&self) -> impl Iterator<Item = &Trusted> {
        let can_sign = [&self.authority, &self.next].into_iter().flatten();
        can_sign.map(|authority| &authority.trusted).chain(&self.previous)
    }

    /// The same as one PEM text.
    pub fn bundle(&self) -> String {
        bundle(self.trusted())
    }
}

fn bundle<'a>(trusted: impl Iterator<Item = &'a Trusted>) -> String {
    trusted.map(|trusted| trusted.pem.as_str()).collect()
}

impl Leaf {
    /// A certificate and its key that somebody else made, of whatever authority.
    pub(super) fn foreign(pem: &str, key: &SecretString) -> Result<Self, &'static str> {
        leaf(Some(pem), Some(key.expose_secret()), None)
    }
}

fn text<'a>(data: &'a BTreeMap<String, ByteString>, field: &str) -> Option<&'a str> {
    std::str::from_utf8(&data.get(field)?.0).ok()
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

fn all_trusted(pem: &str) -> Result<Vec<Trusted>, &'static str> {
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

fn leaf(
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
    super::served::certified(&leaf).map(|_| leaf)
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

#[cfg(test)]
mod tests {
    use super::super::{Times, make};
    use super::*;

    fn whole() -> BTreeMap<String, ByteString> {
        let (now, times) = (Timestamp::now(), Times::default());
        let authority = make::authority(now, &times).unwrap();
        let names = ["webhooks.home.svc".to_owned(), "::1".to_owned()].into();
        let leaf = make::leaf(now, &authority, &names, &times).unwrap();
        let found = Found {
            previous: vec![authority.trusted.clone(), authority.trusted.clone()],
            next: Some(make::authority(now, &times).unwrap()),
            leaf: Some(leaf),
            authority: Some(authority),
            flaws: Vec::new(),
        };
        let bytes = |text: SecretString| ByteString(text.expose_secret().as_bytes().to_vec());
        found.write().into_iter().map(|(field, text)| (field.to_owned(), bytes(text))).collect()
    }

    #[test]
    fn what_is_written_is_read_again() {
        let found = Found::read(&whole());
        assert_eq!(found.flaws, Vec::<String>::new());
        assert_eq!(found.trusted().count(), 4);
        let names = &found.leaf.unwrap().names;
        assert_eq!(
            names.iter().map(String::as_str).collect::<Vec<_>>(),
            ["::1", "webhooks.home.svc"]
        );
    }

    #[test]
    fn each_flaw_is_named_without_its_content_and_the_rest_stays() {
        for field in FIELDS {
            for content in
                ["", "password", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"]
            {
                let mut data = whole();
                data.insert(field.to_owned(), ByteString(content.into()));
                let found = Found::read(&data);
                let [flaw, ..] = found.flaws.as_slice() else { panic!("{field}: no flaw") };
                assert!(flaw.contains(field) && !flaw.contains("password"), "{flaw}");
                assert_eq!(found.authority.is_none(), field.starts_with("ca."), "{field}");
                assert_eq!(found.next.is_none(), field.starts_with("next"), "{field}");
            }
        }
    }

    #[test]
    fn a_key_or_a_certificate_of_somebody_else_does_not_pass() {
        let other = whole();
        for field in ["ca.crt", "ca.key", "tls.crt", "tls.key", "next-ca.key"] {
            let mut data = whole();
            data.insert(field.to_owned(), other[field].clone());
            assert!(!Found::read(&data).flaws.is_empty(), "{field}");
        }
    }

    #[test]
    fn keys_are_shown_to_nobody() {
        let data = whole();
        let shown = format!("{:?}", Found::read(&data));
        for field in ["ca.key", "next-ca.key", "tls.key"] {
            let key = String::from_utf8(data[field].0.clone()).unwrap();
            let line = key.lines().nth(1).unwrap();
            assert!(!shown.contains(line), "{field}");
        }
    }
}
