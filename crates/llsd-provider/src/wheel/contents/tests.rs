//! What is wrong with a wheel, and how it is told.

use std::io::Cursor;

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use sha2::{Sha384, Sha512};
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

use super::*;

const FILE: &str = "acme-1.0-py3-none-any.whl";
const METADATA: (&str, &str) = ("acme-1.0.dist-info/METADATA", "Name: acme\nVersion: 1.0\n");
const WHEEL: (&str, &str) = ("acme-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nTag: py3-none-any\n");
const RECORD: &str = "acme-1.0.dist-info/RECORD";

fn open(files: &[(&str, &str)]) -> Result<Wheel<Cursor<Vec<u8>>>, Vec<String>> {
    let mut zip = ZipWriter::new(Cursor::new(Vec::new()));
    for (path, content) in files {
        zip.start_file(*path, SimpleFileOptions::default()).unwrap();
        zip.write_all(content.as_bytes()).unwrap();
    }
    Wheel::open(FILE, zip.finish().unwrap()).map_err(|faults| messages(&faults))
}

fn messages(faults: &[Fault]) -> Vec<String> {
    faults.iter().map(|fault| fault.message.clone()).collect()
}

fn recorded<D: sha2::Digest>(algorithm: &str, (path, content): (&str, &str)) -> String {
    let hash = BASE64_URL_SAFE_NO_PAD.encode(D::digest(content));
    format!("{path},{algorithm}={hash},{}\n", content.len())
}

#[test]
fn what_a_wheel_says_of_itself_must_be_there_and_be_its_own() {
    assert_eq!(open(&[]).unwrap_err(), ["it has 0 folders .dist-info instead of one"]);
    assert_eq!(
        open(&[("other-1.0.dist-info/METADATA", "")]).unwrap_err(),
        ["its other-1.0.dist-info is of another distribution"]
    );
    assert_eq!(
        open(&[("acme-1.0.dist-info/INSTALLER", "pip")]).unwrap_err(),
        ["it has no METADATA", "it has no WHEEL", "it has no RECORD"]
    );
    let newer = (METADATA.0, "Name: acme\nVersion: 2.0\n");
    let retagged = (WHEEL.0, "Wheel-Version: 2.0\nTag: py3-none-linux_x86_64\nTag: py3\n");
    assert_eq!(
        open(&[newer, retagged, (RECORD, "a,,\na,,\n")]).unwrap_err(),
        [
            "WHEEL: version 2.0 of the format is not known",
            "WHEEL: py3 is no tag",
            "its name and its WHEEL do not agree on the platform",
            "RECORD names a twice",
            "its METADATA is of acme 2.0",
        ]
    );
}

#[test]
fn every_file_is_what_the_record_says_and_has_a_place() {
    let module = ("acme/__init__.py", "");
    let stray = ("acme-1.0.data/elsewhere/file", "");
    let record = [
        recorded::<Sha512>("sha512", METADATA),
        recorded::<Sha384>("sha384", WHEEL),
        recorded::<Sha512>("sha512", stray),
        format!("{},,\nacme/gone.py,,\n{RECORD},,\n", module.0),
    ];
    let record = record.concat();
    let files = [METADATA, WHEEL, module, stray, (RECORD, record.as_str())];
    assert_eq!(
        messages(&open(&files).unwrap().check(None)),
        [
            "RECORD names acme/gone.py, which is not there",
            "RECORD has no hash of acme/__init__.py",
            "acme-1.0.data/elsewhere/file belongs nowhere",
        ]
    );
}

#[test]
fn native_code_of_another_processor_is_told() {
    let native = |machine: char| format!("\u{7f}ELF\u{2}\u{1}{}{machine}\0", "\0".repeat(12));
    let checked = |machine: char| {
        let code = native(machine);
        let module = ("acme/native.so", code.as_str());
        let record = [METADATA, WHEEL, module].map(|file| recorded::<Sha512>("sha512", file));
        let record = format!("{}{RECORD},,\n", record.concat());
        let files = [METADATA, WHEEL, module, (RECORD, record.as_str())];
        messages(&open(&files).unwrap().check(Some(Architecture::X86_64)))
    };
    assert!(checked('\u{3e}').is_empty());
    assert_eq!(
        checked('\u{16}'),
        ["acme/native.so is native code for s390x; the server runs on x86_64"]
    );
    assert_eq!(
        checked('\u{28}'),
        ["acme/native.so is native code for the processor 40; the server runs on x86_64"]
    );
}
