//! The flags of the webhooks, and what they come to: whether webhooks are served, with whose
//! certificates, and at which address the API server calls them.

use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use llsd_install::names::WEBHOOK_PORT;
use thiserror::Error;

use crate::operator::controller::Scope;
use crate::operator::health::BindAddress;
use crate::operator::webhook::certificates::{AUTHORITY_LIFETIME, LEAF_LIFETIME, Times};

#[derive(Debug, Args)]
pub(super) struct Flags {
    /// Where webhooks are served; 0 switches them off. Without it: :9443 inside of a cluster, or
    /// with --webhook-url
    #[arg(long = "webhook-bind-address", value_name = "ADDRESS")]
    bind_address: Option<BindAddress>,

    /// Where the API server reaches the webhooks of an operator outside of the cluster, such as
    /// https://10.0.0.5:9443; without it through the Service
    #[arg(long = "webhook-url", value_name = "URL")]
    url: Option<WebhookUrl>,

    /// A folder with tls.crt and tls.key that another program renews; without it, the operator creates its own certificates
    #[arg(long = "webhook-cert-dir", value_name = "DIR")]
    cert_dir: Option<PathBuf>,

    /// Certificate authorities, in PEM, of the API server's client certificate; only for a caller with
    /// a certificate of theirs does admission look whether what a resource refers to exists
    #[arg(long = "webhook-client-ca-file", value_name = "FILE")]
    client_authority: Option<PathBuf>,

    /// How long a certificate of the operator's own is valid, in seconds; renewed at two thirds
    #[arg(long = "webhook-certificate-lifetime", default_value_t = LEAF_LIFETIME.as_secs(), value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(5..=3_153_600_000))]
    certificate_lifetime: u64,

    /// How long an authority of the operator's own is valid, in seconds; renewed at two thirds
    #[arg(long = "webhook-authority-lifetime", default_value_t = AUTHORITY_LIFETIME.as_secs(), value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(5..=3_153_600_000))]
    authority_lifetime: u64,
}

/// `https://HOST[:PORT]`, and nothing behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct WebhookUrl {
    /// Without a slash at its end.
    pub text: String,
    /// As a certificate names it: an address of IPv6 without its brackets.
    pub host: String,
}

#[derive(Debug, Error)]
#[error("`{0}` is not https://HOST:PORT")]
pub(super) struct NoWebhookUrl(String);

impl FromStr for WebhookUrl {
    type Err = NoWebhookUrl;

    fn from_str(text: &str) -> Result<Self, NoWebhookUrl> {
        let text = text.strip_suffix('/').unwrap_or(text);
        let wrong = || NoWebhookUrl(text.to_owned());
        let url: http::Uri = text.parse().map_err(|_| wrong())?;
        let host = url.host().filter(|host| !host.is_empty()).ok_or_else(wrong)?;
        let is_bare = url.path_and_query().is_none_or(|rest| rest.as_str() == "/");
        let has_user = url.authority().is_some_and(|authority| authority.as_str().contains('@'));
        if url.scheme_str() != Some("https") || !is_bare || has_user {
            return Err(wrong());
        }
        let host = host.trim_start_matches('[').trim_end_matches(']').to_owned();
        Ok(Self { text: text.to_owned(), host })
    }
}

/// How webhooks are served.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Plan {
    pub address: BindAddress,
    pub certificates: Source,
    pub url: Option<WebhookUrl>,
    /// The file with the authorities by which callers are known.
    pub client_authority: Option<PathBuf>,
}

/// Whose certificates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    Own(Times),
    Files(PathBuf),
}

#[derive(Debug, Error)]
#[error(
    "an operator of some namespaces serves webhooks only with --webhook-cert-dir; give it, or leave \
     out --webhook-url and --webhook-bind-address"
)]
pub(super) struct NoCertificates;

impl Flags {
    /// Nothing, if webhooks are not served.
    pub(super) fn plan(
        &self,
        scope: &Scope,
        in_a_cluster: bool,
    ) -> Result<Option<Plan>, NoCertificates> {
        let asked_for = self.url.is_some() || self.bind_address.is_some();
        let address = self.bind_address.clone().unwrap_or(BindAddress::Everywhere(WEBHOOK_PORT));
        if address == BindAddress::Nowhere {
            return Ok(None);
        }
        let certificates = match &self.cert_dir {
            Some(folder) => Source::Files(folder.clone()),
            // With rights in some namespaces the operator cannot register with the API server whom to trust.
            None if *scope != Scope::Cluster && asked_for => return Err(NoCertificates),
            None if *scope != Scope::Cluster || !(in_a_cluster || asked_for) => return Ok(None),
            None => Source::Own(Times::new(
                Duration::from_secs(self.certificate_lifetime),
                Duration::from_secs(self.authority_lifetime),
            )),
        };
        let client_authority = self.client_authority.clone();
        Ok(Some(Plan { address, certificates, url: self.url.clone(), client_authority }))
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        flags: Flags,
    }

    fn plan(flags: &[&str], scope: &str, in_a_cluster: bool) -> Result<Option<Plan>, String> {
        let line = ["llsd"].iter().chain(flags);
        let flags = Line::try_parse_from(line).map_err(|error| error.to_string())?.flags;
        flags.plan(&Scope::parse(scope), in_a_cluster).map_err(|error| error.to_string())
    }

    #[test]
    fn webhooks_are_on_in_a_cluster_and_elsewhere_when_asked_for() {
        let inside = plan(&[], "", true).unwrap().unwrap();
        assert_eq!(inside.address, BindAddress::Everywhere(9443));
        assert_eq!(inside.certificates, Source::Own(Times::default()));
        assert_eq!(plan(&["--webhook-bind-address=0"], "", true).unwrap(), None);
        assert_eq!(plan(&[], "", false).unwrap(), None);
        assert!(plan(&["--webhook-bind-address=:9443"], "", false).unwrap().is_some());
        let outside = plan(&["--webhook-url=https://[::1]:9443/"], "", false).unwrap().unwrap();
        let url = outside.url.unwrap();
        assert_eq!((url.text.as_str(), url.host.as_str()), ("https://[::1]:9443", "::1"));
    }

    #[test]
    fn callers_are_known_only_where_an_authority_is_given() {
        let authority = |flags: &[&str]| plan(flags, "", true).unwrap().unwrap().client_authority;
        assert_eq!(authority(&[]), None);
        let given = authority(&["--webhook-client-ca-file=/callers/ca.crt"]);
        assert_eq!(given, Some("/callers/ca.crt".into()));
    }

    #[test]
    fn an_operator_of_some_namespaces_takes_its_certificates_from_files() {
        assert_eq!(plan(&[], "team", true).unwrap(), None);
        let with_files = plan(&["--webhook-cert-dir=/certificates"], "team", true).unwrap();
        assert_eq!(with_files.unwrap().certificates, Source::Files("/certificates".into()));
        let refused = plan(&["--webhook-bind-address=:9443"], "team", true).unwrap_err();
        assert!(refused.contains("--webhook-cert-dir"), "{refused}");
    }

    #[test]
    fn a_life_that_no_certificate_can_hold_is_refused() {
        for lifetime in ["18446744073709551615", "4", "a day"] {
            assert!(plan(&["--webhook-certificate-lifetime", lifetime], "", true).is_err());
        }
    }

    #[test]
    fn an_address_is_https_and_has_no_path() {
        for url in ["http://host:1", "host:1", "https://", "https://host/path", "https://u@host"] {
            let refused = plan(&["--webhook-url", url], "", false).unwrap_err();
            assert!(refused.contains("https://HOST:PORT"), "{url}: {refused}");
        }
    }
}
