//! Makes authorities and certificates (ECDSA P-256), and carries out a step that was decided. Asks
//! nobody and writes nowhere.

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::Timestamp;
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose, date_time_ymd,
};
use secrecy::ExposeSecret;

use super::Times;
use super::certificate::{self, Authority, Leaf};
use super::decide::{BACKDATED, Replica, Step};
use super::material::Material;

/// Why no certificate could be made; never because of a user.
#[derive(Debug, thiserror::Error)]
pub enum MakeError {
    #[error("no certificate can be made: {0}")]
    Rcgen(#[from] rcgen::Error),
    #[error("what was just made cannot be read: {0}")]
    Unreadable(&'static str),
    #[error("there is no authority to sign with")]
    NoAuthority,
}

/// What the Secret shall hold after `step`.
pub(super) fn carry_out(
    step: &Step,
    now: Timestamp,
    found: &Material,
    own: &Replica<'_>,
    times: &Times,
) -> Result<Material, MakeError> {
    let mut made = Material { flaws: Vec::new(), ..found.clone() };
    let still_served = own.serving.filter(|serving| now < serving.until).cloned();
    match step {
        Step::Keep | Step::Tidy => {}
        Step::MakeAnew => {
            let authority = authority(now, times)?;
            made = Material {
                leaf: Some(leaf(now, &authority, own.names, times)?),
                authority: Some(authority),
                previous: still_served.into_iter().collect(),
                ..Material::default()
            };
        }
        Step::MakeLeaf => {
            let authority = found.authority.as_ref().ok_or(MakeError::NoAuthority)?;
            made.leaf = Some(leaf(now, authority, own.names, times)?);
        }
        Step::PrepareNext => made.next = Some(authority(now, times)?),
        Step::HandOver => {
            let next = made.next.take().ok_or(MakeError::NoAuthority)?;
            made.leaf = Some(leaf(now, &next, own.names, times)?);
            let before = made.authority.replace(next);
            made.previous.extend(before.map(|before| before.trusted));
        }
        Step::TrustServed => made.previous.extend(still_served),
        Step::Retire => made.previous.clear(),
    }
    made.previous.retain(|previous| now < previous.until);
    Ok(made)
}

pub(super) fn authority(now: Timestamp, times: &Times) -> Result<Authority, MakeError> {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::DigitalSignature];
    // Two authorities of one name would only confuse whoever looks at a bundle of both.
    let name = format!("llama-stack-k8s-operator webhooks {:08x}", fastrand::u32(..));
    params.distinguished_name = subject(&name);
    valid(&mut params, now, now + times.authority);
    let key = KeyPair::generate()?;
    let certificate = params.self_signed(&key)?;
    let made = certificate::authority(Some(&certificate.pem()), Some(&key.serialize_pem()));
    made.map_err(MakeError::Unreadable)
}

pub(super) fn leaf(
    now: Timestamp,
    authority: &Authority,
    names: &BTreeSet<String>,
    times: &Times,
) -> Result<Leaf, MakeError> {
    let signing_key = KeyPair::from_pem(authority.key.expose_secret())?;
    let issuer = Issuer::from_ca_cert_pem(&authority.trusted.pem, signing_key)?;
    let mut params = CertificateParams::new(names.iter().cloned().collect::<Vec<String>>())?;
    params.distinguished_name = subject("llama-stack-k8s-operator webhooks");
    params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    params.use_authority_key_identifier_extension = true;
    valid(&mut params, now, (now + times.leaf).min(authority.trusted.until));
    let key = KeyPair::generate()?;
    let certificate = params.signed_by(&key, &issuer)?;
    Leaf::foreign(&certificate.pem(), &key.serialize_pem().into()).map_err(MakeError::Unreadable)
}

fn subject(name: &str) -> DistinguishedName {
    let mut subject = DistinguishedName::new();
    subject.push(DnType::CommonName, name);
    subject
}

fn valid(params: &mut CertificateParams, now: Timestamp, until: Timestamp) {
    let epoch = date_time_ymd(1970, 1, 1);
    let at = |time: Timestamp| {
        epoch + Duration::from_secs(u64::try_from(time.as_second()).unwrap_or_default())
    };
    params.not_before = at(now - BACKDATED);
    params.not_after = at(until);
}
