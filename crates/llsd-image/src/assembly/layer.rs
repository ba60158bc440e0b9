//! Files as a gzipped archive: sorted, owned by root, all of one time, so that the same files give the
//! same bytes.

use std::collections::BTreeSet;
use std::io::Write;

use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use tar::{Builder, EntryType, Header};

use crate::Digest;

/// One file of a layer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct File {
    /// Without a slash before it.
    pub path: String,
    pub mode: u32,
    pub content: Vec<u8>,
}

impl File {
    pub fn new(path: &str, mode: u32, content: impl Into<Vec<u8>>) -> Self {
        Self { path: path.to_owned(), mode, content: content.into() }
    }
}

/// An archive as it is stored.
#[derive(Clone, Debug)]
pub struct Layer {
    pub bytes: Vec<u8>,
    /// The digest of the archive within.
    pub diff_id: Digest,
}

/// The files with the folders that hold them.
pub fn layer(files: &[File], time: u64) -> Layer {
    let archive = archive(files, time);
    let diff_id = Digest::sha256(&archive);
    Layer { bytes: gzipped(&archive), diff_id }
}

fn archive(files: &[File], time: u64) -> Vec<u8> {
    let folders: BTreeSet<&str> = files.iter().flat_map(|file| folders(&file.path)).collect();
    let mut builder = Builder::new(Vec::new());
    for folder in folders {
        let mut header = header(EntryType::Directory, 0o755, 0, time);
        append(&mut builder, &mut header, &format!("{folder}/"), &[]);
    }
    let mut sorted: Vec<&File> = files.iter().collect();
    sorted.sort_by_key(|file| &file.path);
    for file in sorted {
        let size = file.content.len() as u64;
        let mut header = header(EntryType::Regular, file.mode, size, time);
        append(&mut builder, &mut header, &file.path, &file.content);
    }
    builder.into_inner().expect("a vector takes everything")
}

/// `usr`, `usr/local` and `usr/local/bin` of `usr/local/bin/llsd`.
fn folders(path: &str) -> impl Iterator<Item = &str> {
    path.match_indices('/').map(|(at, _)| &path[..at])
}

fn header(kind: EntryType, mode: u32, size: u64, time: u64) -> Header {
    let mut header = Header::new_ustar();
    header.set_entry_type(kind);
    header.set_mode(mode);
    header.set_uid(0);
    header.set_gid(0);
    header.set_size(size);
    header.set_mtime(time);
    header
}

fn append(builder: &mut Builder<Vec<u8>>, header: &mut Header, path: &str, content: &[u8]) {
    builder.append_data(header, path, content).expect("a vector takes everything");
}

fn gzipped(archive: &[u8]) -> Vec<u8> {
    // No name and no time of its own, and nothing of the system that packed it.
    let builder = GzBuilder::new().mtime(0).operating_system(255);
    let mut encoder: GzEncoder<Vec<u8>> = builder.write(Vec::new(), Compression::best());
    encoder.write_all(archive).expect("a vector takes everything");
    encoder.finish().expect("a vector takes everything")
}
