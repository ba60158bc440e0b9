//! What people download: archives with the program and its manual, checksums, krew's manifest.

use std::collections::BTreeMap;
use std::io::Read;

use llsd_image::Digest;
use llsd_release::archive::{archive, checksums};
use llsd_release::manual::pages;
use llsd_release::plugin_index::{Archive, manifest};
use serde_json::Value;

fn unpacked(packed: &[u8]) -> BTreeMap<String, Vec<u8>> {
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(packed));
    let mut files = BTreeMap::new();
    for entry in archive.entries().unwrap() {
        let mut entry = entry.unwrap();
        let path = entry.path().unwrap().display().to_string();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        files.insert(path, content);
    }
    files
}

#[test]
fn an_archive_has_the_program_its_licence_and_a_page_for_each_command() {
    let packed = archive(b"a program", pages(llsd::command::definition()), "a licence", 0);
    let again = archive(b"a program", pages(llsd::command::definition()), "a licence", 0);
    assert_eq!(packed, again, "the same bytes twice");
    let files = unpacked(&packed);
    assert_eq!(files["llsd"], b"a program");
    assert_eq!(files["LICENSE"], b"a licence");
    let page = String::from_utf8_lossy(&files["man1/llsd-render.1"]).into_owned();
    assert!(page.contains(".SH NAME") && page.contains("render"), "{page}");
    for name in ["llsd", "llsd-run", "llsd-image-inspect", "llsd-version"] {
        assert!(files.contains_key(&format!("man1/{name}.1")), "{name}");
    }
}

#[test]
fn checksums_are_what_sha256sum_reads() {
    let files = [("a".to_owned(), b"".to_vec()), ("b".to_owned(), b"x".to_vec())];
    let listed = checksums(&files);
    assert_eq!(
        listed.lines().next().unwrap(),
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855  a"
    );
    assert_eq!(listed.lines().count(), 2);
}

#[test]
fn krew_gets_the_archive_by_address_and_checksum() {
    let archive = Archive {
        architecture: "amd64".into(),
        url: "https://example.com/llsd.tar.gz".into(),
        digest: Digest::sha256(b"x"),
    };
    let text = manifest("0.1.0", &[archive]);
    let manifest: Value = serde_saphyr::from_str(&text).unwrap();
    assert_eq!(manifest["spec"]["version"], "v0.1.0");
    let platform = &manifest["spec"]["platforms"][0];
    assert_eq!(platform["uri"], "https://example.com/llsd.tar.gz");
    assert_eq!(platform["sha256"], Digest::sha256(b"x").hex());
    assert_eq!(platform["selector"]["matchLabels"]["arch"], "amd64");
    assert_eq!(platform["bin"], "llsd");
}
