//! Trust in exactly one certificate: the one in the Secret that a server serves. It need not be
//! issued for the Service's name, nor by an authority that anybody knows.

use std::sync::Arc;

use tokio_rustls::rustls::client::danger::{ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, aws_lc_rs};
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{CertificateError, Error};

use crate::operator::key_proof::verify_key_proof;

/// Accepts one certificate, with proof that the server holds its key.
#[derive(Debug)]
pub struct PinnedCertificate {
    certificate: CertificateDer<'static>,
    provider: Arc<CryptoProvider>,
}

impl PinnedCertificate {
    /// The first certificate of a PEM text, which is the server's own.
    pub fn from_pem(pem: &[u8]) -> Result<Self, String> {
        let certificate = CertificateDer::from_pem_slice(pem)
            .map_err(|_| "the Secret's tls.crt is no certificate".to_owned())?;
        Ok(Self { certificate, provider: Arc::new(aws_lc_rs::default_provider()) })
    }
}

impl ServerCertVerifier for PinnedCertificate {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if *end_entity == self.certificate {
            Ok(ServerCertVerified::assertion())
        } else {
            // A pod that has not been restarted since the Secret changed still serves the old one.
            Err(Error::InvalidCertificate(CertificateError::ApplicationVerificationFailure))
        }
    }

    verify_key_proof!();
}

#[cfg(test)]
mod tests {
    use rcgen::{KeyPair, generate_simple_self_signed};
    use tokio_rustls::rustls::pki_types::PrivateKeyDer;
    use tokio_rustls::rustls::sign::{CertifiedKey, SingleCertAndKey};
    use tokio_rustls::rustls::{ClientConfig, ServerConfig, version};
    use tokio_rustls::{TlsAcceptor, TlsConnector};

    use super::*;
    use crate::operator::webhook::Callers;

    /// The webhooks ask their callers for the same proof.
    #[tokio::test]
    async fn over_every_version_of_tls_a_certificate_counts_only_with_its_key() {
        let own = generate_simple_self_signed(["some.other.name".to_owned()]).unwrap();
        let (right, wrong) = (&own.signing_key, &KeyPair::generate().unwrap());
        let provider = Arc::new(aws_lc_rs::default_provider());
        let shown = |key: &KeyPair| {
            let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
            let key = provider.key_provider.load_private_key(key).unwrap();
            Arc::new(SingleCertAndKey::from(CertifiedKey::new(vec![own.cert.der().clone()], key)))
        };
        for version in [&version::TLS12, &version::TLS13] {
            for (of_server, of_caller) in [(right, right), (wrong, right), (right, wrong)] {
                let server = ServerConfig::builder_with_provider(Arc::clone(&provider))
                    .with_protocol_versions(&[version])
                    .unwrap()
                    .with_client_cert_verifier(Arc::new(Callers::new("/nowhere".as_ref())))
                    .with_cert_resolver(shown(of_server));
                let pinned = PinnedCertificate::from_pem(own.cert.pem().as_bytes()).unwrap();
                let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
                    .with_protocol_versions(&[version])
                    .unwrap()
                    .dangerous()
                    .with_custom_certificate_verifier(Arc::new(pinned))
                    .with_client_cert_resolver(shown(of_caller));
                let (here, there) = tokio::io::duplex(1 << 16);
                let name = ServerName::try_from("llama-service").unwrap();
                let (_, accepted) = tokio::join!(
                    TlsConnector::from(Arc::new(client)).connect(name, here),
                    TlsAcceptor::from(Arc::new(server)).accept(there),
                );
                assert_eq!(accepted.is_ok(), std::ptr::eq(of_server, of_caller), "{version:?}");
            }
        }
    }
}
