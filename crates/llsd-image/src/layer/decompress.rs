//! Gzip, zstd or nothing, told apart by the first bytes: media types of layers are often wrong.

use std::{
    io::{self, Cursor, Read},
    time::Instant,
};

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::{
    BlockDecodingStrategy, FrameDecoder,
    errors::{FrameDecoderError, ReadFrameHeaderError},
};

use super::bounds::{Bounds, Stop, broken};
use crate::Error;

const GZIP: [u8; 2] = [0x1f, 0x8b];
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// Memory that a zstd frame may ask for. Image builders stay at 8 MiB or below.
const ZSTD_WINDOW: u64 = 32 << 20;

/// The layer's archive, which fails once it grows over the bounds.
pub(super) fn unpacked<'a, R: Read + 'a>(
    mut layer: R,
    bounds: &Bounds,
) -> Result<Bounded<Box<dyn Read + 'a>>, Error> {
    let mut magic = Vec::new();
    layer.by_ref().take(4).read_to_end(&mut magic).map_err(|error| broken(&error, bounds))?;
    let is_gzip = magic.starts_with(&GZIP);
    // A frame that decoders skip may come before those of the archive.
    let is_zstd = magic == ZSTD || matches!(magic[..], [0x50..=0x5f, 0x2a, 0x4d, 0x18]);
    let whole = Cursor::new(magic).chain(layer);
    let inner: Box<dyn Read + 'a> = if is_gzip {
        Box::new(MultiGzDecoder::new(whole))
    } else if is_zstd {
        Box::new(ZstdFrames::new(whole))
    } else {
        Box::new(whole)
    };
    Ok(Bounded { inner, left: bounds.unpacked, deadline: bounds.deadline })
}

/// Stops at the bounds, however small the compressed form was.
pub(super) struct Bounded<R> {
    inner: R,
    left: u64,
    deadline: Instant,
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if Instant::now() > self.deadline {
            return Err(io::Error::other(Stop::TooLong));
        }
        let count = self.inner.read(buffer)?;
        let too_large = || io::Error::other(Stop::TooLarge);
        self.left = self.left.checked_sub(count as u64).ok_or_else(too_large)?;
        Ok(count)
    }
}

/// All frames of a zstd file; the decoder itself knows only one at a time.
struct ZstdFrames<R> {
    source: R,
    decoder: FrameDecoder,
    within: bool,
}

impl<R: Read> ZstdFrames<R> {
    fn new(source: R) -> Self {
        let mut decoder = FrameDecoder::new();
        decoder.set_max_window_size(ZSTD_WINDOW);
        Self { source, decoder, within: false }
    }

    /// Whether there is another frame.
    fn start_frame(&mut self) -> io::Result<bool> {
        let mut first = [0];
        if self.source.read(&mut first)? == 0 {
            return Ok(false);
        }
        match self.decoder.reset(first.as_slice().chain(&mut self.source)) {
            Ok(()) => self.within = true,
            Err(FrameDecoderError::ReadFrameHeaderError(ReadFrameHeaderError::SkipFrame {
                length,
                ..
            })) => {
                io::copy(&mut self.source.by_ref().take(u64::from(length)), &mut io::sink())?;
            }
            Err(error) => return Err(invalid(&error)),
        }
        Ok(true)
    }
}

impl<R: Read> Read for ZstdFrames<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if buffer.is_empty() {
            return Ok(0);
        }
        loop {
            if !self.within {
                if !self.start_frame()? {
                    return Ok(0);
                }
                continue;
            }
            while self.decoder.can_collect() == 0 && !self.decoder.is_finished() {
                // One block at a time: what is decoded and not yet read stays small.
                self.decoder
                    .decode_blocks(&mut self.source, BlockDecodingStrategy::UptoBlocks(1))
                    .map_err(|error| invalid(&error))?;
            }
            match self.decoder.read(buffer)? {
                0 => self.within = false,
                count => return Ok(count),
            }
        }
    }
}

fn invalid(error: &FrameDecoderError) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error.to_string())
}

#[cfg(test)]
mod tests {
    use std::{io::Write, time::Duration};

    use flate2::{Compression, write::GzEncoder};
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    fn decompress(layer: &[u8], limit: u64) -> Result<Vec<u8>, String> {
        let deadline = Instant::now() + Duration::from_secs(10);
        let bounds = Bounds { unpacked: limit, file: 0, deadline };
        let mut content = Vec::new();
        let mut unpacked = unpacked(layer, &bounds).map_err(|error| error.to_string())?;
        unpacked.read_to_end(&mut content).map_err(|error| error.to_string())?;
        Ok(content)
    }

    fn gzip(content: &[u8]) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(content).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(content: &[u8]) -> Vec<u8> {
        compress_to_vec(content, CompressionLevel::Fastest)
    }

    #[test]
    fn all_three_forms_are_told_apart_by_their_content() {
        let skippable = [&0x184d_2a50_u32.to_le_bytes()[..], &3_u32.to_le_bytes(), b"abc"].concat();
        for layer in [
            b"content and more".to_vec(),
            gzip(b"content and more"),
            [gzip(b"content "), gzip(b"and more")].concat(),
            zstd(b"content and more"),
            [skippable.clone(), zstd(b"content "), skippable, zstd(b"and more")].concat(),
        ] {
            assert_eq!(decompress(&layer, 100).unwrap(), b"content and more");
        }
        assert_eq!(decompress(b"", 100).unwrap(), b"");
        assert_eq!(decompress(b"ab", 100).unwrap(), b"ab");
    }

    #[test]
    fn a_small_layer_that_unpacks_to_much_is_stopped() {
        let zeros = vec![0; 1 << 20];
        for layer in [gzip(&zeros), zstd(&zeros), zeros.clone()] {
            assert_eq!(decompress(&layer, 1 << 20).unwrap().len(), 1 << 20);
            assert_eq!(decompress(&layer, (1 << 20) - 1).unwrap_err(), Stop::TooLarge.to_string());
        }
    }

    #[test]
    fn broken_and_cut_off_layers_are_errors() {
        let (gzip, zstd) = (gzip(b"some content"), zstd(b"some content"));
        for layer in [&gzip[..gzip.len() - 9], &zstd[..zstd.len() - 3], &ZSTD, &GZIP] {
            assert!(decompress(layer, 100).is_err());
        }
    }

    #[test]
    fn a_zstd_frame_cannot_ask_for_much_memory() {
        // A frame header with a window of 3.75 TiB, and one of 64 MiB.
        for window in [0xff, 0x80] {
            let layer = [&ZSTD[..], &[0, window], &[1, 0, 0]].concat();
            assert!(decompress(&layer, 100).is_err());
        }
    }
}
