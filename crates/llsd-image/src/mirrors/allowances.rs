//! What a host may do that others may not: be spoken to without TLS, be trusted by an authority of
//! its own, be at a private address.

use llsd_pem::{Block, CERTIFICATE, Fault, blocks};

use super::{HostPattern, Registries};

impl Registries {
    /// Lets hosts be spoken to in plain HTTP. There is no silent fall from https to it.
    pub fn allow_plain_http(&mut self, hosts: HostPattern) {
        self.insecure.push(hosts);
    }

    /// Lets hosts be at private, loopback, link-local and metadata addresses.
    pub fn allow_private(&mut self, hosts: HostPattern) {
        self.private.push(hosts);
    }

    /// Trusts the certificates of a PEM text for hosts, beside the system's.
    pub fn trust(&mut self, hosts: HostPattern, certificates: &str) -> Result<(), &'static str> {
        check_certificates(certificates)?;
        self.authorities.push((hosts, certificates.to_owned()));
        Ok(())
    }

    /// PEM texts of the authorities to trust for a host (`host[:port]`), beside the system's.
    pub fn certificate_authorities(&self, host: &str) -> Vec<&str> {
        let matching = self.authorities.iter().filter(|(pattern, _)| pattern.matches(host));
        matching.map(|(_, pem)| pem.as_str()).collect()
    }

    /// Whether a host (`host[:port]`) is to be spoken to in plain HTTP.
    pub fn is_insecure(&self, host: &str) -> bool {
        self.insecure.iter().any(|pattern| pattern.matches(host))
    }

    /// Whether a host (`host[:port]`) may be at a private, loopback or link-local address: one
    /// that was allowed, or that the operator's configuration itself points to as a mirror.
    pub fn may_be_private(&self, host: &str) -> bool {
        let host_of = |mirror: &String| mirror.split('/').next().unwrap_or_default().to_lowercase();
        self.private.iter().any(|pattern| pattern.matches(host))
            || self
                .rules
                .iter()
                .flat_map(|rule| &rule.mirrors)
                .any(|mirror| host_of(mirror) == host.to_lowercase())
    }
}

/// Whether a PEM text holds certificates and nothing that should not be there, so that a mistake in
/// the configuration is found when it is read and not at the first pull.
pub(super) fn check_certificates(text: &str) -> Result<(), &'static str> {
    if text.contains("PRIVATE KEY-----") {
        return Err("holds a private key; only certificates belong here");
    }
    let mut certificates = 0;
    for block in blocks(text) {
        match block {
            // Every certificate is one ASN.1 sequence.
            Ok(Block { label: CERTIFICATE, content: Some(der) }) if der.first() == Some(&0x30) => {
                certificates += 1;
            }
            Ok(Block { label: CERTIFICATE, .. }) => {
                return Err("a certificate is not base64 of DER");
            }
            Err(Fault::Unclosed(CERTIFICATE)) => return Err("a CERTIFICATE block is not closed"),
            Ok(_) | Err(_) => return Err("only CERTIFICATE blocks are allowed"),
        }
    }
    if certificates == 0 { Err("holds no PEM certificate") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_allowed_for_one_host_is_not_for_another() {
        let mut registries = Registries::default();
        registries.allow_plain_http(HostPattern::parse("lab:5000").unwrap());
        registries.allow_private(HostPattern::parse("*.internal").unwrap());
        for (host, insecure, private) in [
            ("lab:5000", true, false),
            ("lab", false, false),
            ("lab:5001", false, false),
            ("a.internal", false, true),
            ("internal", false, false),
        ] {
            assert_eq!(registries.is_insecure(host), insecure, "{host}");
            assert_eq!(registries.may_be_private(host), private, "{host}");
            assert!(registries.certificate_authorities(host).is_empty());
        }
    }

    #[test]
    fn every_host_is_meant_only_where_that_is_said() {
        let mut registries = Registries::default();
        registries.allow_private(HostPattern::every());
        assert!(registries.may_be_private("127.0.0.1:5000") && registries.may_be_private("a"));
        assert!(!registries.is_insecure("a"));
        assert!(HostPattern::parse("*").is_err(), "an operator names the hosts");
    }

    #[test]
    fn only_certificates_are_trusted() {
        let mut registries = Registries::default();
        assert!(registries.trust(HostPattern::every(), "not a certificate").is_err());
        assert!(registries.certificate_authorities("a").is_empty());
    }
}
