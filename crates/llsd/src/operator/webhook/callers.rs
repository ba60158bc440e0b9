//! Who calls the webhooks. Anybody in the cluster can connect, and what a review says of its user can be
//! made up; only a client certificate of the configured authority shows that the API server calls. Others
//! are answered as well, from what they sent alone.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use tokio::time::sleep;
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, UnixTime};
use tokio_rustls::rustls::server::WebPkiClientVerifier;
use tokio_rustls::rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use tokio_rustls::rustls::{DistinguishedName, Error, RootCertStore};

use crate::operator::key_proof::verify_key_proof;

/// The file may be a ConfigMap's, which changes while the operator runs.
const POLL: Duration = Duration::from_secs(10);

/// Whether a caller is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Caller {
    /// It showed a certificate of the configured authority.
    Known,
    Unknown,
}

/// The authority whose certificates known callers have, from a file. While that cannot be read, nobody
/// is known.
pub struct Callers {
    file: PathBuf,
    provider: Arc<CryptoProvider>,
    read: RwLock<AuthorityFile>,
}

/// What was read last.
#[derive(Default)]
struct AuthorityFile {
    text: Vec<u8>,
    authority: Option<Arc<dyn ClientCertVerifier>>,
    failure: Option<String>,
}

/// Why a file holds no authority.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error("it cannot be read: {0}")]
    Unreadable(#[from] std::io::Error),
    #[error("it holds no certificate in PEM")]
    NoCertificate,
    #[error("it holds a certificate that cannot be used")]
    BadCertificate,
}

impl Callers {
    pub fn new(file: &Path) -> Self {
        let callers = Self {
            file: file.to_owned(),
            provider: Arc::new(aws_lc_rs::default_provider()),
            read: RwLock::default(),
        };
        callers.refresh();
        callers
    }

    /// Follows the file, as long as it is polled.
    pub async fn keep(self: Arc<Self>) {
        loop {
            sleep(POLL).await;
            self.refresh();
        }
    }

    /// Who shows these certificates. They are checked here and not by the handshake: a certificate of the
    /// API server that has expired must not end its calls, which then nobody would hear of.
    pub(super) fn identify(&self, shown: Option<&[CertificateDer<'_>]>) -> Caller {
        let authority = self.read.read().unwrap_or_else(PoisonError::into_inner).authority.clone();
        let (Some(authority), Some([certificate, rest @ ..])) = (authority, shown) else {
            return Caller::Unknown;
        };
        match authority.verify_client_cert(certificate, rest, UnixTime::now()) {
            Ok(_) => Caller::Known,
            Err(error) => {
                tracing::debug!(%error, "a caller of the webhooks has a certificate of somebody else");
                Caller::Unknown
            }
        }
    }

    /// A file that is just being replaced, or broken, leaves what was read before.
    fn refresh(&self) {
        let text = std::fs::read(&self.file);
        let mut read = self.read.write().unwrap_or_else(PoisonError::into_inner);
        if text.as_ref().is_ok_and(|text| *text == read.text) && read.failure.is_none() {
            return;
        }
        match text.map_err(Unusable::from).and_then(|text| Ok((self.authority(&text)?, text))) {
            Ok((authority, text)) => {
                tracing::info!(file = %self.file.display(), "callers of the webhooks are known by it");
                *read = AuthorityFile { text, authority: Some(authority), failure: None };
            }
            Err(unusable) => {
                let failure = Some(unusable.to_string());
                if read.failure != failure {
                    let file = self.file.display();
                    tracing::warn!(%file, %unusable, "no authority of the webhooks' callers");
                    read.failure = failure;
                }
            }
        }
    }

    fn authority(&self, text: &[u8]) -> Result<Arc<dyn ClientCertVerifier>, Unusable> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(text) {
            let certificate = certificate.map_err(|_| Unusable::BadCertificate)?;
            roots.add(certificate).map_err(|_| Unusable::BadCertificate)?;
        }
        if roots.is_empty() {
            return Err(Unusable::NoCertificate);
        }
        let provider = Arc::clone(&self.provider);
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider);
        let built = verifier.build().map_err(|_| Unusable::BadCertificate)?;
        Ok(built)
    }
}

impl fmt::Debug for Callers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Callers").field("file", &self.file).finish_non_exhaustive()
    }
}

/// Asks for a certificate and takes any, or none; that its owner has the key is checked.
impl ClientCertVerifier for Callers {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        Ok(ClientCertVerified::assertion())
    }

    verify_key_proof!();
}

#[cfg(test)]
mod tests {
    use rcgen::{
        BasicConstraints, CertificateParams, CertifiedIssuer, ExtendedKeyUsagePurpose, IsCa,
        KeyPair, KeyUsagePurpose,
    };

    use super::*;

    type Authority = CertifiedIssuer<'static, KeyPair>;

    fn authority() -> Authority {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
    }

    fn signed(
        authority: &Authority,
        usage: ExtendedKeyUsagePurpose,
    ) -> [CertificateDer<'static>; 1] {
        let mut params = CertificateParams::default();
        params.extended_key_usages = vec![usage];
        let signed = params.signed_by(&KeyPair::generate().unwrap(), authority).unwrap();
        [signed.der().clone()]
    }

    #[test]
    fn only_a_client_certificate_of_the_authority_makes_a_caller_known() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.crt");
        let [own, other] = [authority(), authority()];
        std::fs::write(&file, own.pem()).unwrap();
        let callers = Callers::new(&file);
        let client = signed(&own, ExtendedKeyUsagePurpose::ClientAuth);
        assert_eq!(callers.identify(Some(&client)), Caller::Known);
        let server = signed(&own, ExtendedKeyUsagePurpose::ServerAuth);
        let foreign = signed(&other, ExtendedKeyUsagePurpose::ClientAuth);
        for shown in [None, Some(&[][..]), Some(&server[..]), Some(&foreign[..])] {
            assert_eq!(callers.identify(shown), Caller::Unknown);
        }
    }

    #[test]
    fn the_file_is_followed_and_a_broken_one_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("ca.crt");
        let callers = Callers::new(&file);
        let [first, second] = [authority(), authority()];
        let of = |authority: &Authority| signed(authority, ExtendedKeyUsagePurpose::ClientAuth);
        assert_eq!(callers.identify(Some(&of(&first))), Caller::Unknown, "there is no file yet");
        let follow = |text: &str| {
            std::fs::write(&file, text).unwrap();
            callers.refresh();
        };
        follow(&first.pem());
        assert_eq!(callers.identify(Some(&of(&first))), Caller::Known);
        for broken in ["", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n"] {
            follow(broken);
            assert_eq!(callers.identify(Some(&of(&first))), Caller::Known, "{broken}");
        }
        follow(&second.pem());
        assert_eq!(callers.identify(Some(&of(&second))), Caller::Known);
        assert_eq!(callers.identify(Some(&of(&first))), Caller::Unknown);
    }
}
