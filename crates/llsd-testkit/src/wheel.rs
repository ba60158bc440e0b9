//! Wheels as they should be, and as they should not: written here byte by byte, because no tool would
//! write some of them.

use std::{
    fmt::Write as _,
    fs,
    io::Write as _,
    path::{Path, PathBuf},
};

use base64::{Engine, prelude::BASE64_URL_SAFE_NO_PAD};
use flate2::{Compression, Crc, write::DeflateEncoder};
use sha2::{Digest, Sha256};

/// A wheel under construction.
#[derive(Clone, Debug)]
#[must_use]
pub struct TestWheel {
    name: String,
    version: String,
    tag: String,
    metadata: String,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    path: String,
    content: Vec<u8>,
    /// What RECORD says of it: nothing, or the hash of this.
    recorded: Option<Vec<u8>>,
    /// The size that the archive says.
    claimed: Option<u32>,
    mode: u32,
}

const FILE: u32 = 0o100_644;
const LINK: u32 = 0o120_777;

impl TestWheel {
    /// A pure wheel without any file.
    pub fn new(name: &str, version: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            tag: "py3-none-any".to_owned(),
            metadata: String::new(),
            entries: Vec::new(),
        }
    }

    /// What it is made for, such as `cp311-cp311-manylinux_2_28_x86_64`.
    pub fn tag(mut self, tag: &str) -> Self {
        tag.clone_into(&mut self.tag);
        self
    }

    /// One more line of METADATA, such as `Requires-Dist: httpx`.
    pub fn metadata(mut self, line: &str) -> Self {
        let _ = writeln!(self.metadata, "{line}");
        self
    }

    pub fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        let content = content.as_ref().to_vec();
        let recorded = Some(content.clone());
        self.entry(Entry { path: path.into(), content, recorded, claimed: None, mode: FILE })
    }

    /// A file of which RECORD says nothing.
    pub fn unrecorded(self, path: &str, content: &str) -> Self {
        let content = content.as_bytes().to_vec();
        self.entry(Entry { path: path.into(), content, recorded: None, claimed: None, mode: FILE })
    }

    /// A file that is another than RECORD says.
    pub fn lying(self, path: &str, content: &str, recorded: &str) -> Self {
        let (content, recorded) = (content.as_bytes().to_vec(), recorded.as_bytes().to_vec());
        let recorded = Some(recorded);
        self.entry(Entry { path: path.into(), content, recorded, claimed: None, mode: FILE })
    }

    /// A file that unpacks to another size than the archive says.
    pub fn claiming(self, path: &str, content: &str, size: u32) -> Self {
        let content = content.as_bytes().to_vec();
        let (recorded, claimed) = (Some(content.clone()), Some(size));
        self.entry(Entry { path: path.into(), content, recorded, claimed, mode: FILE })
    }

    /// A symbolic link.
    pub fn link(self, path: &str, target: &str) -> Self {
        let content = target.as_bytes().to_vec();
        let recorded = Some(content.clone());
        self.entry(Entry { path: path.into(), content, recorded, claimed: None, mode: LINK })
    }

    fn entry(mut self, entry: Entry) -> Self {
        self.entries.push(entry);
        self
    }

    /// As the package index would name it.
    pub fn file_name(&self) -> String {
        format!("{}-{}-{}.whl", self.stem(), self.version, self.tag)
    }

    fn stem(&self) -> String {
        self.name.replace('-', "_")
    }

    pub fn bytes(&self) -> Vec<u8> {
        let info = format!("{}-{}.dist-info", self.stem(), self.version);
        let metadata = format!(
            "Metadata-Version: 2.1\nName: {}\nVersion: {}\n{}\nAbout it.\n",
            self.name, self.version, self.metadata
        );
        let tag = &self.tag;
        let is_pure = tag.ends_with("-any");
        let wheel = format!(
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: {is_pure}\nTag: {tag}\n"
        );
        let whole = self
            .clone()
            .file(&format!("{info}/METADATA"), metadata)
            .file(&format!("{info}/WHEEL"), wheel);
        let mut record = String::new();
        for Entry { path, recorded, .. } in &whole.entries {
            if let Some(content) = recorded {
                let hash = BASE64_URL_SAFE_NO_PAD.encode(Sha256::digest(content));
                let _ = writeln!(record, "{path},sha256={hash},{}", content.len());
            }
        }
        let _ = writeln!(record, "{info}/RECORD,,");
        zip(&whole.unrecorded(&format!("{info}/RECORD"), &record).entries)
    }

    /// Writes the wheel into a folder; where it lies.
    pub fn write(&self, folder: &Path) -> PathBuf {
        let path = folder.join(self.file_name());
        fs::create_dir_all(folder).expect("a folder for the wheel");
        fs::write(&path, self.bytes()).expect("the wheel");
        path
    }
}

fn zip(entries: &[Entry]) -> Vec<u8> {
    let (mut archive, mut directory) = (Vec::new(), Vec::new());
    for entry in entries {
        let at = size(archive.len());
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(&entry.content).expect("a vector takes everything");
        let packed = encoder.finish().expect("a vector takes everything");
        let mut crc = Crc::new();
        crc.update(&entry.content);
        let mut facts = Vec::new();
        for number in [20_u16, 1 << 11, 8, 0, 0x21] {
            facts.extend(number.to_le_bytes());
        }
        let claimed = entry.claimed.unwrap_or(size(entry.content.len()));
        for number in [crc.sum(), size(packed.len()), claimed] {
            facts.extend(number.to_le_bytes());
        }
        let length = u16::try_from(entry.path.len()).expect("a short name");
        facts.extend(length.to_le_bytes());
        facts.extend(0_u16.to_le_bytes());
        archive.extend(b"PK\x03\x04");
        archive.extend(&facts);
        archive.extend(entry.path.as_bytes());
        archive.extend(packed);
        directory.extend(b"PK\x01\x02");
        // Made on Unix, so that the mode counts.
        directory.extend([20_u8, 3]);
        directory.extend(&facts);
        directory.extend([0; 6]);
        directory.extend((entry.mode << 16).to_le_bytes());
        directory.extend(at.to_le_bytes());
        directory.extend(entry.path.as_bytes());
    }
    let start = size(archive.len());
    let count = u16::try_from(entries.len()).expect("few files");
    archive.extend(&directory);
    archive.extend(b"PK\x05\x06");
    archive.extend([0; 4]);
    archive.extend(count.to_le_bytes());
    archive.extend(count.to_le_bytes());
    archive.extend(size(directory.len()).to_le_bytes());
    archive.extend(start.to_le_bytes());
    archive.extend(0_u16.to_le_bytes());
    archive
}

fn size(length: usize) -> u32 {
    u32::try_from(length).expect("a small wheel")
}
