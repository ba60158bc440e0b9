//! Archives of the command line for people, and the list of checksums beside everything of a release.

use llsd_image::Digest;

use llsd_image::assembly::{File, layer};

/// A gzipped archive with the program, its manual pages and the licence.
pub fn archive(program: &[u8], pages: Vec<File>, licence: &str, time: u64) -> Vec<u8> {
    let mut files = pages;
    files.push(File::new("LICENSE", 0o644, licence));
    files.push(File::new("llsd", 0o755, program));
    layer(&files, time).bytes
}

/// As `sha256sum --check` reads it.
pub fn checksums(files: &[(String, Vec<u8>)]) -> String {
    let line = |(name, content): &(String, Vec<u8>)| {
        format!("{}  {name}\n", Digest::sha256(content).hex())
    };
    files.iter().map(line).collect::<Vec<String>>().concat()
}
