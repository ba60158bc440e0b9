//! The names of images: references as people write them, and the digests that pin content. What an image
//! holds is `llsd-image`'s.

mod digest;
mod reference;

pub use digest::{Digest, Verifier};
pub use reference::Reference;

/// Why a text is no reference. It does not repeat the text, which may hold a password before an `@`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not an image reference: {0}")]
pub struct InvalidReference(pub &'static str);
