//! A blob that is sent on while it arrives: never more than a few pieces of it in memory, and its
//! last piece only once the whole had its digest.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::atomic::Ordering,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use reqwest::{Response, header::CONTENT_TYPE};
use tokio::sync::mpsc;

use super::{Ask, BlobStream, Transport, explain, host_of};
use crate::Error;

const PIECES: usize = 4;

/// The receiving end as the body of a request.
struct Pieces {
    arriving: mpsc::Receiver<Bytes>,
    left: u64,
}

impl Body for Pieces {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.arriving.poll_recv(context).map(|piece| {
            let piece = piece?;
            self.left = self.left.saturating_sub(piece.len() as u64);
            Some(Ok(Frame::data(piece)))
        })
    }

    /// Becomes the content length. A blob that ends early breaks the request off, so that nothing
    /// incomplete is taken for whole.
    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}

impl Transport {
    /// Sends `blob` on. Not repeated when it fails: the blob has been read by then.
    pub(crate) async fn upload(&self, ask: &Ask, blob: BlobStream) -> Result<Response, Error> {
        let host = host_of(&ask.url);
        let (sender, arriving) = mpsc::channel(PIECES);
        let body = reqwest::Body::wrap(Pieces { arriving, left: blob.size() });
        let request = self.prepared(ask)?;
        let request = request.header(CONTENT_TYPE, "application/octet-stream").body(body);
        self.sent.fetch_add(1, Ordering::Relaxed);
        let (read, answer) = tokio::join!(pump(blob, sender), request.send());
        // What is wrong with the source explains what the target then says.
        read?;
        answer.map_err(|error| explain(&error, &host, "the upload got no answer"))
    }
}

/// Holds each piece back until the next one is there or the blob has ended as it should.
async fn pump(mut blob: BlobStream, pieces: mpsc::Sender<Bytes>) -> Result<(), Error> {
    let mut held: Option<Bytes> = None;
    loop {
        let next = blob.next().await?;
        let ended = next.is_none();
        let ready = std::mem::replace(&mut held, next);
        if let Some(piece) = ready
            && pieces.send(piece).await.is_err()
        {
            // The target answered before all was sent; its answer says why.
            return Ok(());
        }
        if ended {
            return Ok(());
        }
    }
}
