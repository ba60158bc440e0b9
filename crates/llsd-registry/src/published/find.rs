//! Finds a file in an image: in the uppermost layer that has it, unless a layer above took it away.

use std::time::Instant;

use llsd_image::layer::{Below, Outcome, plain_path};

use super::{Layer, Part, Published};
use crate::{
    Digest, Error, Repository,
    unpacking::{Layers, Unpacking},
};

/// Links from one layer to another until the file.
const HOPS: usize = 8;

/// A file of an image and the layer that shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    pub layer: Digest,
    /// How large the layer is on its way, in bytes.
    pub layer_size: u64,
    /// Its path in that layer, which is another than the wanted one behind a link of another layer.
    pub path: String,
    pub text: String,
}

impl Published {
    /// The text that a container of this platform would see under `path`.
    pub async fn find_file(
        &self,
        repository: Repository<'_>,
        part: &Part,
        path: &str,
    ) -> Result<FoundFile, Error> {
        let found = Self::find(repository, part, path, repository.limits().file).await?;
        let FoundBytes { layer, layer_size, path, content } = found;
        let text = as_text(content, path.trim_start_matches('/'))?;
        Ok(FoundFile { layer, layer_size, path, text })
    }

    /// The bytes that a container of this platform would see under `path`, no more than `limit`.
    pub async fn find_bytes(
        &self,
        repository: Repository<'_>,
        part: &Part,
        path: &str,
        limit: u64,
    ) -> Result<Vec<u8>, Error> {
        Ok(Self::find(repository, part, path, limit).await?.content)
    }

    async fn find(
        repository: Repository<'_>,
        part: &Part,
        path: &str,
        limit: u64,
    ) -> Result<FoundBytes, Error> {
        let unpacking = Unpacking::new(1);
        let deadline = Instant::now() + repository.limits().lookup;
        let layers = Layers { repository, unpacking: &unpacking, deadline, file: limit };
        in_image(layers, &part.layers, path).await?
    }
}

/// The bytes that a container would see under `path`. The outer error is the lookup's, the inner one the
/// image's own.
pub(crate) async fn bytes_in_image(
    layers: Layers<'_>,
    of_image: &[Layer],
    path: &str,
) -> Result<Result<Vec<u8>, Error>, Error> {
    Ok(in_image(layers, of_image, path).await?.map(|found| found.content))
}

async fn in_image(
    layers: Layers<'_>,
    of_image: &[Layer],
    path: &str,
) -> Result<Result<FoundBytes, Error>, Error> {
    let not_there = || Error::NotInImage { path: path.to_owned() };
    let Some(mut wanted) = plain_path(path) else { return Ok(Err(not_there())) };
    for _ in 0..=HOPS {
        match in_layers(layers, of_image, &wanted).await? {
            Ok(Some((layer, Outcome::Found(content)))) => {
                return Ok(Ok(FoundBytes {
                    layer: layer.digest.clone(),
                    layer_size: layer.size,
                    path: format!("/{wanted}"),
                    content,
                }));
            }
            // Where a link leads, any layer may have the file.
            Ok(Some((_, Outcome::Absent { path, .. }))) if path != wanted => wanted = path,
            Ok(Some((_, Outcome::Absent { below: Below::Deleted, .. }))) => {
                return Ok(Err(Error::DeletedInLayer { path: path.to_owned() }));
            }
            Ok(_) => return Ok(Err(not_there())),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Err(Error::BadLink { path: path.to_owned() }))
}

/// A file's content, which should be a text.
pub(crate) fn as_text(content: Vec<u8>, path: &str) -> Result<String, Error> {
    String::from_utf8(content).map_err(|_| Error::malformed(path, "it is not UTF-8 text"))
}

/// A file before it is known to be a text.
struct FoundBytes {
    layer: Digest,
    layer_size: u64,
    path: String,
    content: Vec<u8>,
}

/// From the uppermost layer down, until one decides.
async fn in_layers<'l>(
    layers: Layers<'_>,
    of_image: &'l [Layer],
    wanted: &str,
) -> Result<Result<Option<(&'l Layer, Outcome)>, Error>, Error> {
    let limit = layers.file;
    for layer in of_image.iter().rev() {
        let seen = layers.search(&layer.digest, layer.size, wanted, |watch| watch.outcome(limit));
        match Box::pin(seen).await? {
            Ok(Outcome::Absent { path, below: Below::Shown }) if path == wanted => {}
            Ok(outcome) => return Ok(Ok(Some((layer, outcome)))),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Ok(None))
}
