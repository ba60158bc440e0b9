//! Finds a file in an image: in the uppermost layer that has it, unless a layer above took it away.

use std::time::Instant;

use llsd_image::layer::{Below, Outcome, Pass, plain_path};

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

/// What one layer holds of a path.
enum OneLayer {
    Here(Vec<u8>),
    Absent { path: String, below: Below },
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
        let FoundBytes { layer, layer_size, path: at, content } = found;
        let unclear = |_| Error::malformed(at.trim_start_matches('/'), "it is not UTF-8 text");
        let text = String::from_utf8(content).map_err(unclear)?;
        Ok(FoundFile { layer, layer_size, path: at, text })
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
            Ok(AllLayers::Found(found)) => return Ok(Ok(found)),
            Ok(AllLayers::Link(target)) => wanted = target,
            Ok(AllLayers::Deleted) => {
                return Ok(Err(Error::DeletedInLayer { path: path.to_owned() }));
            }
            Ok(AllLayers::Nowhere) => return Ok(Err(not_there())),
            Err(error) => return Ok(Err(error)),
        }
    }
    Ok(Err(Error::BadLink { path: path.to_owned() }))
}

/// A file before it is known to be a text.
struct FoundBytes {
    layer: Digest,
    layer_size: u64,
    path: String,
    content: Vec<u8>,
}

enum AllLayers {
    Found(FoundBytes),
    Link(String),
    Deleted,
    Nowhere,
}

/// From the uppermost layer down, until one decides.
async fn in_layers(
    layers: Layers<'_>,
    of_image: &[Layer],
    wanted: &str,
) -> Result<Result<AllLayers, Error>, Error> {
    let limit = layers.file;
    for layer in of_image.iter().rev() {
        let seen = layers.search(&layer.digest, layer.size, wanted, |watch| {
            Ok(match watch.outcome(limit)? {
                Outcome::Found(content) => Pass::Done(OneLayer::Here(content)),
                Outcome::Absent { path, below } => Pass::Done(OneLayer::Absent { path, below }),
                Outcome::Again(watch) => Pass::Again(watch),
            })
        });
        let seen = match Box::pin(seen).await? {
            Ok(seen) => seen,
            Err(error) => return Ok(Err(error)),
        };
        match seen {
            OneLayer::Here(content) => {
                return Ok(Ok(AllLayers::Found(FoundBytes {
                    layer: layer.digest.clone(),
                    layer_size: layer.size,
                    path: format!("/{wanted}"),
                    content,
                })));
            }
            // Where a link leads, any layer may have the file.
            OneLayer::Absent { path, .. } if path != wanted => {
                return Ok(Ok(AllLayers::Link(path)));
            }
            OneLayer::Absent { below: Below::Shown, .. } => {}
            OneLayer::Absent { below: Below::Hidden, .. } => return Ok(Ok(AllLayers::Nowhere)),
            OneLayer::Absent { below: Below::Deleted, .. } => return Ok(Ok(AllLayers::Deleted)),
        }
    }
    Ok(Ok(AllLayers::Nowhere))
}
