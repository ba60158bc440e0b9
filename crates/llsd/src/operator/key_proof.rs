//! The part of a TLS handshake that every verifier of certificates shares: the proof that the peer holds
//! its certificate's key.

/// The methods of `ServerCertVerifier` and `ClientCertVerifier` that check this proof, with the algorithms
/// of the verifier's `provider`.
macro_rules! verify_key_proof {
    () => {
        $crate::operator::key_proof::verify_key_proof!(verify_tls12_signature);
        $crate::operator::key_proof::verify_key_proof!(verify_tls13_signature);

        fn supported_verify_schemes(&self) -> Vec<tokio_rustls::rustls::SignatureScheme> {
            self.provider.signature_verification_algorithms.supported_schemes()
        }
    };
    ($verify:ident) => {
        fn $verify(
            &self,
            message: &[u8],
            certificate: &CertificateDer<'_>,
            signed: &tokio_rustls::rustls::DigitallySignedStruct,
        ) -> Result<tokio_rustls::rustls::client::danger::HandshakeSignatureValid, Error> {
            let algorithms = &self.provider.signature_verification_algorithms;
            tokio_rustls::rustls::crypto::$verify(message, certificate, signed, algorithms)
        }
    };
}

pub(super) use verify_key_proof;
