//! Carries a layer from the network, which is asynchronous, to decoders, which are not. It holds a
//! few pieces at most, so a slow reader slows the download.

use std::io::{self, Read};

use bytes::{Buf, Bytes};
use tokio::sync::mpsc;

const PIECES: usize = 8;

/// The reading end, for a thread that may block.
#[derive(Debug)]
pub(crate) struct Pipe {
    pieces: mpsc::Receiver<Bytes>,
    rest: Bytes,
}

pub(crate) fn pipe() -> (mpsc::Sender<Bytes>, Pipe) {
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
