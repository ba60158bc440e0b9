//! The program that joins the resource's certificate authorities with the image's own, run by a
//! real Python.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use llsd_plan::objects::TRUST;
use tempfile::TempDir;

const OURS: &str = "-----BEGIN CERTIFICATE-----\nours\n-----END CERTIFICATE-----";
const THEIRS: &str = "-----BEGIN CERTIFICATE-----\ntheirs\n-----END CERTIFICATE-----";

/// Runs the program as in an image whose own authorities are those of `image.crt`.
fn join(folder: &Path) -> Output {
    Command::new("python3")
        .args(["-c", TRUST])
        .args([folder.join("ours.crt"), folder.join("joined.crt")])
        .env("SSL_CERT_FILE", folder.join("image.crt"))
        .output()
        .expect("python3, which the tests of the start program need too")
}

#[test]
fn the_server_trusts_the_resources_authorities_and_its_images_own() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("ours.crt"), format!("# Our root\n{OURS}\n")).unwrap();
    fs::write(folder.path().join("image.crt"), format!("{THEIRS}\n{OURS}\n{THEIRS}\n")).unwrap();
    // A container that is started again finds the file of its first run.
    for _ in 0..2 {
        let output = join(folder.path());
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let joined = fs::read_to_string(folder.path().join("joined.crt")).unwrap();
        assert!(joined.starts_with(&format!("{OURS}\n{THEIRS}\n")), "{joined}");
        assert_eq!(joined.matches("\nours\n").count(), 1);
        assert_eq!(joined.matches("\ntheirs\n").count(), 1);
    }
}

#[test]
fn an_image_without_authorities_still_starts() {
    let folder = TempDir::new().unwrap();
    fs::write(folder.path().join("ours.crt"), OURS).unwrap();
    assert!(join(folder.path()).status.success());
    let joined = fs::read_to_string(folder.path().join("joined.crt")).unwrap();
    assert!(joined.starts_with(OURS));
}

#[test]
fn without_the_resources_authorities_nothing_starts() {
    let folder = TempDir::new().unwrap();
    assert!(!join(folder.path()).status.success());
    assert!(!folder.path().join("joined.crt").exists());
}
