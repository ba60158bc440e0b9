//! A blob on its way, counted and hashed as it comes.

use bytes::Bytes;
use llsd_image::Verifier;
use reqwest::Response;

use super::{explain, host_of};
use crate::{Digest, Error};

/// A blob on its way.
pub struct BlobStream {
    response: Response,
    what: String,
    expected: Digest,
    size: u64,
    left: u64,
    verifier: Option<Verifier>,
}

impl std::fmt::Debug for BlobStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "BlobStream({})", self.what)
    }
}

impl BlobStream {
    pub(crate) fn new(response: Response, what: String, expected: &Digest, size: u64) -> Self {
        let verifier = Some(Verifier::for_digest(expected));
        Self { response, what, expected: expected.clone(), size, left: size, verifier }
    }

    /// What the manifest says of its size; more than that never comes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// The next piece; `None` once all of it came and has the right digest.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Error> {
        let host = host_of(self.response.url());
        let piece = self.response.chunk().await;
        let Some(piece) = piece.map_err(|error| explain(&error, &host, "the layer stopped"))?
        else {
            if let Some(verifier) = self.verifier.take() {
                expect_digest(&self.expected, verifier.finish(), self.what.clone())?;
            }
            return Ok(None);
        };
        let too_large = || Error::TooLarge { what: self.what.clone(), limit: self.size };
        self.left = self.left.checked_sub(piece.len() as u64).ok_or_else(too_large)?;
        if let Some(verifier) = &mut self.verifier {
            verifier.update(&piece);
        }
        Ok(Some(piece))
    }
}

pub(crate) fn expect_digest(expected: &Digest, actual: Digest, what: String) -> Result<(), Error> {
    if actual == *expected {
        return Ok(());
    }
    Err(Error::WrongDigest { what, expected: expected.clone(), actual })
}
