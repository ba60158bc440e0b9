//! A zip archive of texts. Times are left out, so that the same texts give the same bytes.

use std::io::Write;

use flate2::write::DeflateEncoder;
use flate2::{Compression, Crc};

/// What every reader of zip archives understands.
const VERSION: u16 = 20;
const DEFLATED: u16 = 8;
/// Names are in UTF-8.
const UTF8: u16 = 1 << 11;
/// The first day that the format knows.
const DATE: u16 = 0x21;

/// The archive with these files, by name.
pub(super) fn zip(files: &[(String, String)]) -> Vec<u8> {
    let mut archive = Vec::new();
    let mut directory = Vec::new();
    for (name, text) in files {
        let at = size(archive.len());
        let packed = deflated(text.as_bytes());
        let mut crc = Crc::new();
        crc.update(text.as_bytes());
        let mut facts = Vec::new();
        for number in [VERSION, UTF8, DEFLATED, 0, DATE] {
            facts.extend(number.to_le_bytes());
        }
        for number in [crc.sum(), size(packed.len()), size(text.len())] {
            facts.extend(number.to_le_bytes());
        }
        let length = u16::try_from(name.len()).unwrap_or(u16::MAX);
        facts.extend(length.to_le_bytes());
        facts.extend(0_u16.to_le_bytes());

        archive.extend(b"PK\x03\x04");
        archive.extend(&facts);
        archive.extend(name.as_bytes());
        archive.extend(packed);

        directory.extend(b"PK\x01\x02");
        directory.extend(VERSION.to_le_bytes());
        directory.extend(&facts);
        // No comment, the first disk, no attributes.
        directory.extend([0; 10]);
        directory.extend(at.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (at, length) = (size(archive.len()), size(directory.len()));
    let count = u16::try_from(files.len()).unwrap_or(u16::MAX);
    archive.extend(directory);
    archive.extend(b"PK\x05\x06");
    archive.extend([0; 4]);
    archive.extend(count.to_le_bytes());
    archive.extend(count.to_le_bytes());
    archive.extend(length.to_le_bytes());
    archive.extend(at.to_le_bytes());
    archive.extend([0; 2]);
    archive
}

/// Reports are far below the format's four gigabytes.
fn size(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

fn deflated(content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).expect("a vector takes everything");
    encoder.finish().expect("a vector takes everything")
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Read by somebody else's reader.
    #[test]
    fn an_archive_is_read_back() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let files = [("a.txt", "one\n".repeat(100)), ("logs/b.txt", "zwölf\n".to_owned())];
        let files = files.map(|(name, text)| (name.to_owned(), text));
        std::fs::write(file.path(), zip(&files)).unwrap();
        let read = "import sys, zipfile; z = zipfile.ZipFile(sys.argv[1]); assert z.testzip() is None; \
                    print([(n, z.read(n).decode()) for n in z.namelist()] == \
                    [('a.txt', 'one\\n' * 100), ('logs/b.txt', 'zw\\u00f6lf\\n')])";
        let done = Command::new("python3").arg("-c").arg(read).arg(file.path()).output().unwrap();
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert_eq!(String::from_utf8_lossy(&done.stdout).trim(), "True", "{said}");
    }
}
