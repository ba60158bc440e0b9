//! What the Secret holds, or shall hold: authorities and the certificate that is served. Nothing is
//! asked or decided here.

use std::collections::BTreeMap;

use k8s_openapi::ByteString;
use secrecy::SecretString;

use super::certificate::{Authority, Leaf, Trusted, all_trusted, authority, leaf};

const AUTHORITY: [&str; 2] = ["ca.crt", "ca.key"];
const NEXT: [&str; 2] = ["next-ca.crt", "next-ca.key"];
const PREVIOUS: &str = "previous-ca.crt";
const LEAF: [&str; 2] = ["tls.crt", "tls.key"];
/// Every field that we write; others in the Secret are not ours to touch.
pub(super) const FIELDS: [&str; 7] =
    [AUTHORITY[0], AUTHORITY[1], NEXT[0], NEXT[1], PREVIOUS, LEAF[0], LEAF[1]];

/// The content of the Secret.
#[derive(Clone, Debug, Default)]
pub struct Material {
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

impl Material {
    pub fn parse(data: &BTreeMap<String, ByteString>) -> Self {
        let mut material = Self::default();
        let mut flaws = Vec::new();
        let text = |field: &str| text(data, field);
        match authority(text(AUTHORITY[0]), text(AUTHORITY[1])) {
            Ok(authority) => material.authority = Some(authority),
            Err(flaw) => flaws.push(format!("{}, {}: {flaw}", AUTHORITY[0], AUTHORITY[1])),
        }
        let issuer = material.authority.as_ref().map(|authority| &authority.trusted);
        match leaf(text(LEAF[0]), text(LEAF[1]), issuer) {
            Ok(leaf) => material.leaf = Some(leaf),
            Err(flaw) => flaws.push(format!("{}, {}: {flaw}", LEAF[0], LEAF[1])),
        }
        if NEXT.iter().any(|field| data.contains_key(*field)) {
            match authority(text(NEXT[0]), text(NEXT[1])) {
                Ok(authority) => material.next = Some(authority),
                Err(flaw) => flaws.push(format!("{}, {}: {flaw}", NEXT[0], NEXT[1])),
            }
        }
        if data.contains_key(PREVIOUS) {
            match text(PREVIOUS).ok_or("is no text").and_then(all_trusted) {
                Ok(previous) => material.previous = previous,
                Err(flaw) => flaws.push(format!("{PREVIOUS}: {flaw}")),
            }
        }
        material.flaws = flaws;
        material
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

fn text<'a>(data: &'a BTreeMap<String, ByteString>, field: &str) -> Option<&'a str> {
    std::str::from_utf8(&data.get(field)?.0).ok()
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use secrecy::ExposeSecret;

    use super::super::{Times, make};
    use super::*;

    fn whole() -> BTreeMap<String, ByteString> {
        let (now, times) = (Timestamp::now(), Times::default());
        let authority = make::authority(now, &times).unwrap();
        let names = ["webhooks.home.svc".to_owned(), "::1".to_owned()].into();
        let leaf = make::leaf(now, &authority, &names, &times).unwrap();
        let found = Material {
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
        let found = Material::parse(&whole());
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
                let found = Material::parse(&data);
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
            assert!(!Material::parse(&data).flaws.is_empty(), "{field}");
        }
    }

    #[test]
    fn keys_are_shown_to_nobody() {
        let data = whole();
        let shown = format!("{:?}", Material::parse(&data));
        for field in ["ca.key", "next-ca.key", "tls.key"] {
            let key = String::from_utf8(data[field].0.clone()).unwrap();
            let line = key.lines().nth(1).unwrap();
            assert!(!shown.contains(line), "{field}");
        }
    }
}
