//! Reads layers as they come from the registry: unpacked while they arrive, in few places at once,
//! and believed only when the whole had its digest.

use std::{
    io::{self, Read},
    sync::Arc,
    time::Instant,
};

use bytes::{Buf, Bytes};
use llsd_image::layer::{self, Bounds, Pass, Watch};
use tokio::sync::{Semaphore, mpsc};

use crate::{Digest, Error, Repository};

/// Places for unpacking, which costs memory and a thread.
#[derive(Debug)]
pub(crate) struct Unpacking(Arc<Semaphore>);

impl Unpacking {
    pub(crate) fn new(places: usize) -> Self {
        Self(Arc::new(Semaphore::new(places)))
    }
}

/// The layers of one repository.
#[derive(Clone, Copy)]
pub(crate) struct Layers<'a> {
    pub(crate) repository: Repository<'a>,
    pub(crate) unpacking: &'a Unpacking,
    pub(crate) deadline: Instant,
    /// The longest file that is looked for.
    pub(crate) file: u64,
}

impl Layers<'_> {
    /// Searches a layer for `path` as often as links make it necessary. The outer error is the
    /// lookup's, the inner one the layer's own.
    pub(crate) async fn search<T>(
        &self,
        digest: &Digest,
        size: u64,
        path: &str,
        evaluate: impl Fn(Watch) -> Result<Pass<T>, Error>,
    ) -> Result<Result<T, Error>, Error> {
        let limits = self.repository.limits();
        let bounds =
            Bounds { unpacked: limits.unpacked_layer, file: self.file, deadline: self.deadline };
        // Never closed, so always there.
        let _place = self.unpacking.0.acquire().await.ok();
        let mut watch = Watch::new(path);
        for _ in 0..layer::PASSES {
            let scanned = self.pass(digest, size, watch, bounds.clone()).await?;
            match scanned.and_then(&evaluate) {
                Ok(Pass::Again(next)) => watch = next,
                Ok(Pass::Done(result)) => return Ok(Ok(result)),
                Err(error @ Error::TimedOut { .. }) => return Err(error),
                Err(error) => return Ok(Err(error)),
            }
        }
        Ok(Err(Error::BadLink { path: path.to_owned() }))
    }

    /// One pass over the layer. What it found counts only once the whole layer came and had its
    /// digest; what is wrong with the archive is known, and ends the download, at once.
    async fn pass(
        &self,
        digest: &Digest,
        size: u64,
        mut watch: Watch,
        bounds: Bounds,
    ) -> Result<Result<Watch, Error>, Error> {
        let mut stream = self.repository.blob_stream(digest, size).await?;
        let (pieces, pipe) = pipe();
        let scan = tokio::task::spawn_blocking(move || {
            layer::scan(pipe, &mut watch, &bounds).map(|()| watch)
        });
        let mut ended = None;
        let mut scan = Some((pieces, scan));
        while let Some(piece) = stream.next().await? {
            let Some((pieces, _)) = &scan else { continue };
            if pieces.send(piece).await.is_err() {
                // The archive ended before the layer did: the rest is only hashed.
                ended = join(scan.take()).await;
                if let Some(Err(error)) = ended {
                    return Ok(Err(error));
                }
            }
        }
        match ended {
            Some(scanned) => Ok(scanned),
            None => join(scan).await.ok_or_else(|| Error::malformed("the layer", "no result")),
        }
    }
}

type Scan = (mpsc::Sender<Bytes>, tokio::task::JoinHandle<Result<Watch, Error>>);

/// Closes the pipe and waits for what the scan came to.
async fn join(scan: Option<Scan>) -> Option<Result<Watch, Error>> {
    let (pieces, scan) = scan?;
    drop(pieces);
    let broken = |_| Err(Error::malformed("the layer", "it cannot be unpacked"));
    Some(scan.await.unwrap_or_else(broken))
}

const PIECES: usize = 8;

/// Carries a layer from the network, which is asynchronous, to decoders, which are not: the reading
/// end, for a thread that may block. It holds a few pieces at most, so a slow reader slows the download.
#[derive(Debug)]
struct Pipe {
    pieces: mpsc::Receiver<Bytes>,
    rest: Bytes,
}

fn pipe() -> (mpsc::Sender<Bytes>, Pipe) {
    let (sender, pieces) = mpsc::channel(PIECES);
    (sender, Pipe { pieces, rest: Bytes::new() })
}

impl Read for Pipe {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        while self.rest.is_empty() {
            match self.pieces.blocking_recv() {
                Some(piece) => self.rest = piece,
                None => return Ok(0),
            }
        }
        let count = self.rest.len().min(buffer.len());
        self.rest.copy_to_slice(&mut buffer[..count]);
        Ok(count)
    }
}
