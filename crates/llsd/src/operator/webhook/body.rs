//! Reads what was sent, within bounds: of one body, and of all that are held at the same time.

use std::sync::Arc;

use axum::body::Body;
use futures::StreamExt;
use thiserror::Error;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// Of one body. A page of a list has up to 500 objects, so 64 KiB of each pass; what a resource
/// usually needs is 2 KiB, and one alone may have 3 MiB.
pub(super) const BODY: usize = 32 << 20;

/// Of all bodies together, each counted twice, for what comes in and for what goes out. The largest
/// one and several others fit, and the operator stays within the 256 MiB that it is installed with.
const ALL: usize = 96 << 20;

/// What one value of an object takes while it is worked on, at most, and as how many values a body counts that
/// has more: no object with more of them is read.
const VALUE: usize = 400;
const VALUES: usize = 100_000;

/// The unit in which it is counted.
const PIECE: usize = 16 << 10;

/// Room for what is being read and answered.
#[derive(Clone, Debug)]
pub(super) struct Room(Arc<Semaphore>);

/// A body, and the room it takes as long as it is there.
#[derive(Debug)]
pub(super) struct Received {
    pub(super) bytes: Vec<u8>,
    room: Option<OwnedSemaphorePermit>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(super) enum Unread {
    #[error("the body has more than {BODY} bytes")]
    TooLarge,
    #[error("the body ended early")]
    Broken,
}

impl Default for Room {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(ALL / PIECE)))
    }
}

impl Room {
    /// Takes room as bytes arrive, so that whoever announces much and sends nothing takes none.
    /// Waits while there is none; the caller says for how long.
    pub(super) async fn receive(&self, body: Body) -> Result<Received, Unread> {
        let mut received = Received { bytes: Vec::new(), room: None };
        let mut counted = 0;
        let mut pieces = body.into_data_stream();
        while let Some(piece) = pieces.next().await {
            let piece = piece.map_err(|_| Unread::Broken)?;
            let length = received.bytes.len() + piece.len();
            if length > BODY {
                return Err(Unread::TooLarge);
            }
            let needed = (2 * length).div_ceil(PIECE);
            if needed > counted {
                received.take_room(&self.0, needed - counted).await;
                counted = needed;
            }
            received.bytes.extend_from_slice(&piece);
        }
        let separators = received.bytes.iter().filter(|byte| matches!(byte, b',' | b'[' | b'{'));
        let values = separators.count().min(VALUES);
        received.take_room(&self.0, (values * VALUE).div_ceil(PIECE)).await;
        Ok(received)
    }
}

impl Received {
    async fn take_room(&mut self, room: &Arc<Semaphore>, pieces: usize) {
        let pieces = u32::try_from(pieces).unwrap_or(u32::MAX);
        let Ok(more) = Arc::clone(room).acquire_many_owned(pieces).await else { return };
        match &mut self.room {
            Some(room) => room.merge(more),
            none => *none = Some(more),
        }
    }
}
